package caldera

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// is wants an error of this status whose message holds this text.
func is(t *testing.T, err error, want Status, text string) {
	t.Helper()
	var problem *Error
	if !errors.Is(err, want) || !errors.As(err, &problem) || problem.Status != want || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %v and %q", err, want, text)
	}
}

func TestWrongRuns(t *testing.T) {
	e := compiledModel(t)
	y := make([]float32, 4)
	out := Outputs{"y": y}
	for _, c := range []struct {
		in   Inputs
		out  Outputs
		text string
	}{
		{nil, out, `"x"`},
		{Inputs{"z": dataX}, out, `"z"`},
		{Inputs{"x": dataX, "z": dataX}, out, `"z"`},
		{Inputs{"x\x00": dataX}, out, `"x\x00"`},
		{Inputs{"x": dataX[:5]}, out, "got 20 bytes"},
		{Inputs{"x": []int32{1, 0, 0, 1, 1, 1}}, out, "[]int32"},
		{Inputs{"x": "text"}, out, "string"},
		{Inputs{"x": nil}, out, "<nil>"},
		{Inputs{"x": []byte{}}, out, "got 0 bytes"},
		{Inputs{"x": dataX}, Outputs{"nothing": y}, `"nothing"`},
		{Inputs{"x": dataX}, Outputs{"y": y[:3]}, "16 are needed"},
		{Inputs{"x": dataX}, Outputs{"y": make([]float64, 2)}, "[]float64"},
	} {
		is(t, e.Run(c.in, c.out), InvalidArgument, c.text)
	}
	// A refused run leaves nothing behind: the next one does not find its inputs.
	is(t, e.Run(nil, out), InvalidArgument, `"x"`)
	is(t, e.Submit(Inputs{"x": dataX}, "nothing"), InvalidArgument, `"nothing"`)
	is(t, e.Run(nil, out), InvalidArgument, `"x"`)
	check(t, "y", y, make([]float32, 4))
	must(t, e.Run(Inputs{"x": dataX}, out))
	check(t, "y", y, wantY)
	is(t, e.ReadOutput("z", y), InvalidArgument, `"z"`)
	is(t, e.ReadOutput("y", y[:1]), InvalidArgument, "16")
	is(t, e.ReadOutputRow("y", 2, y[:2]), InvalidArgument, "no row 2")
	is(t, e.ReadOutputRow("y", -1, y[:2]), InvalidArgument, "no row -1")
}

func TestWrongParams(t *testing.T) {
	d := openDevice(t)
	e := compile(t, d, model(t), CompileOptions{})
	is(t, e.Run(Inputs{"x": dataX}, nil), InvalidArgument, "") // the weights are not set
	is(t, e.WarmUp(), InvalidArgument, "")
	is(t, e.SetParam("nothing", dataW), InvalidArgument, `"nothing"`)
	is(t, e.SetParam("w", dataW[:5]), InvalidArgument, "got 20 bytes")
	is(t, e.SetParam("w", []int32{1}), InvalidArgument, `"w"`)
	is(t, e.SetParam("w", 5), InvalidArgument, "int")
	is(t, e.SetParam("w", Raw{Type(99), nil}), InvalidArgument, "99")
	w, err := d.NewWeights()
	must(t, err)
	defer w.Close()
	must(t, w.Set("w", dataW, 3, 2))
	is(t, w.Set("w", dataW, 2, 3), InvalidArgument, `"w"`)
	is(t, w.Set("w", dataW[:5], 3, 2), InvalidArgument, `"w"`)
	is(t, w.Set("v", dataW, -1), InvalidArgument, "-1")
	is(t, w.LoadSafetensors("nothing.safetensors"), File, "nothing.safetensors")
}

