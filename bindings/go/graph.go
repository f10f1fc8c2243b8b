package caldera

// #include <caldera.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"sort"
	"strings"
	"unsafe"
)

// Value is a value of a graph: an input, a param, a constant, or the result of an operator. It is of use with the graph that gave it.
type Value uint32

// None stands for an input of an operator that is left out.
const None Value = C.CALDERA_NO_VALUE

// Graph is a graph under construction, or read from a file.
type Graph struct{ handle }

func (g *Graph) raw() *C.caldera_graph { return (*C.caldera_graph)(g.pointer) }

func newGraph(make func(graph **C.caldera_graph, p problem) status) (*Graph, error) {
	var graph *C.caldera_graph
	if err := call(func(p problem) status { return make(&graph, p) }); err != nil {
		return nil, err
	}
	return &Graph{handle{pointer: unsafe.Pointer(graph)}}, nil
}

// NewGraph makes an empty graph.
func NewGraph() (*Graph, error) {
	return newGraph(func(graph **C.caldera_graph, p problem) status { return C.caldera_graph_new(graph, p) })
}

// LoadONNX reads an ONNX file. Weights stay in the file until a compile needs them.
func LoadONNX(path string) (*Graph, error) {
	name, err := cText(path)
	if err != nil {
		return nil, err
	}
	return newGraph(func(graph **C.caldera_graph, p problem) status { return C.caldera_graph_load_onnx(name, graph, p) })
}

// ParseONNX reads an ONNX model from memory. It cannot have external data.
func ParseONNX(model []byte) (*Graph, error) {
	v := elements(model, U8)
	return newGraph(func(graph **C.caldera_graph, p problem) status {
		return C.caldera_graph_load_onnx_memory(unsafe.Pointer(&v.bytes[0]), v.size, graph, p)
	})
}

// Close gives the graph up. Executables made of it live on.
func (g *Graph) Close() {
	g.close(func(p unsafe.Pointer) { C.caldera_graph_free((*C.caldera_graph)(p)) })
}

// add makes a call that gives a new value.
func (g *Graph) add(f func(value *C.caldera_value, p problem) status) (Value, error) {
	var value C.caldera_value
	if err := g.change(func(p problem) status { return f(&value, p) }); err != nil {
		return None, err
	}
	return Value(value), nil
}

// Input adds an input: it is given at each run, or lives in a buffer (Executable.Bind).
func (g *Graph) Input(name string, t Type, dims ...int64) (Value, error) {
	return g.SymbolicInput(name, t, dims, nil)
}

// SymbolicInput is Input with dimensions of -1, which are symbolic: BindDim gives a size to the name at the same place of names. The other names
// are not looked at.
func (g *Graph) SymbolicInput(name string, t Type, dims []int64, names []string) (Value, error) {
	var memory cMemory
	defer memory.free()
	text, err := cText(name)
	if err != nil {
		return None, err
	}
	var list **C.char
	if names != nil {
		if len(names) != len(dims) {
			return None, invalid("input %q has %d dimensions and %d names", name, len(dims), len(names))
		}
		texts := make([]*C.char, len(names))
		for i, n := range names {
			if texts[i], err = memory.text(n); err != nil {
				return None, err
			}
		}
		list = (**C.char)(memory.copy(elements(texts, U64)))
	}
	sizes, rank := dimensions(dims)
	return g.add(func(value *C.caldera_value, p problem) status {
		return C.caldera_graph_input(g.raw(), text, C.uint32_t(t), sizes, list, rank, value, p)
	})
}

// Param adds a weight, which is set once (Executable.SetParam, or in Weights). Its type may be a packed block type.
func (g *Graph) Param(name string, t Type, dims ...int64) (Value, error) {
	text, err := cText(name)
	if err != nil {
		return None, err
	}
	sizes, rank := dimensions(dims)
	return g.add(func(value *C.caldera_value, p problem) status {
		return C.caldera_graph_param(g.raw(), text, C.uint32_t(t), sizes, rank, value, p)
	})
}

// Constant adds data to the graph: a slice of numbers, or Raw. The data is copied.
func (g *Graph) Constant(data any, dims ...int64) (Value, error) {
	v, err := look("a constant", data)
	if err != nil {
		return None, err
	}
	sizes, rank := dimensions(dims)
	return g.add(func(value *C.caldera_value, p problem) status {
		return C.caldera_graph_constant(g.raw(), C.uint32_t(v.t), sizes, rank, unsafe.Pointer(&v.bytes[0]), v.size, value, p)
	})
}

