package caldera

// #include <caldera.h>
import "C"

import (
	"errors"
	"fmt"
)

// Status says what kind of error an Error is. A Status is itself an error, for errors.Is: errors.Is(err, caldera.Timeout).
type Status uint32

// What can be wrong.
const (
	// InvalidArgument: a number is out of range, a name is unknown, a size or type does not fit.
	InvalidArgument Status = C.CALDERA_INVALID_ARGUMENT
	// InvalidGraph: a graph breaks a rule of an operator.
	InvalidGraph Status = C.CALDERA_INVALID_GRAPH
	// Unsupported: right in itself, but this device or this version cannot do it.
	Unsupported Status = C.CALDERA_UNSUPPORTED
	// OutOfMemory: everything made before still works.
	OutOfMemory Status = C.CALDERA_OUT_OF_MEMORY
	// DeviceLost: every later call on the device returns this too; a new one can be opened.
	DeviceLost Status = C.CALDERA_DEVICE_LOST
	// NoDevice: no Vulkan loader, no driver, or no device that fits the options.
	NoDevice Status = C.CALDERA_NO_DEVICE
	// File: a file cannot be read or written, or its content is broken.
	File Status = C.CALDERA_FILE
	// IndexOutOfRange: the data of a run pointed outside of a tensor. The run is over; its outputs are not to be used.
	IndexOutOfRange Status = C.CALDERA_INDEX_OUT_OF_RANGE
	// Busy: a run of the object is in flight.
	Busy Status = C.CALDERA_BUSY
	// Timeout: a wait ended before the work did. Wait again.
	Timeout Status = C.CALDERA_TIMEOUT
	// Internal: a fault of Caldera itself.
	Internal Status = C.CALDERA_INTERNAL
)

// ErrClosed is what a call on a closed object returns.
var ErrClosed = errors.New("caldera: the object is closed")

// Error is the name of the status, such as "INVALID_ARGUMENT".
func (s Status) Error() string { return C.GoString(C.caldera_status_name(C.int32_t(s))) }

// Error is why a call failed.
type Error struct {
	Status Status
	// Message says what was wrong with names and numbers.
	Message string
}

func (e *Error) Error() string { return "caldera: " + e.Message }

// Unwrap gives the status to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Status }

func invalid(format string, arguments ...any) error {
	return &Error{InvalidArgument, fmt.Sprintf(format, arguments...)}
}