func TestWrongHandles(t *testing.T) {
	d := openDevice(t)
	e := counter(t, d)
	buffer, err := d.NewBuffer(F32, 4, 3)
	must(t, err)
	defer buffer.Close()
	is(t, e.Bind("state", buffer), InvalidArgument, "state")
	is(t, e.Bind("no", buffer), InvalidArgument, `"no"`)
	is(t, e.BindOutput("no", buffer), InvalidArgument, `"no"`)
	is(t, e.BindData("state", ones[:3]), InvalidArgument, "32")
	is(t, e.BindData("state", []int32{1}), InvalidArgument, "[]int32")
	is(t, e.ReadHandle("state", 0, ones), InvalidArgument, "has no handle")
	is(t, e.ReadHandle("state", -1, ones), InvalidArgument, "-1")
	is(t, e.Unbind("state"), InvalidArgument, "")
	is(t, e.Feed("state", "next"), InvalidArgument, "")
	must(t, e.BindData("state", ones))
	is(t, e.Feed("state", "no"), InvalidArgument, `"no"`)
	is(t, e.RegisterRowFeed("no", "next"), InvalidArgument, `"no"`)
	is(t, e.Run(Inputs{"x": ones, "state": ones}, nil), InvalidArgument, `"state"`)
	must(t, e.RegisterRowFeed("state", "next"))
	must(t, e.Run(Inputs{"x": ones}, nil))
	is(t, e.FeedRow(4, 0, 2), InvalidArgument, "4")
	is(t, e.FeedRow(0, -4, 2), InvalidArgument, "-4")
	is(t, buffer.Write(44, ones), InvalidArgument, "")
	is(t, buffer.Write(-1, ones), InvalidArgument, "-1")
	is(t, buffer.Read(0, make([]int32, 1)), InvalidArgument, "[]int32")
	_, err = d.NewBuffer(Q4K, 4, 256)
	is(t, err, InvalidArgument, "")
	_, err = d.NewBuffer(F32, -4)
	is(t, err, InvalidArgument, "-4")
}

func TestWrongGraphs(t *testing.T) {
	b := newBuilder(t)
	x := b.v(b.Input("x", F32, 2, 3))
	_, err := b.Input("x", F32, 2)
	is(t, err, InvalidGraph, `"x"`)
	_, err = b.Input("a\x00b", F32, 2)
	is(t, err, InvalidArgument, "zero byte")
	_, err = b.Input("\xff", F32, 2)
	is(t, err, InvalidArgument, "UTF-8")
	_, err = b.SymbolicInput("s", F32, []int64{-1}, nil)
	is(t, err, InvalidArgument, "")
	_, err = b.SymbolicInput("s", F32, []int64{-1}, []string{"n", "m"})
	is(t, err, InvalidArgument, "1 dimensions and 2 names")
	_, err = b.Op("NoSuchThing", x)
	is(t, err, Unsupported, "NoSuchThing")
	_, err = b.Op("Softmax", x)
	is(t, err, InvalidGraph, `"axis" is missing`)
	_, err = b.Node("Softmax", Attrs{"axis": 2}, x)
	is(t, err, InvalidGraph, "axis 2")
	_, err = b.Node("Softmax", Attrs{"axis": []string{"-1"}}, x)
	is(t, err, InvalidArgument, `attribute "axis": a []string is`)
	_, err = b.Op("Add", x, 77)
	is(t, err, InvalidArgument, "77")
	_, err = b.Constant([]float32{1}, 2)
	is(t, err, InvalidArgument, "")
	is(t, b.BindDim("n", 2), InvalidArgument, `"n"`)
	_, err = openDevice(t).Compile(b.Graph, CompileOptions{})
	is(t, err, InvalidGraph, "output")
	_, err = openDevice(t).Compile(model(t), CompileOptions{MemoryLimit: 1})
	is(t, err, OutOfMemory, "the limit is 1")
}

func TestWrongFiles(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "broken")
	must(t, os.WriteFile(broken, []byte("nonsense"), 0o600))
	_, err := LoadONNX("nothing.onnx")
	is(t, err, File, "nothing.onnx")
	_, err = LoadONNX(broken)
	is(t, err, File, "")
	_, err = ParseONNX(nil)
	if err == nil {
		t.Error("no bytes were a model")
	}
	_, err = OpenGGUF("nothing.gguf")
	is(t, err, File, "nothing.gguf")
	_, err = OpenGGUF(broken)
	is(t, err, File, "")
	f, err := OpenGGUF(modelPath)
	must(t, err)
	defer f.Close()
	_, err = f.Metadata("nothing")
	is(t, err, InvalidArgument, "nothing")
	_, err = f.Number("general.architecture")
	is(t, err, InvalidArgument, "general.architecture")
	_, err = f.Graph(ModelOptions{Tokens: -1})
	is(t, err, InvalidArgument, "-1")
	_, err = f.Graph(ModelOptions{CacheType: I32})
	is(t, err, InvalidArgument, "")
}

