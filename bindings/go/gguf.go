package caldera

// #include <caldera.h>
import "C"

import "unsafe"

// GGUF is an opened GGUF file: metadata and tensors.
type GGUF struct{ handle }

func (f *GGUF) raw() *C.caldera_gguf { return (*C.caldera_gguf)(f.pointer) }

// OpenGGUF opens a GGUF file; of a split model, its first part.
func OpenGGUF(path string) (*GGUF, error) {
	name, err := cText(path)
	if err != nil {
		return nil, err
	}
	var file *C.caldera_gguf
	if err := call(func(p problem) status { return C.caldera_gguf_open(name, &file, p) }); err != nil {
		return nil, err
	}
	return &GGUF{handle{pointer: unsafe.Pointer(file)}}, nil
}

// Close gives the file up. Graphs and weights made of it live on.
func (f *GGUF) Close() {
	f.close(func(p unsafe.Pointer) { C.caldera_gguf_free((*C.caldera_gguf)(p)) })
}

// Metadata is any value of the metadata as text.
func (f *GGUF) Metadata(key string) (string, error) {
	name, err := cText(key)
	if err != nil {
		return "", err
	}
	return readText(func(out *C.char, size *C.size_t) error {
		return f.shared(func(p problem) status { return C.caldera_gguf_metadata(f.raw(), name, out, size, p) })
	})
}

// Number is a number of the metadata.
func (f *GGUF) Number(key string) (float64, error) {
	name, err := cText(key)
	if err != nil {
		return 0, err
	}
	var value C.double
	err = f.shared(func(p problem) status { return C.caldera_gguf_metadata_number(f.raw(), name, &value, p) })
	return float64(value), err
}

// Keys are the keys of the metadata, in the order of the file.
func (f *GGUF) Keys() ([]string, error) {
	var keys []string
	for count := C.size_t(1); C.size_t(len(keys)) < count; {
		index := C.size_t(len(keys))
		key, err := readText(func(out *C.char, size *C.size_t) error {
			return f.shared(func(p problem) status { return C.caldera_gguf_metadata_key(f.raw(), index, out, size, &count, p) })
		})
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// TensorInfo is what a tensor of a file is.
type TensorInfo struct {
	Name string
	Type Type
	// Dims, outermost first: a matrix is [rows, elements of a row].
	Dims  []int64
	Bytes uint64
}

// Tensors are the tensors of the file.
func (f *GGUF) Tensors() ([]TensorInfo, error) {
	list, err := f.list()
	infos := make([]TensorInfo, len(list))
	for i := range list {
		infos[i] = TensorInfo{C.GoString(list[i].name), Type(list[i]._type), dims(&list[i].dims, list[i].rank), uint64(list[i].bytes)}
	}
	return infos, err
}

func (f *GGUF) list() ([]C.caldera_gguf_tensor_info, error) {
	return readList(func(out *C.caldera_gguf_tensor_info, count *C.size_t) error {
		return f.shared(func(p problem) status { return C.caldera_gguf_tensors(f.raw(), out, count, p) })
	})
}

func dims(all *[8]C.int64_t, rank C.uint32_t) []int64 {
	out := make([]int64, rank)
	for i := range out {
		out[i] = int64(all[i])
	}
	return out
}

// ModelOptions say what graph to make of a language model. Zero means "not given".
type ModelOptions struct {
	// Tokens a run: 1 (the default) to decode, more to process a prompt in chunks.
	Tokens int
	// Context: the longest sequence; not given: what the file says, at most 4096.
	Context int
	// CacheType is the element type of the caches: F16 (the default), BF16 or F32.
	CacheType Type
	// Sampling: the graph draws the next token itself, output "token", with the four settings below.
	Sampling    bool
	Temperature float32
	TopK        int
	TopP, MinP  float32
	// Batch: sequences that run together.
	Batch int
	// Spare: rows of the caches beyond the context, for padded chunks at its end.
	Spare int
	// Scores: log-probabilities of known tokens instead of logits.
	Scores bool
}

// Graph makes the graph of the language model in the file. Its inputs and outputs are those of caldera_graph_load_gguf in caldera.h.
func (f *GGUF) Graph(options ModelOptions) (*Graph, error) {
	for _, n := range []int{options.Tokens, options.Context, options.TopK, options.Batch, options.Spare} {
		if n < 0 || uint64(n) > 1<<32-1 {
			return nil, invalid("an option of a model is %d", n)
		}
	}
	given := C.caldera_model_options{
		struct_size: C.sizeof_caldera_model_options, tokens: C.uint32_t(options.Tokens), context: C.uint32_t(options.Context),
		cache_type: C.uint32_t(options.CacheType), sampling: flag(options.Sampling), temperature: C.float(options.Temperature),
		top_k: C.uint32_t(options.TopK), top_p: C.float(options.TopP), min_p: C.float(options.MinP), batch: C.uint32_t(options.Batch),
		spare: C.uint32_t(options.Spare), scores: flag(options.Scores),
	}
	var graph *C.caldera_graph
	if err := f.shared(func(p problem) status { return C.caldera_graph_load_gguf(f.raw(), &given, &graph, p) }); err != nil {
		return nil, err
	}
	return &Graph{handle{pointer: unsafe.Pointer(graph)}}, nil
}
