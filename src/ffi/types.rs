//! Element types as C sees them.

/// The type of a tensor's elements. From 64 on: packed block types of weights, as GGUF files have them; their rows are multiples of the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_type {
    CALDERA_F32 = 1,
    CALDERA_F16 = 2,
    CALDERA_BF16 = 3,
    CALDERA_F64 = 4,
    CALDERA_I8 = 5,
    CALDERA_I16 = 6,
    CALDERA_I32 = 7,
    CALDERA_I64 = 8,
    CALDERA_U8 = 9,
    CALDERA_U16 = 10,
    CALDERA_U32 = 11,
    CALDERA_U64 = 12,
    /// A byte: 0 or 1.
    CALDERA_BOOL = 13,
    /// Two f32: the real part, then the imaginary part.
    CALDERA_C64 = 14,
    CALDERA_Q4_0 = 64,
    CALDERA_Q4_1 = 65,
    CALDERA_Q5_0 = 66,
    CALDERA_Q5_1 = 67,
    CALDERA_Q8_0 = 68,
    CALDERA_Q2_K = 69,
    CALDERA_Q3_K = 70,
    CALDERA_Q4_K = 71,
    CALDERA_Q5_K = 72,
    CALDERA_Q6_K = 73,
    CALDERA_Q8_K = 74,
    CALDERA_IQ4_NL = 75,
    CALDERA_IQ4_XS = 76,
    CALDERA_IQ2_XXS = 77,
    CALDERA_IQ2_XS = 78,
    CALDERA_IQ2_S = 79,
    CALDERA_IQ3_XXS = 80,
    CALDERA_IQ3_S = 81,
    CALDERA_IQ1_S = 82,
    CALDERA_IQ1_M = 83,
    CALDERA_TQ1_0 = 84,
    CALDERA_TQ2_0 = 85,
    CALDERA_MXFP4 = 86,
}
