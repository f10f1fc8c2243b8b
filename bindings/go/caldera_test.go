package caldera

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

const modelPath = "../../examples/tiny-english/model.gguf"

func onCPU() bool { return os.Getenv("CALDERA_TEST_DEVICE") == "cpu" }

// must stops a test at an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// openDevice opens the device that CALDERA_TEST_DEVICE names, with validation layers, which must stay silent.
func openDevice(t *testing.T) *Device {
	t.Helper()
	device := os.Getenv("CALDERA_TEST_DEVICE")
	if device == "" {
		device = "software"
	}
	SetLog(func(_ LogLevel, text string) {
		for _, mark := range []string{"VUID-", "SYNC-HAZARD", "UNASSIGNED-", "Validation Error", "Validation Warning"} {
			if strings.Contains(text, mark) {
				t.Error(text)
				return
			}
		}
	})
	d, err := Open(DeviceOptions{Select: device, Validation: !onCPU()})
	must(t, err)
	t.Cleanup(d.Close)
	return d
}

func compile(t *testing.T, d *Device, g *Graph, options CompileOptions) *Executable {
	t.Helper()
	e, err := d.Compile(g, options)
	must(t, err)
	t.Cleanup(e.Close)
	return e
}

// builder adds to a graph, and stops the test at the first error.
type builder struct {
	*Graph
	t *testing.T
}

func newBuilder(t *testing.T) builder {
	t.Helper()
	g, err := NewGraph()
	must(t, err)
	t.Cleanup(g.Close)
	return builder{g, t}
}

func (b builder) v(value Value, err error) Value {
	b.t.Helper()
	must(b.t, err)
	return value
}

// model is y = x w + b and s = the sum of y; x [2,3].
func model(t *testing.T) *Graph {
	b := newBuilder(t)
	x := b.v(b.Input("x", F32, 2, 3))
	w := b.v(b.Param("w", F32, 3, 2))
	bias := b.v(b.Param("b", F32, 2))
	product := b.v(b.Node("MatMul", Attrs{"transpose_a": false, "transpose_b": false}, x, w))
	must(t, b.SetName(product, "product"))
	y := b.v(b.Op("Add", product, bias))
	s := b.v(b.Node("Reduce", Attrs{"kind": "Sum", "axes": []int64{}, "keep_dims": false}, y))
	must(t, b.Output("y", y))
	must(t, b.Output("s", s))
	return b.Graph
}

var (
	dataW = []float32{1, 2, 3, 4, 5, 6}
	dataB = []float32{10, 20}
	dataX = []float32{1, 0, 0, 1, 1, 1}
	wantY = []float32{11, 22, 19, 32}
)

func compiledModel(t *testing.T) *Executable {
	t.Helper()
	e := compile(t, openDevice(t), model(t), CompileOptions{})
	must(t, e.SetParam("w", dataW))
	must(t, e.SetParam("b", dataB))
	return e
}

func TestDevices(t *testing.T) {
	list, err := Devices()
	must(t, err)
	if last := list[len(list)-1]; last.Kind != CPU || !last.Usable || last.Name == "" {
		t.Errorf("the last device is %+v", last)
	}
	d := openDevice(t)
	info, err := d.Info()
	must(t, err)
	check(t, "on the CPU device", info.Kind == CPU, onCPU())
	line, err := d.Describe()
	must(t, err)
	if !strings.Contains(line, info.Name) {
		t.Errorf("%q lacks %q", line, info.Name)
	}
	_, _, err = d.Memory()
	must(t, err)
	must(t, d.Trim())
	path := filepath.Join(t.TempDir(), "cache")
	must(t, d.SaveCache(path))
	again, err := Open(DeviceOptions{Kind: info.Kind, CachePath: path})
	must(t, err)
	again.Close()
	if Version() == "" {
		t.Error("no version")
	}
}

func TestLog(t *testing.T) {
	var lines []string
	SetLog(func(level LogLevel, text string) {
		if level == LogError {
			lines = append(lines, text)
		}
	})
	_, err := OpenGGUF("nothing.gguf")
	is(t, err, File, "nothing.gguf")
	SetLog(nil)
	_, err = OpenGGUF("nowhere.gguf")
	is(t, err, File, "nowhere.gguf")
	if len(lines) != 1 || !strings.Contains(lines[0], "nothing.gguf") {
		t.Errorf("got %q", lines)
	}
}

