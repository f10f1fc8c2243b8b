package caldera

// #include <caldera.h>
import "C"

import (
	"fmt"
	"unsafe"
)

// Type is the type of a tensor's elements. From Q4_0 on: packed block types of weights, as GGUF files have them.
type Type uint32

// The types.
const (
	F32    Type = C.CALDERA_F32
	F16    Type = C.CALDERA_F16
	BF16   Type = C.CALDERA_BF16
	F64    Type = C.CALDERA_F64
	I8     Type = C.CALDERA_I8
	I16    Type = C.CALDERA_I16
	I32    Type = C.CALDERA_I32
	I64    Type = C.CALDERA_I64
	U8     Type = C.CALDERA_U8
	U16    Type = C.CALDERA_U16
	U32    Type = C.CALDERA_U32
	U64    Type = C.CALDERA_U64
	Bool   Type = C.CALDERA_BOOL
	C64    Type = C.CALDERA_C64
	Q4_0   Type = C.CALDERA_Q4_0
	Q4_1   Type = C.CALDERA_Q4_1
	Q5_0   Type = C.CALDERA_Q5_0
	Q5_1   Type = C.CALDERA_Q5_1
	Q8_0   Type = C.CALDERA_Q8_0
	Q2K    Type = C.CALDERA_Q2_K
	Q3K    Type = C.CALDERA_Q3_K
	Q4K    Type = C.CALDERA_Q4_K
	Q5K    Type = C.CALDERA_Q5_K
	Q6K    Type = C.CALDERA_Q6_K
	Q8K    Type = C.CALDERA_Q8_K
	IQ4NL  Type = C.CALDERA_IQ4_NL
	IQ4XS  Type = C.CALDERA_IQ4_XS
	IQ2XXS Type = C.CALDERA_IQ2_XXS
	IQ2XS  Type = C.CALDERA_IQ2_XS
	IQ2S   Type = C.CALDERA_IQ2_S
	IQ3XXS Type = C.CALDERA_IQ3_XXS
	IQ3S   Type = C.CALDERA_IQ3_S
	IQ1S   Type = C.CALDERA_IQ1_S
	IQ1M   Type = C.CALDERA_IQ1_M
	TQ1_0  Type = C.CALDERA_TQ1_0
	TQ2_0  Type = C.CALDERA_TQ2_0
	MXFP4  Type = C.CALDERA_MXFP4
)

var typeNames = map[Type]string{
	F32: "f32", F16: "f16", BF16: "bf16", F64: "f64", I8: "i8", I16: "i16", I32: "i32", I64: "i64", U8: "u8", U16: "u16", U32: "u32", U64: "u64",
	Bool: "bool", C64: "c64", Q4_0: "q4_0", Q4_1: "q4_1", Q5_0: "q5_0", Q5_1: "q5_1", Q8_0: "q8_0", Q2K: "q2_k", Q3K: "q3_k", Q4K: "q4_k",
	Q5K: "q5_k", Q6K: "q6_k", Q8K: "q8_k", IQ4NL: "iq4_nl", IQ4XS: "iq4_xs", IQ2XXS: "iq2_xxs", IQ2XS: "iq2_xs", IQ2S: "iq2_s",
	IQ3XXS: "iq3_xxs", IQ3S: "iq3_s", IQ1S: "iq1_s", IQ1M: "iq1_m", TQ1_0: "tq1_0", TQ2_0: "tq2_0", MXFP4: "mxfp4",
}

// String is the name as operators' attributes and messages have it: "f32".
func (t Type) String() string {
	if name, known := typeNames[t]; known {
		return name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Raw is data of a type that Go has not, as bytes: Raw{caldera.F16, bytes}.
type Raw struct {
	Type  Type
	Bytes []byte
}

// view is a slice's memory as bytes, and what they are.
//
// Calls take it as unsafe.Pointer(&v.bytes[0]), in these words: cgo then knows that there are no pointers in it. Of a bare pointer it would look at
// all that was allocated together with the slice, and refuse an array in a struct that has pointers too.
type view struct {
	// Never empty, so that it has a first byte; size says how many there are.
	bytes []byte
	size  C.size_t
	t     Type
	// loose: bytes, which may be of any type.
	loose bool
}

func elements[E any](s []E, t Type) view {
	if len(s) == 0 {
		return view{bytes: make([]byte, 1), t: t}
	}
	size := len(s) * int(unsafe.Sizeof(s[0]))
	return view{bytes: unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), size), size: C.size_t(size), t: t}
}

// look takes a slice of numbers, of bools or of complex64, []byte (bytes of any type), or Raw.
func look(what string, data any) (view, error) {
	switch d := data.(type) {
	case []float32:
		return elements(d, F32), nil
	case []float64:
		return elements(d, F64), nil
	case []int8:
		return elements(d, I8), nil
	case []int16:
		return elements(d, I16), nil
	case []int32:
		return elements(d, I32), nil
	case []int64:
		return elements(d, I64), nil
	case []byte:
		v := elements(d, U8)
		v.loose = true
		return v, nil
	case []uint16:
		return elements(d, U16), nil
	case []uint32:
		return elements(d, U32), nil
	case []uint64:
		return elements(d, U64), nil
	case []bool:
		return elements(d, Bool), nil
	case []complex64:
		return elements(d, C64), nil
	case Raw:
		return elements(d.Bytes, d.Type), nil
	}
	return view{}, invalid("%s: a %T is no slice of numbers", what, data)
}

// lookAs is look for data that must be of type t; sizes are for the library to check.
func lookAs(what string, data any, t Type) (view, error) {
	v, err := look(what, data)
	if err == nil && !v.loose && v.t != t {
		err = invalid("%s: got a %T, its elements are %v", what, data, t)
	}
	return v, err
}
