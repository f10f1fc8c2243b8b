package caldera

// #include <caldera.h>
import "C"

import "unsafe"

// Buffer is a tensor on the device that outlives runs: a KV cache, a state, an input or output that is not copied. It can be bound to several
// executables at once.
type Buffer struct {
	handle
	t    Type
	size int
}

func (b *Buffer) raw() *C.caldera_buffer { return (*C.caldera_buffer)(b.pointer) }

// NewBuffer makes a buffer of zeros.
func (d *Device) NewBuffer(t Type, dims ...int64) (*Buffer, error) {
	sizes, rank := dimensions(dims)
	return newBuffer(t, func(buffer **C.caldera_buffer) error {
		return d.shared(func(p problem) status { return C.caldera_buffer_new(d.raw(), C.uint32_t(t), sizes, rank, buffer, p) })
	})
}

func newBuffer(t Type, make func(buffer **C.caldera_buffer) error) (*Buffer, error) {
	var buffer *C.caldera_buffer
	if err := make(&buffer); err != nil {
		return nil, err
	}
	return &Buffer{handle{pointer: unsafe.Pointer(buffer)}, t, int(C.caldera_buffer_bytes(buffer))}, nil
}

// Close gives the buffer up; its memory goes when no executable is bound to it any more.
func (b *Buffer) Close() {
	b.close(func(p unsafe.Pointer) { C.caldera_buffer_free((*C.caldera_buffer)(p)) })
}

// Type is the type of the elements.
func (b *Buffer) Type() Type { return b.t }

// Bytes is the size in bytes.
func (b *Buffer) Bytes() int { return b.size }

// Write writes a slice of elements of the buffer's type, or []byte, at a byte offset.
func (b *Buffer) Write(offset int, data any) error {
	v, err := lookAs("a write to a buffer", data, b.t)
	if err != nil {
		return err
	}
	if offset < 0 {
		return invalid("a write to a buffer at %d", offset)
	}
	return b.change(func(p problem) status {
		return C.caldera_buffer_write(b.raw(), C.size_t(offset), unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Read fills a slice of elements of the buffer's type, or []byte, from a byte offset.
func (b *Buffer) Read(offset int, data any) error {
	v, err := lookAs("a read of a buffer", data, b.t)
	if err != nil {
		return err
	}
	if offset < 0 {
		return invalid("a read of a buffer at %d", offset)
	}
	return b.shared(func(p problem) status {
		return C.caldera_buffer_read(b.raw(), C.size_t(offset), unsafe.Pointer(&v.bytes[0]), v.size, p)
	})
}

// Clone makes a new buffer with the same contents, copied on the device.
func (b *Buffer) Clone() (*Buffer, error) {
	return newBuffer(b.t, func(buffer **C.caldera_buffer) error {
		return b.shared(func(p problem) status { return C.caldera_buffer_clone(b.raw(), buffer, p) })
	})
}