func TestRun(t *testing.T) {
	e := compiledModel(t)
	must(t, e.WarmUp())
	y, s := make([]float32, 4), make([]float32, 1)
	must(t, e.Run(Inputs{"x": dataX}, Outputs{"y": y, "s": s}))
	check(t, "y", y, wantY)
	check(t, "s", s, []float32{84})
	raw := make([]byte, 16)
	must(t, e.Run(Inputs{"x": dataX}, Outputs{"y": raw}))
	check(t, "y as bytes", raw[:4], []byte{0, 0, 0x30, 0x41}) // 11
	must(t, e.Run(Inputs{"x": make([]byte, 24)}, nil))
	must(t, e.ReadOutput("y", y))
	check(t, "y of zeros", y, []float32{10, 20, 10, 20})
	row := make([]float32, 2)
	must(t, e.ReadOutputRow("y", 1, row))
	check(t, "row 1", row, []float32{10, 20})
	check(t, "inputs", e.Inputs()[0].Dims, []int64{2, 3})
	check(t, "outputs", len(e.Outputs()), 2)
	check(t, "params", e.Params()[0].Bytes, 24)
}

// An array in a struct that has pointers too is as good as any: cgo must not be shown the whole struct.
func TestDataBesidePointers(t *testing.T) {
	type state struct {
		x    [6]float32
		next *state
	}
	e := compiledModel(t)
	s := &state{next: &state{}}
	copy(s.x[:], dataX)
	y := make([]float32, 4)
	must(t, e.Run(Inputs{"x": s.x[:]}, Outputs{"y": y}))
	check(t, "y", y, wantY)
}

func TestSubmit(t *testing.T) {
	e := compiledModel(t)
	must(t, e.Wait(0)) // nothing is in flight
	must(t, e.Submit(Inputs{"x": dataX}, "y"))
	for {
		err := e.Wait(time.Nanosecond)
		if err == nil {
			break
		}
		is(t, err, Timeout, "")
	}
	done, err := e.Done()
	must(t, err)
	check(t, "done", done, true)
	y, s := make([]float32, 4), make([]float32, 1)
	must(t, e.ReadOutput("y", y)) // came with the run
	must(t, e.ReadOutput("s", s)) // is read from the device
	check(t, "y", y, wantY)
	check(t, "s", s, []float32{84})
	must(t, e.Submit(Inputs{"x": dataX}))
	must(t, e.Wait(Forever))
}

func TestWeights(t *testing.T) {
	d := openDevice(t)
	w, err := d.NewWeights()
	must(t, err)
	must(t, w.Set("w", []float64{1, 2, 3, 4, 5, 6}, 3, 2)) // the first use fixes the type: f64, which the graph's f32 does not fit
	_, err = d.Compile(model(t), CompileOptions{Weights: w})
	is(t, err, InvalidArgument, `"w"`)
	w.Close()

	w, err = d.NewWeights()
	must(t, err)
	one := compile(t, d, model(t), CompileOptions{Weights: w})
	two := compile(t, d, model(t), CompileOptions{Weights: w})
	must(t, w.Set("w", []float64{1, 2, 3, 4, 5, 6}, 3, 2)) // converted
	must(t, w.Set("b", Raw{BF16, []byte{0x20, 0x41, 0xa0, 0x41}}, 2))
	w.Close() // the executables keep it
	for _, e := range []*Executable{one, two} {
		y := make([]float32, 4)
		must(t, e.Run(Inputs{"x": dataX}, Outputs{"y": y}))
		check(t, "y", y, wantY)
	}
}

func TestParamTypes(t *testing.T) {
	e := compiledModel(t)
	y := make([]float32, 4)
	for _, zeros := range []any{make([]float32, 2), make([]float64, 2), Raw{F16, make([]byte, 4)}, make([]byte, 8)} {
		must(t, e.SetParam("b", dataB))
		must(t, e.SetParam("b", zeros))
		must(t, e.Run(Inputs{"x": dataX}, Outputs{"y": y}))
		check(t, "y", y, []float32{1, 2, 9, 12})
	}
}

