package caldera

// #include <caldera.h>
import "C"

import (
	"fmt"
	"math"
	"time"
	"unsafe"
)

// Port is an input, output or param of an executable.
type Port struct {
	Name string
	Type Type
	Dims []int64
	// Bytes that type and dimensions need.
	Bytes int
	// The name in memory of the library, which lives as long as the executable.
	name *C.char
}

func (p Port) String() string { return fmt.Sprintf("%q (%v %v)", p.Name, p.Type, p.Dims) }

// Inputs are the values of a run's inputs by their names: slices of numbers of the input's type, or []byte. They are copied by the call.
type Inputs map[string]any

// Outputs is room for outputs of a run by their names: slices that are exactly as long as the output, or []byte.
type Outputs map[string]any

// Forever is the timeout of a wait without end.
const Forever time.Duration = -1

// CompileOptions are options of Compile. Zero means "not given".
type CompileOptions struct {
	// Weights to read params from, shared with other executables; nil: the executable's own.
	Weights *Weights
	// Fast: f16 or bf16 products with f32 sums on matrix units, where the device has them.
	Fast bool
	// Profiling: GPU timestamps around every operator, for Executable.Profile.
	Profiling bool
	// UncheckedIndices: out-of-range indices are clamped instead of being an error.
	UncheckedIndices bool
	// MemoryLimit refuses a plan that needs more than this many bytes of device memory.
	MemoryLimit uint64
	// Seed of the random operators.
	Seed uint64
}

// Executable is a compiled graph: its memory, its recorded commands, bound buffers.
type Executable struct {
	handle
	inputs, outputs, params []Port
}

func (e *Executable) raw() *C.caldera_executable { return (*C.caldera_executable)(e.pointer) }

// Compile compiles a graph for the device. The graph may be closed after it.
func (d *Device) Compile(graph *Graph, options CompileOptions) (*Executable, error) {
	given := C.caldera_compile_options{
		struct_size: C.sizeof_caldera_compile_options, profiling: flag(options.Profiling),
		unchecked_indices: flag(options.UncheckedIndices), memory_limit: C.uint64_t(options.MemoryLimit), seed: C.uint64_t(options.Seed),
	}
	if options.Fast {
		given.precision = 2
	}
	var weights *handle
	if options.Weights != nil {
		weights = &options.Weights.handle
	}
	var made *C.caldera_executable
	err := with(weights, func() error {
		if options.Weights != nil {
			given.weights = options.Weights.raw()
		}
		return with(&graph.handle, func() error {
			return d.shared(func(p problem) status { return C.caldera_compile(d.raw(), graph.raw(), &given, &made, p) })
		})
	})
	if err != nil {
		return nil, err
	}
	return newExecutable(made)
}

func newExecutable(made *C.caldera_executable) (*Executable, error) {
	e := &Executable{handle: handle{pointer: unsafe.Pointer(made)}}
	for _, list := range []struct {
		ports *[]Port
		read  func(out *C.caldera_port_info, count *C.size_t, p problem) status
	}{
		{&e.inputs, func(out *C.caldera_port_info, n *C.size_t, p problem) status {
			return C.caldera_executable_inputs(made, out, n, p)
		}},
		{&e.outputs, func(out *C.caldera_port_info, n *C.size_t, p problem) status {
			return C.caldera_executable_outputs(made, out, n, p)
		}},
		{&e.params, func(out *C.caldera_port_info, n *C.size_t, p problem) status {
			return C.caldera_executable_params(made, out, n, p)
		}},
	} {
		infos, err := readList(func(out *C.caldera_port_info, count *C.size_t) error {
			return call(func(p problem) status { return list.read(out, count, p) })
		})
		if err != nil {
			e.Close()
			return nil, err
		}
		for i := range infos {
			info := &infos[i]
			*list.ports = append(*list.ports, Port{C.GoString(info.name), Type(info._type), dims(&info.dims, info.rank), int(info.bytes), info.name})
		}
	}
	return e, nil
}

// Close gives the executable up; a run in flight is waited for.
func (e *Executable) Close() {
	e.close(func(p unsafe.Pointer) { C.caldera_executable_free((*C.caldera_executable)(p)) })
}

