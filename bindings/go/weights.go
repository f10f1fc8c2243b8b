package caldera

// #include <caldera.h>
import "C"

import "unsafe"

// Weights is a set of named parameters in device memory, shared by every executable that is compiled against it (CompileOptions.Weights).
type Weights struct{ handle }

func (w *Weights) raw() *C.caldera_weights { return (*C.caldera_weights)(w.pointer) }

// NewWeights makes an empty set.
func (d *Device) NewWeights() (*Weights, error) {
	var weights *C.caldera_weights
	if err := d.shared(func(p problem) status { return C.caldera_weights_new(d.raw(), &weights, p) }); err != nil {
		return nil, err
	}
	return &Weights{handle{pointer: unsafe.Pointer(weights)}}, nil
}

// Close gives the set up; executables keep what they use.
func (w *Weights) Close() {
	w.close(func(p unsafe.Pointer) { C.caldera_weights_free((*C.caldera_weights)(p)) })
}

// Set sets a weight. The first use of a name, here or in a compiled graph, fixes its type and shape; floats are converted to it, other data must be
// of that very type. []byte is u8 here; Raw has any type.
func (w *Weights) Set(name string, data any, dims ...int64) error {
	text, err := cText(name)
	if err != nil {
		return err
	}
	v, err := look("weight "+name, data)
	if err != nil {
		return err
	}
	sizes, rank := dimensions(dims)
	return w.shared(func(p problem) status {
		return C.caldera_weights_set(w.raw(), text, C.uint32_t(v.t), sizes, rank, unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// LoadSafetensors sets every tensor of a safetensors file as a weight under its name. All are set, or none.
func (w *Weights) LoadSafetensors(path string) error {
	name, err := cText(path)
	if err != nil {
		return err
	}
	return w.shared(func(p problem) status { return C.caldera_weights_load_safetensors(w.raw(), name, nil, nil, p) })
}

// LoadGGUF sets every tensor of a GGUF file as a weight under its name, packed as it is in the file. All are set, or none.
func (w *Weights) LoadGGUF(file *GGUF) error {
	return with(&file.handle, func() error {
		return w.shared(func(p problem) status { return C.caldera_weights_load_gguf(w.raw(), file.raw(), nil, nil, p) })
	})
}
