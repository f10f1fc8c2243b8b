// Package caldera runs neural networks on any GPU that has a Vulkan driver, and on the CPU where there is none.
//
// A program opens a Device, makes a Graph (by its operators, or from an ONNX or a GGUF file), compiles it to an Executable, and runs that:
//
//	device, err := caldera.Open(caldera.DeviceOptions{AllowSoftware: true, AllowCPU: true})
//	...
//	run, err := device.Compile(graph, caldera.CompileOptions{})
//	...
//	err = run.Run(caldera.Inputs{"x": []float32{5, 6}}, caldera.Outputs{"y": y})
//
// Errors are values: an *Error has a Status and a message that says what was wrong with names and numbers, and errors.Is knows the status:
// errors.Is(err, caldera.Busy).
//
// Objects hold memory of the device, which the garbage collector knows nothing of: Close gives it back. Close may be called twice, waits for
// calls that are under way, and makes every later call on the object return ErrClosed. Objects keep alive what they need, in the library: a
// device may be closed before what was made of it, a graph once it is compiled, a buffer while it is bound.
//
// Every object may be used by several goroutines. Calls that change an object, such as all runs of one Executable, take turns; for runs at the
// same time make twins with Executable.Clone.
//
// No call keeps a pointer to memory of Go: what is given is copied.
package caldera

/*
#cgo pkg-config: caldera
#include <caldera.h>
#include <stdlib.h>
*/
import "C"

import (
	"strings"
	"sync"
	"unsafe"
)

type (
	status  = C.caldera_status
	problem = **C.caldera_error
)

// Version is that of the library, such as "0.1.0".
func Version() string { return C.GoString(C.caldera_version()) }

// checkABI refuses a library that does not fit the header this package was compiled with.
func checkABI() error {
	return call(func(p problem) status { return C.caldera_check_abi(C.CALDERA_ABI_VERSION, p) })
}

// call turns the failure of one call into an *Error.
func call(f func(p problem) status) error {
	var failure *C.caldera_error
	result := f(&failure)
	if result == C.CALDERA_OK {
		return nil
	}
	defer C.caldera_error_free(failure)
	return &Error{Status(result), C.GoString(C.caldera_error_message(failure))}
}

// handle is what every object is made of: a pointer of the library, and a lock that keeps Close and calls apart.
type handle struct {
	mu      sync.RWMutex
	pointer unsafe.Pointer
}

// shared runs a call that may overlap with others on the object.
func (h *handle) shared(f func(p problem) status) error {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.pointer == nil {
		return ErrClosed
	}
	return call(f)
}

// alone runs calls that others on the object must wait for.
func (h *handle) alone(f func() error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pointer == nil {
		return ErrClosed
	}
	return f()
}

// change is alone for a single call.
func (h *handle) change(f func(p problem) status) error {
	return h.alone(func() error { return call(f) })
}

// with runs f while another object is kept from being closed; nil stands for none.
func with(other *handle, f func() error) error {
	if other == nil {
		return f()
	}
	other.mu.RLock()
	defer other.mu.RUnlock()
	if other.pointer == nil {
		return ErrClosed
	}
	return f()
}

func (h *handle) close(free func(unsafe.Pointer)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pointer != nil {
		free(h.pointer)
		h.pointer = nil
	}
}

// cText is a text with the zero that C wants at its end. It is memory of Go without pointers: a call may take it, and must not keep it.
func cText(s string) (*C.char, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, invalid("a text has a zero byte: %q", s)
	}
	bytes := append([]byte(s), 0)
	return (*C.char)(unsafe.Pointer(&bytes[0])), nil
}

// handleAndOutput is cText for the ends of a feed. No output has an empty name: that stands for none.
func handleAndOutput(input, output string) (to, from *C.char, err error) {
	if to, err = cText(input); err == nil && output != "" {
		from, err = cText(output)
	}
	return to, from, err
}

// readText asks how long a text is, then for the text; a text that has grown in between is asked for again.
func readText(f func(out *C.char, size *C.size_t) error) (string, error) {
	var room C.size_t
	if err := f(nil, &room); err != nil {
		return "", err
	}
	for {
		out := make([]byte, room+1)
		size := room
		if err := f((*C.char)(unsafe.Pointer(&out[0])), &size); err != nil {
			return "", err
		}
		if size <= room {
			return strings.TrimRight(string(out[:size]), "\x00"), nil
		}
		room = size
	}
}

// dimensions is where dimensions lie, and how many there are.
func dimensions(dims []int64) (*C.int64_t, C.uint32_t) {
	if len(dims) == 0 {
		return nil, 0
	}
	return (*C.int64_t)(unsafe.Pointer(&dims[0])), C.uint32_t(len(dims))
}

func flag(b bool) C.uint32_t {
	if b {
		return 1
	}
	return 0
}