// Inputs are the inputs. The slice is not to be changed.
func (e *Executable) Inputs() []Port { return e.inputs }

// Outputs are the outputs. The slice is not to be changed.
func (e *Executable) Outputs() []Port { return e.outputs }

// Params are the weights. The slice is not to be changed.
func (e *Executable) Params() []Port { return e.params }

// find looks for a port, and looks at data for it.
func find(kind string, ports []Port, name string, data any) (*Port, view, error) {
	for i := range ports {
		if p := &ports[i]; p.Name == name {
			v, err := lookAs(fmt.Sprintf("%s %v", kind, *p), data, p.Type)
			return p, v, err
		}
	}
	return nil, view{}, invalid("there is no %s %q; there are: %v", kind, name, ports)
}

// SetParam sets a weight: a slice of floats, which are converted to the declared type, a slice of that very type, []byte with its bytes, or Raw.
func (e *Executable) SetParam(name string, data any) error {
	text, err := cText(name)
	if err != nil {
		return err
	}
	v, err := look("param "+name, data)
	if err != nil {
		return err
	}
	for _, p := range e.params {
		if v.loose && p.Name == name {
			v.t = p.Type
		}
	}
	return e.change(func(p problem) status {
		return C.caldera_set_param(e.raw(), text, C.uint32_t(v.t), unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Bind makes an input live in a buffer from now on: it is not given to runs any more. The executable keeps the buffer alive.
func (e *Executable) Bind(input string, buffer *Buffer) error {
	text, err := cText(input)
	if err != nil {
		return err
	}
	return with(&buffer.handle, func() error {
		return e.change(func(p problem) status { return C.caldera_bind_handle(e.raw(), text, buffer.raw(), p) })
	})
}

// BindData makes an input live in a new buffer of the executable's own, filled once.
func (e *Executable) BindData(input string, data any) error {
	port, v, err := find("input", e.inputs, input, data)
	if err != nil {
		return err
	}
	return e.change(func(p problem) status {
		return C.caldera_bind_handle_data(e.raw(), port.name, unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Bound says whether an input has a handle: whether it lives in a buffer.
func (e *Executable) Bound(input string) (bool, error) {
	text, err := cText(input)
	if err != nil {
		return false, err
	}
	var has C.uint32_t
	err = e.shared(func(p problem) status { return C.caldera_has_handle(e.raw(), text, &has, p) })
	return has != 0, err
}

// ReadHandle fills a slice with the present value of a bound input, from a byte offset.
func (e *Executable) ReadHandle(input string, offset int, data any) error {
	port, v, err := find("input", e.inputs, input, data)
	if err != nil {
		return err
	}
	if offset < 0 {
		return invalid("a read of handle %q at %d", input, offset)
	}
	return e.shared(func(p problem) status {
		return C.caldera_read_handle(e.raw(), port.name, C.size_t(offset), unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Unbind makes a bound input one that is given at each run again.
func (e *Executable) Unbind(input string) error {
	text, err := cText(input)
	if err != nil {
		return err
	}
	return e.change(func(p problem) status { return C.caldera_unbind_handle(e.raw(), text, p) })
}

// BindOutput puts an output into a buffer at each run; nil puts it back into the executable's own memory.
func (e *Executable) BindOutput(output string, buffer *Buffer) error {
	text, err := cText(output)
	if err != nil {
		return err
	}
	if buffer == nil {
		return e.change(func(p problem) status { return C.caldera_bind_output(e.raw(), text, nil, p) })
	}
	return with(&buffer.handle, func() error {
		return e.change(func(p problem) status { return C.caldera_bind_output(e.raw(), text, buffer.raw(), p) })
	})
}

// Feed makes an output the next value of a bound input after every run, on the device. Without an output, "", nothing feeds the input any more.
func (e *Executable) Feed(input, output string) error {
	to, from, err := handleAndOutput(input, output)
	if err != nil {
		return err
	}
	return e.change(func(p problem) status { return C.caldera_set_handle_feed(e.raw(), to, from, p) })
}

// RegisterRowFeed lets FeedRow write rows of the output to a bound input; "": of no output any more.
func (e *Executable) RegisterRowFeed(input, output string) error {
	to, from, err := handleAndOutput(input, output)
	if err != nil {
		return err
	}
	return e.change(func(p problem) status { return C.caldera_register_row_feed(e.raw(), to, from, p) })
}

// FeedRow writes row src of the output of every registered row feed to row dst of its handle, on the device. A row has this many elements.
func (e *Executable) FeedRow(src, dst, elements int) error {
	if src < 0 || dst < 0 || elements < 0 {
		return invalid("row %d to row %d of %d elements", src, dst, elements)
	}
	return e.change(func(p problem) status {
		return C.caldera_feed_row(e.raw(), C.size_t(src), C.size_t(dst), C.size_t(elements), p)
	})
}

// SetActiveExtent sets how many rows of a bucket-padded graph of upper rows are valid.
func (e *Executable) SetActiveExtent(actual, upper int) error {
	if actual < 0 || upper < 0 {
		return invalid("an extent of %d of %d rows", actual, upper)
	}
	return e.change(func(p problem) status {
		return C.caldera_set_active_extent(e.raw(), C.size_t(actual), C.size_t(upper), p)
	})
}

// SetRNG seeds the random operators. run is the number that the next run has for them; each run counts it up.
func (e *Executable) SetRNG(seed uint64, run uint32) error {
	return e.change(func(p problem) status { return C.caldera_set_rng(e.raw(), C.uint64_t(seed), C.uint32_t(run), p) })
}

// WarmUp makes the pipelines and records the commands now instead of at the first run. Every param must be set.
func (e *Executable) WarmUp() error {
	return e.change(func(p problem) status { return C.caldera_executable_warm_up(e.raw(), p) })
}

// Run runs: uploads the inputs, computes, fills the outputs asked for, and waits. Every input that is not bound must be given.
func (e *Executable) Run(inputs Inputs, outputs Outputs) error {
	wanted := make([]string, 0, len(outputs))
	for name, data := range outputs {
		port, v, err := find("output", e.outputs, name, data)
		if err == nil && int(v.size) != port.Bytes {
			err = invalid("output %v: got room for %d bytes, %d are needed", *port, v.size, port.Bytes)
		}
		if err != nil {
			return err
		}
		wanted = append(wanted, name)
	}
	return e.alone(func() error {
		if err := e.submit(inputs, wanted); err != nil {
			return err
		}
		if err := e.wait(math.MaxUint64); err != nil {
			return err
		}
		for name, data := range outputs {
			if err := e.readOutput(name, data); err != nil {
				return err
			}
		}
		return nil
	})
}

// submit starts a run, or leaves everything as it was.
func (e *Executable) submit(inputs Inputs, wanted []string) error {
	err := func() error {
		for name, data := range inputs {
			port, v, err := find("input", e.inputs, name, data)
			if err == nil {
				err = call(func(p problem) status {
					return C.caldera_set_input(e.raw(), port.name, unsafe.Pointer(&v.bytes[0]), v.size, p)
				})
			}
			if err != nil {
				return err
			}
		}
		for _, name := range wanted {
			text, err := cText(name)
			if err == nil {
				err = call(func(p problem) status { return C.caldera_want_output(e.raw(), text, p) })
			}
			if err != nil {
				return err
			}
		}
		return call(func(p problem) status { return C.caldera_submit(e.raw(), nil, 0, p) })
	}()
	if err != nil {
		// What is busy or lost has nothing to take back: the first error is the one that counts.
		_ = call(func(p problem) status { return C.caldera_clear_run(e.raw(), p) })
	}
	return err
}

func (e *Executable) wait(nanoseconds uint64) error {
	return call(func(p problem) status { return C.caldera_wait(e.raw(), C.uint64_t(nanoseconds), p) })
}

func (e *Executable) readOutput(name string, data any) error {
	port, v, err := find("output", e.outputs, name, data)
	if err != nil {
		return err
	}
	return call(func(p problem) status {
		return C.caldera_read_output(e.raw(), port.name, unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Submit starts a run and returns. Wait ends it; until then calls that change the executable return Busy. Outputs that are named here come to the
// host's memory with the run; ReadOutput then only copies.
func (e *Executable) Submit(inputs Inputs, wanted ...string) error {
	return e.alone(func() error { return e.submit(inputs, wanted) })
}

// Wait waits for the run in flight, at most so long; Forever: without end. When the time ran out before the run did it returns Timeout: wait again.
// Without a run in flight it returns at once. Done may be asked meanwhile; a second Wait at the same time returns Busy.
func (e *Executable) Wait(timeout time.Duration) error {
	nanoseconds := uint64(math.MaxUint64)
	if timeout >= 0 {
		nanoseconds = uint64(timeout)
	}
	return e.shared(func(p problem) status { return C.caldera_wait(e.raw(), C.uint64_t(nanoseconds), p) })
}

// Done says whether no run is in flight or the one in flight is over; Wait then returns at once.
func (e *Executable) Done() (bool, error) {
	var done C.uint32_t
	err := e.shared(func(p problem) status { return C.caldera_poll(e.raw(), &done, p) })
	return done != 0, err
}

// ReadOutput fills a slice with an output of the last run.
func (e *Executable) ReadOutput(output string, data any) error {
	port, v, err := find("output", e.outputs, output, data)
	if err != nil {
		return err
	}
	return e.shared(func(p problem) status {
		return C.caldera_read_output(e.raw(), port.name, unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// ReadOutputRow fills a slice with a row of an output of the last run: the elements at that index of its first dimension.
func (e *Executable) ReadOutputRow(output string, row int, data any) error {
	port, v, err := find("output", e.outputs, output, data)
	if err != nil {
		return err
	}
	if row < 0 {
		return invalid("there is no row %d of output %v", row, *port)
	}
	return e.shared(func(p problem) status {
		return C.caldera_read_output_row(e.raw(), port.name, C.size_t(row), unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Clone makes an independent twin, with copies of the handles' contents. It shares weights.
func (e *Executable) Clone() (*Executable, error) {
	var twin *C.caldera_executable
	if err := e.shared(func(p problem) status { return C.caldera_clone(e.raw(), &twin, p) }); err != nil {
		return nil, err
	}
	return newExecutable(twin)
}

// Stats are counts and sizes of an executable.
type Stats struct {
	// Operators after all rewrites; Dispatches and Barriers: kernel launches and pipeline barriers of a run; HostOperators: what the host computes,
	// 0 on Vulkan, all on the CPU device.
	Operators, Dispatches, Barriers, HostOperators uint32
	// Submits since compile; DeviceAllocations since the device was opened, by anybody.
	Submits, DeviceAllocations uint64
	// Bytes of activations as planned, the least that any plan needs, and without reuse; of constants, of weights, of inputs and outputs.
	ArenaBytes, ArenaLowerBound, ArenaNoReuse, ConstantBytes, WeightBytes, PortBytes uint64
}

// Stats are the counts and sizes of the executable.
func (e *Executable) Stats() (Stats, error) {
	s := C.caldera_stats{struct_size: C.sizeof_caldera_stats}
	err := e.shared(func(p problem) status { return C.caldera_executable_stats(e.raw(), &s, p) })
	if err != nil {
		return Stats{}, err
	}
	return Stats{
		Operators: uint32(s.operators), Dispatches: uint32(s.dispatches), Barriers: uint32(s.barriers), HostOperators: uint32(s.host_operators),
		Submits: uint64(s.submits), DeviceAllocations: uint64(s.device_allocations), ArenaBytes: uint64(s.arena_bytes),
		ArenaLowerBound: uint64(s.arena_lower_bound), ArenaNoReuse: uint64(s.arena_no_reuse), ConstantBytes: uint64(s.constant_bytes),
		WeightBytes: uint64(s.weight_bytes), PortBytes: uint64(s.port_bytes),
	}, nil
}

// Profile is the GPU time of each operator of the last run as a table. It needs CompileOptions.Profiling.
func (e *Executable) Profile() (string, error) { return e.profile(C.CALDERA_PROFILE_TEXT) }

// Trace is the profile in the format that chrome://tracing and Perfetto read.
func (e *Executable) Trace() (string, error) { return e.profile(C.CALDERA_PROFILE_CHROME) }

func (e *Executable) profile(format C.uint32_t) (string, error) {
	return readText(func(out *C.char, size *C.size_t) error {
		return e.shared(func(p problem) status { return C.caldera_executable_profile(e.raw(), format, out, size, p) })
	})
}