func TestWrongDevices(t *testing.T) {
	for _, c := range []struct {
		options DeviceOptions
		want    Status
	}{
		{DeviceOptions{Select: "99"}, NoDevice},
		{DeviceOptions{Select: "nonsense"}, InvalidArgument},
		{DeviceOptions{Select: "cpu", Kind: CPU}, InvalidArgument},
		{DeviceOptions{Select: "a\x00b"}, InvalidArgument},
		{DeviceOptions{Kind: 99}, InvalidArgument},
	} {
		_, err := Open(c.options)
		is(t, err, c.want, "")
	}
}

func TestIndexOutOfRange(t *testing.T) {
	b := newBuilder(t)
	data := b.v(b.Constant([]float32{1, 2, 3}, 3))
	must(t, b.Output("y", b.v(b.Node("Gather", Attrs{"axis": 0}, data, b.v(b.Input("index", I32, 1))))))
	e := compile(t, openDevice(t), b.Graph, CompileOptions{})
	y := []float32{9}
	is(t, e.Run(Inputs{"index": []int32{5}}, Outputs{"y": y}), IndexOutOfRange, "5")
	check(t, "y", y, []float32{9})
	must(t, e.Run(Inputs{"index": []int32{2}}, Outputs{"y": y}))
	check(t, "y", y, []float32{3})
}

func TestBusy(t *testing.T) {
	e := compiledModel(t)
	must(t, e.Submit(Inputs{"x": dataX}, "y"))
	is(t, e.SetParam("b", dataB), Busy, "in flight")
	is(t, e.Run(Inputs{"x": dataX}, nil), Busy, "in flight")
	y := make([]float32, 4)
	is(t, e.ReadOutput("y", y), Busy, "in flight")
	must(t, e.Wait(Forever))
	must(t, e.ReadOutput("y", y))
	check(t, "y", y, wantY)
}

func TestClosed(t *testing.T) {
	d := openDevice(t)
	g := model(t)
	w, err := d.NewWeights()
	must(t, err)
	buffer, err := d.NewBuffer(F32, 4, 2)
	must(t, err)
	f, err := OpenGGUF(modelPath)
	must(t, err)
	e, other := compiledModel(t), counter(t, d)
	for i := 0; i < 2; i++ { // a second Close is none
		d.Close()
		g.Close()
		w.Close()
		buffer.Close()
		f.Close()
		e.Close()
	}
	open := openDevice(t)
	_, infoError := d.Info()
	_, describeError := d.Describe()
	_, bufferError := d.NewBuffer(F32, 1)
	_, compileError := open.Compile(g, CompileOptions{})
	_, weightsError := open.Compile(model(t), CompileOptions{Weights: w})
	_, nodeError := g.Op("Add", 0, 0)
	_, textError := g.Text()
	_, cloneError := e.Clone()
	_, keysError := f.Keys()
	for i, err := range []error{
		infoError, describeError, bufferError, compileError, weightsError, nodeError, textError, cloneError, keysError, w.Set("w", dataW, 6),
		w.LoadGGUF(f), buffer.Write(0, ones), buffer.Read(0, ones), other.Bind("state", buffer), e.SetParam("w", dataW), e.WarmUp(),
		e.Run(Inputs{"x": dataX}, nil), e.Submit(Inputs{"x": dataX}), e.Wait(Forever), e.ReadOutput("y", make([]float32, 4)), d.Trim(),
		g.SaveONNX("nothing.onnx", nil), g.Output("z", 0),
	} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("call %d: got %v, want %v", i, err, ErrClosed)
		}
	}
	// What was made of a closed device lives on.
	must(t, other.Run(Inputs{"x": ones, "state": ones}, nil))
}

// Close waits for the calls that are under way.
func TestCloseMeanwhile(t *testing.T) {
	for i := 0; i < 20; i++ {
		e := compiledModel(t)
		done := make(chan error)
		go func() {
			var err error
			for err == nil {
				err = e.Run(Inputs{"x": dataX}, Outputs{"y": make([]float32, 4)})
			}
			done <- err
		}()
		e.Close()
		if err := <-done; !errors.Is(err, ErrClosed) {
			t.Errorf("got %v, want %v", err, ErrClosed)
		}
	}
}