// Output marks a value as an output under a name of its own.
func (g *Graph) Output(name string, value Value) error {
	text, err := cText(name)
	if err != nil {
		return err
	}
	return g.change(func(p problem) status { return C.caldera_graph_output(g.raw(), text, C.caldera_value(value), p) })
}

// SetName names the operator that made a value, for messages, profiles and printing.
func (g *Graph) SetName(value Value, name string) error {
	text, err := cText(name)
	if err != nil {
		return err
	}
	return g.change(func(p problem) status { return C.caldera_graph_set_name(g.raw(), C.caldera_value(value), text, p) })
}

// TypeOf is the element type and the dimensions of a value.
func (g *Graph) TypeOf(value Value) (Type, []int64, error) {
	var t C.uint32_t
	var dims [8]int64
	rank := C.uint32_t(len(dims))
	err := g.shared(func(p problem) status {
		return C.caldera_graph_value_type(g.raw(), C.caldera_value(value), &t, (*C.int64_t)(unsafe.Pointer(&dims[0])), &rank, p)
	})
	if err != nil {
		return 0, nil, err
	}
	return Type(t), append([]int64{}, dims[:rank]...), nil
}

// BindDim gives a symbolic dimension its size. Binding again changes it.
func (g *Graph) BindDim(name string, size int64) error {
	text, err := cText(name)
	if err != nil {
		return err
	}
	return g.change(func(p problem) status { return C.caldera_graph_bind_dim(g.raw(), text, C.int64_t(size), p) })
}