// counter is next = state + x and twice = 2 next; rows [4,2].
func counter(t *testing.T, d *Device) *Executable {
	t.Helper()
	b := newBuilder(t)
	next := b.v(b.Op("Add", b.v(b.Input("state", F32, 4, 2)), b.v(b.Input("x", F32, 4, 2))))
	must(t, b.Output("next", next))
	must(t, b.Output("twice", b.v(b.Op("Add", next, next))))
	return compile(t, d, b.Graph, CompileOptions{})
}

var ones = []float32{1, 1, 1, 1, 1, 1, 1, 1}

func TestHandles(t *testing.T) {
	d := openDevice(t)
	one, two := counter(t, d), counter(t, d)
	buffer, err := d.NewBuffer(F32, 4, 2)
	must(t, err)
	check(t, "size", buffer.Bytes(), 32)
	check(t, "type", buffer.Type(), F32)
	must(t, one.Bind("state", buffer))
	must(t, two.Bind("state", buffer))
	must(t, one.BindOutput("next", buffer))
	x := Inputs{"x": ones}
	for _, e := range []*Executable{one, one, two} {
		must(t, e.Run(x, nil))
	}
	got := make([]float32, 8)
	must(t, buffer.Read(0, got))
	check(t, "the buffer", got[7], float32(2))
	must(t, two.ReadOutput("next", got))
	check(t, "next of two", got[7], float32(3))
	must(t, buffer.Write(4, []float32{7}))
	copied, err := buffer.Clone()
	must(t, err)
	must(t, buffer.Write(4, []float32{8}))
	must(t, copied.Read(0, got))
	check(t, "the copy", got[:3], []float32{2, 7, 2})
	copied.Close()
	must(t, one.BindOutput("next", nil))
	buffer.Close() // the executables keep it
	must(t, one.ReadHandle("state", 4, got[:1]))
	check(t, "the handle", got[0], float32(8))
	bound, err := one.Bound("state")
	must(t, err)
	check(t, "bound", bound, true)
	must(t, one.Unbind("state"))
	must(t, one.Run(Inputs{"x": ones, "state": ones}, Outputs{"twice": got}))
	check(t, "twice", got[0], float32(4))
}

func TestFeeds(t *testing.T) {
	e := counter(t, openDevice(t))
	must(t, e.BindData("state", ones))
	must(t, e.Feed("state", "next"))
	for i := 0; i < 5; i++ {
		must(t, e.Run(Inputs{"x": ones}, nil))
	}
	got := make([]float32, 8)
	must(t, e.ReadHandle("state", 0, got))
	check(t, "state", got[7], float32(6))
	twin, err := e.Clone()
	must(t, err)
	defer twin.Close()
	must(t, twin.Run(Inputs{"x": ones}, nil))
	must(t, twin.ReadHandle("state", 0, got))
	check(t, "state of the twin", got[7], float32(7))
	must(t, e.ReadHandle("state", 0, got))
	check(t, "state after the twin's run", got[7], float32(6))
	is(t, e.Unbind("state"), InvalidArgument, "state") // it is fed
	must(t, e.Feed("state", ""))
	must(t, e.Run(Inputs{"x": ones}, nil))
	must(t, e.ReadHandle("state", 0, got))
	check(t, "state without a feed", got[7], float32(6))
	must(t, e.Unbind("state"))
}

func TestRowFeed(t *testing.T) {
	e := counter(t, openDevice(t))
	must(t, e.BindData("state", make([]float32, 8)))
	must(t, e.RegisterRowFeed("state", "twice"))
	is(t, e.FeedRow(0, 0, 2), InvalidArgument, "") // before the first run
	must(t, e.Run(Inputs{"x": []float32{1, 2, 3, 4, 5, 6, 7, 8}}, nil))
	must(t, e.FeedRow(1, 3, 2))
	got := make([]float32, 8)
	must(t, e.ReadHandle("state", 0, got))
	check(t, "state", got, []float32{0, 0, 0, 0, 0, 0, 6, 8})
}

func TestExtent(t *testing.T) {
	e := counter(t, openDevice(t))
	must(t, e.BindData("state", make([]float32, 8)))
	must(t, e.Feed("state", "next"))
	must(t, e.SetActiveExtent(2, 3)) // 2 rows of 2 elements
	must(t, e.Run(Inputs{"x": ones}, nil))
	got := make([]float32, 8)
	must(t, e.ReadHandle("state", 0, got))
	check(t, "state", got, []float32{1, 1, 1, 1, 0, 0, 0, 0})
	is(t, e.SetActiveExtent(6, 4), InvalidArgument, "6")
}

