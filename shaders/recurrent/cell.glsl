// One step of a recurrent cell, from the sums of its gates. Include common/types.glsl and common/math.glsl first.

// CELL
#define LSTM 0u      // gates i, f, g, o
#define GRU 1u       // gates r, z, n; the reset gate multiplies W h
#define GRU_GATES 2u // the reset gate multiplies h before its product with W: first r and z ..
#define GRU_NEW 3u   // .. then n
#define TANH 4u
#define RELU 5u

layout(constant_id = 0) const uint CELL = LSTM;
layout(constant_id = 6) const bool PEEPHOLES = false; // gates of an LSTM look at c

#define X T_compute
// The type of sums and states, and 16 bytes of T as X.
#define ACC X
#define VEC (16u / T_BYTES)
#ifdef USE_f64
#define X_load load_f64
#define X_store store_f64
#define X_BYTES 8u
#else
#define X_load load_f32
#define X_store store_f32
#define X_BYTES 4u
#endif
#include "contraction/vector16.glsl"

// Gates of the cell, in weights and biases.
const uint GATES = CELL == LSTM ? 4u : CELL >= TANH ? 1u : 3u;

// What the input gives to the gates of one unit: the products with x plus the biases. That of h for the new gate of a GRU stays apart.
struct Given {
    X gates[4];
    X new_bias;
    X peepholes[3]; // of i, f, o
};

// `products` [directions, GATES, hidden] of one step, peepholes [directions, 3, hidden].
Given given(uvec2 products, uvec2 bias, uvec2 bias_h, uvec2 peepholes, uint direction, uint hidden, uint unit) {
    Given r;
    r.new_bias = X(0);
    [[unroll]] for (uint g = 0u; g < 3u; ++g) {
        r.peepholes[g] = X(0);
        if (CELL == LSTM && PEEPHOLES) r.peepholes[g] = T_load(peepholes, (direction * 3u + g) * hidden + unit);
    }
    [[unroll]] for (uint g = 0u; g < 4u; ++g) {
        r.gates[g] = X(0);
        if (g < GATES) {
            uint i = (direction * GATES + g) * hidden + unit;
            r.gates[g] = X_load(products, i) + T_load(bias, i);
            if (GATES == 3u) {
                X b = T_load(bias_h, i);
                if (g == 2u && CELL == GRU) r.new_bias = b;
                else r.gates[g] += b;
            }
        }
    }
    return r;
}

// Steps of item b that count.
uint length_of(bool has_lengths, uvec2 lengths, uint b, uint steps) {
    return has_lengths ? uint(clamp(load_i32(lengths, b), 0, int(steps))) : steps;
}

X lstm(Given v, X sums[4], inout X c) {
    X i = v.gates[0] + sums[0], f = v.gates[1] + sums[1], g = m_tanh(v.gates[2] + sums[2]), o = v.gates[3] + sums[3];
    if (PEEPHOLES) {
        i += v.peepholes[0] * c;
        f += v.peepholes[1] * c;
    }
    c = m_sigmoid(f) * c + m_sigmoid(i) * g;
    if (PEEPHOLES) o += v.peepholes[2] * c;
    return m_sigmoid(o) * m_tanh(c);
}

X mix(Given v, X new_sum, X z, X h) {
    X n = m_tanh(v.gates[2] + new_sum);
    return (X(1) - z) * n + z * h;
}

// The next state of a cell that takes one product.
X next(Given v, X sums[4], X h, inout X c) {
    if (CELL == LSTM) return lstm(v, sums, c);
    if (CELL == TANH) return m_tanh(v.gates[0] + sums[0]);
    if (CELL == RELU) {
        X s = v.gates[0] + sums[0];
        return s < X(0) ? X(0) : s;
    }
    X r = m_sigmoid(v.gates[0] + sums[0]), z = m_sigmoid(v.gates[1] + sums[1]);
    return mix(v, r * (sums[2] + v.new_bias), z, h);
}
