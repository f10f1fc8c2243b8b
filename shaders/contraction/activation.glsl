// The activations of an epilogue, for float or (USE_f64) double. Include common/types.glsl first.
#include "common/math.glsl"

#define ACT_NONE 0u
#define ACT_RELU 1u
#define ACT_GELU 2u
#define ACT_GELU_TANH 3u
#define ACT_SILU 4u

// NaN stays NaN, and -infinity gives NaN but for Relu.
#define ACTIVATE(type)                                                                                                          \
    type activate(uint act, type x) {                                                                                           \
        if (act == ACT_RELU) return x < type(0) ? type(0) : x;                                                                  \
        if (act == ACT_GELU) return m_gelu(x);                                                                                  \
        if (act == ACT_GELU_TANH) return m_gelu_tanh(x);                                                                        \
        if (act == ACT_SILU) return m_silu(x);                                                                                  \
        return x;                                                                                                               \
    }
#ifdef USE_f64
ACTIVATE(double)
#else
ACTIVATE(float)
#endif