func TestRNG(t *testing.T) {
	b := newBuilder(t)
	r := b.v(b.Node("RngUniform", Attrs{"type": F32, "dims": []int64{5}, "low": 0.0, "high": 1.0}))
	must(t, b.Output("r", r))
	e := compile(t, openDevice(t), b.Graph, CompileOptions{Seed: 3})
	first, second, again := make([]float32, 5), make([]float32, 5), make([]float32, 5)
	must(t, e.Run(nil, Outputs{"r": first}))
	must(t, e.Run(nil, Outputs{"r": second}))
	must(t, e.SetRNG(3, 0))
	must(t, e.Run(nil, Outputs{"r": again}))
	check(t, "the same number of the run", again, first)
	check(t, "another one", reflect.DeepEqual(first, second), false)
}

func TestGraph(t *testing.T) {
	b := newBuilder(t)
	x := b.v(b.SymbolicInput("x", F32, []int64{-1, 3}, []string{"n", ""}))
	must(t, b.BindDim("n", 2))
	parts, err := b.Nodes("Split", Attrs{"axis": 1, "sizes": []int64{1, 2}}, x)
	must(t, err)
	check(t, "parts", len(parts), 2)
	half := b.v(b.Node("Cast", Attrs{"to": F16}, parts[1]))
	ty, dims, err := b.TypeOf(half)
	must(t, err)
	check(t, "type", ty, F16)
	check(t, "dims", dims, []int64{2, 2})
	five := b.v(b.Constant([]float32{5}, 1))
	must(t, b.Output("y", b.v(b.Op("Mul", parts[0], five))))
	must(t, b.Output("z", half))
	text, err := b.Text()
	must(t, err)
	dot, err := b.DOT()
	must(t, err)
	if !strings.Contains(text, "Split") || !strings.Contains(dot, "digraph") {
		t.Errorf("got %q and %q", text, dot)
	}
	y, z := make([]float32, 2), make([]byte, 8)
	d := openDevice(t)
	must(t, compile(t, d, b.Graph, CompileOptions{}).Run(Inputs{"x": dataX}, Outputs{"y": y, "z": Raw{F16, z}}))
	check(t, "y", y, []float32{5, 5})
	check(t, "z", z, []byte{0, 0, 0, 0, 0, 0x3c, 0, 0x3c})

	path := filepath.Join(t.TempDir(), "graph.onnx")
	must(t, b.SaveONNX(path, nil))
	loaded, err := LoadONNX(path)
	must(t, err)
	bytes, err := os.ReadFile(path)
	must(t, err)
	parsed, err := ParseONNX(bytes)
	must(t, err)
	for _, g := range []*Graph{loaded, parsed} {
		_ = g.BindDim("n", 2) // it may be bound in the file
		must(t, compile(t, d, g, CompileOptions{}).Run(Inputs{"x": ones[:6]}, Outputs{"y": y}))
		check(t, "y of the file", y, []float32{5, 5})
		g.Close()
	}
}

// Every kind of attribute reaches the library.
func TestAttributes(t *testing.T) {
	b := newBuilder(t)
	x := b.v(b.Input("x", F32, 2, 3))
	must(t, b.Output("softmax", b.v(b.Node("Softmax", Attrs{"axis": int64(-1)}, x))))
	must(t, b.Output("leaky", b.v(b.Node("LeakyRelu", Attrs{"alpha": 0.5}, x))))
	must(t, b.Output("resize", b.v(b.Node("Resize", Attrs{"scales": []float64{1, 2}, "mode": "Nearest"}, x))))
	one := func(n int64) Tensor { return Tensor{Data: []int64{n}} }
	must(t, b.Output("range", b.v(b.Node("Range", Attrs{"start": one(2), "limit": one(6), "delta": one(3)}))))
	e := compile(t, openDevice(t), b.Graph, CompileOptions{})
	leaky, resized, counted := make([]float32, 6), make([]float32, 12), make([]int64, 2)
	must(t, e.Run(Inputs{"x": []float32{-2, 0, 2, 4, 6, 8}}, Outputs{"leaky": leaky, "resize": resized, "range": counted}))
	check(t, "leaky", leaky[0], float32(-1))
	check(t, "resize", resized[:4], []float32{-2, -2, 0, 0})
	check(t, "range", counted, []int64{2, 5})
}