// BindInput binds an input of a graph from a file to a value, for inputs that shapes depend on. It is then no input any more.
func (g *Graph) BindInput(name string, data any, dims ...int64) error {
	text, err := cText(name)
	if err != nil {
		return err
	}
	v, err := look("input "+name, data)
	if err != nil {
		return err
	}
	sizes, rank := dimensions(dims)
	return g.change(func(p problem) status {
		return C.caldera_graph_bind_input(g.raw(), text, C.uint32_t(v.t), sizes, rank, unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Text is the graph as text, one line a value.
func (g *Graph) Text() (string, error) { return g.print(C.CALDERA_PRINT_TEXT) }

// DOT is the graph for Graphviz.
func (g *Graph) DOT() (string, error) { return g.print(C.CALDERA_PRINT_DOT) }

func (g *Graph) print(format C.uint32_t) (string, error) {
	return readText(func(out *C.char, size *C.size_t) error {
		return g.shared(func(p problem) status { return C.caldera_graph_print(g.raw(), format, out, size, p) })
	})
}

// SaveONNX writes the graph as an ONNX file. weights has the values of the params; nil will do for those of a graph that came from a file.
func (g *Graph) SaveONNX(path string, weights *Weights) error {
	name, err := cText(path)
	if err != nil {
		return err
	}
	if weights == nil {
		return g.shared(func(p problem) status { return C.caldera_graph_save_onnx(g.raw(), nil, name, p) })
	}
	return with(&weights.handle, func() error {
		return g.shared(func(p problem) status { return C.caldera_graph_save_onnx(g.raw(), weights.raw(), name, p) })
	})
}

// Tensor is an attribute's value that is a tensor.
type Tensor struct {
	Data any
	Dims []int64
}

// Attrs are the attributes of an operator by their names in the operator contract. A value is an int, int64 or bool; a float64; a string or a Type
// (enums are text: "NeoX"); []int64; []float64; a Tensor; or a *Graph, which is copied (the branches of "If", the body of "Scan").
type Attrs map[string]any

// Op adds an operator that has no attributes and one result: Op("Add", a, b).
func (g *Graph) Op(operator string, inputs ...Value) (Value, error) {
	return g.Node(operator, nil, inputs...)
}

// Node adds an operator that has one result. The operator, its inputs and attributes are those of the operator contract; None stands for an input that
// is left out.
func (g *Graph) Node(operator string, attrs Attrs, inputs ...Value) (Value, error) {
	values, err := g.Nodes(operator, attrs, inputs...)
	if err == nil && len(values) != 1 {
		err = invalid("%s has %d results: use Nodes", operator, len(values))
	}
	if err != nil {
		return None, err
	}
	return values[0], nil
}

// Nodes is Node for operators with any number of results.
func (g *Graph) Nodes(operator string, attrs Attrs, inputs ...Value) ([]Value, error) {
	var memory cMemory
	defer memory.free()
	name, err := cText(operator)
	if err != nil {
		return nil, err
	}
	var in, out *C.caldera_value
	if len(inputs) > 0 {
		in = (*C.caldera_value)(unsafe.Pointer(&inputs[0]))
	}
	var values []Value
	var count C.size_t
	err = g.alone(func() error {
		release, err := holdGraphs(g, attrs)
		defer release()
		if err != nil {
			return err
		}
		list, err := memory.attributes(operator, attrs)
		if err != nil {
			return err
		}
		add := func(p problem) status {
			return C.caldera_graph_node(g.raw(), name, nil, in, C.size_t(len(inputs)), list, C.size_t(len(attrs)), out, &count, p)
		}
		// Without room it says how much is needed.
		if err := call(add); err != nil {
			return err
		}
		values = make([]Value, count+1)
		out = (*C.caldera_value)(unsafe.Pointer(&values[0]))
		return call(add)
	})
	if err != nil {
		return nil, err
	}
	return values[:count], nil
}

// holdGraphs keeps the graphs among attributes from being changed or closed until release is called. One that another call changes is busy: waiting for it
// could be for ever. The graph that is added to is held already; a copy of it may be in it.
func holdGraphs(to *Graph, attrs Attrs) (release func(), err error) {
	var held []*Graph
	release = func() {
		for _, graph := range held {
			graph.mu.RUnlock()
		}
	}
	for name, value := range attrs {
		graph, is := value.(*Graph)
		if !is || graph == to {
			continue
		}
		if !graph.mu.TryRLock() {
			return release, &Error{Busy, fmt.Sprintf("the graph of attribute %q is being changed", name)}
		}
		held = append(held, graph)
		if graph.pointer == nil {
			return release, ErrClosed
		}
	}
	return release, nil
}

func (m *cMemory) attributes(operator string, attrs Attrs) (*C.caldera_attribute, error) {
	if len(attrs) == 0 {
		return nil, nil
	}
	names := make([]string, 0, len(attrs))
	for name := range attrs {
		names = append(names, name)
	}
	sort.Strings(names) // the same error each time
	list := make([]C.caldera_attribute, len(attrs))
	for i, name := range names {
		var err error
		if list[i].name, err = m.text(name); err == nil {
			err = m.attribute(&list[i], attrs[name])
		}
		if err != nil {
			return nil, invalid("%s: attribute %q: %s", operator, name, strings.TrimPrefix(err.Error(), "caldera: "))
		}
	}
	return (*C.caldera_attribute)(m.copy(elements(list, U8))), nil
}

func (m *cMemory) attribute(a *C.caldera_attribute, value any) (err error) {
	integer := func(i int64) { a.kind, a.i = C.CALDERA_ATTRIBUTE_INT, C.int64_t(i) }
	switch v := value.(type) {
	case int:
		integer(int64(v))
	case int64:
		integer(v)
	case bool:
		integer(int64(flag(v)))
	case float64:
		a.kind, a.f = C.CALDERA_ATTRIBUTE_FLOAT, C.double(v)
	case string:
		a.kind = C.CALDERA_ATTRIBUTE_TEXT
		a.s, err = m.text(v)
	case Type:
		a.kind = C.CALDERA_ATTRIBUTE_TEXT
		a.s, err = m.text(v.String())
	case []int64:
		a.kind, a.count = C.CALDERA_ATTRIBUTE_INTS, C.size_t(len(v))
		a.ints = (*C.int64_t)(m.copy(elements(v, I64)))
	case []float64:
		a.kind, a.count = C.CALDERA_ATTRIBUTE_FLOATS, C.size_t(len(v))
		a.floats = (*C.double)(m.copy(elements(v, F64)))
	case Tensor:
		var data view
		if data, err = look("a tensor", v.Data); err == nil {
			a.kind, a.i, a.rank = C.CALDERA_ATTRIBUTE_TENSOR, C.int64_t(data.t), C.uint32_t(len(v.Dims))
			a.ints = (*C.int64_t)(m.copy(elements(v.Dims, I64)))
			a.data, a.count = m.copy(data), data.size
		}
	case *Graph:
		a.kind, a.data = C.CALDERA_ATTRIBUTE_GRAPH, v.pointer
	default:
		err = invalid("a %T is no value of an attribute", value)
	}
	return err
}