// branch is op of two inputs [2].
func branch(t *testing.T, op string) *Graph {
	b := newBuilder(t)
	y := b.v(b.Op(op, b.v(b.Input("a", F32, 2)), b.v(b.Input("b", F32, 2))))
	must(t, b.Output("y", y))
	return b.Graph
}

func TestControlFlow(t *testing.T) {
	b := newBuilder(t)
	pred, x := b.v(b.Input("pred", Bool)), b.v(b.Input("x", F32, 2))
	add, mul := branch(t, "Add"), branch(t, "Mul")
	y := b.v(b.Node("If", Attrs{"then": add, "else": mul}, pred, x, x))
	_, err := b.Node("If", Attrs{"then": add, "else": b.Graph}, pred, x, x)
	is(t, err, InvalidGraph, "If") // it has other inputs than that
	mul.Close()
	_, err = b.Node("If", Attrs{"then": add, "else": mul}, pred, x, x)
	check(t, "a closed graph", err, ErrClosed)
	must(t, b.Output("y", y))
	must(t, add.Output("z", 0)) // the branches were copied
	e := compile(t, openDevice(t), b.Graph, CompileOptions{})
	got := make([]float32, 2)
	must(t, e.Run(Inputs{"pred": []bool{true}, "x": []float32{3, 4}}, Outputs{"y": got}))
	check(t, "then", got, []float32{6, 8})
	must(t, e.Run(Inputs{"pred": []bool{false}, "x": []float32{3, 4}}, Outputs{"y": got}))
	check(t, "else", got, []float32{9, 16})
}

func TestReports(t *testing.T) {
	e := compile(t, openDevice(t), model(t), CompileOptions{Profiling: true})
	must(t, e.SetParam("w", dataW))
	must(t, e.SetParam("b", dataB))
	must(t, e.Run(Inputs{"x": dataX}, nil))
	s, err := e.Stats()
	must(t, err)
	if s.Operators == 0 || s.Submits != 1 || s.WeightBytes < 32 || (s.HostOperators == 0) == onCPU() {
		t.Errorf("got %+v", s)
	}
	table, err := e.Profile()
	if onCPU() {
		is(t, err, Unsupported, "")
		return
	}
	must(t, err)
	if !strings.Contains(table, "product") {
		t.Errorf("got %q", table)
	}
	trace, err := e.Trace()
	must(t, err)
	if !strings.Contains(trace, "product") {
		t.Errorf("got %q", trace)
	}
}

func TestGGUF(t *testing.T) {
	f, err := OpenGGUF(modelPath)
	must(t, err)
	defer f.Close()
	name, err := f.Metadata("general.architecture")
	must(t, err)
	check(t, "architecture", name, "llama")
	width, err := f.Number("llama.embedding_length")
	must(t, err)
	check(t, "width", width, 256.0)
	keys, err := f.Keys()
	must(t, err)
	check(t, "architecture among the keys", strings.Contains(strings.Join(keys, " "), "general.architecture"), true)
	tensors, err := f.Tensors()
	must(t, err)
	for _, tensor := range tensors {
		if tensor.Name == "token_embd.weight" {
			check(t, "type", tensor.Type, Q8_0)
			check(t, "dims", tensor.Dims, []int64{256, 256})
			return
		}
	}
	t.Error("no embedding among the tensors")
}

// Goroutines that share an executable take turns; twins run at the same time.
func TestGoroutines(t *testing.T) {
	e := compiledModel(t)
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		run := e
		if i%2 == 0 {
			twin, err := e.Clone()
			must(t, err)
			defer twin.Close()
			run = twin
		}
		scale := float32(i)
		group.Add(1)
		go func() {
			defer group.Done()
			for n := 0; n < 20; n++ {
				y := make([]float32, 4)
				x := []float32{scale, 0, 0, 0, 0, 0}
				if err := run.Run(Inputs{"x": x}, Outputs{"y": y}); err != nil {
					t.Error(err)
				}
				check(t, "y", y, []float32{10 + scale, 20 + 2*scale, 10, 20})
			}
		}()
	}
	group.Wait()
}
