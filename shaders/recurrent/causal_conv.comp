#version 460
// A convolution of each channel with the steps before: y[b,s,c] = act(bias[c] + sum over k of w[c,k] * in[b,s-(K-1)+k,c]), where `in` is x, and
// before its first step the state; and the state that follows: last[b,c,j] = in[b,S-(K-1)+j,c].
// x, y [batch, steps, channels], w [channels, kernel], bias [channels], state, last [batch, channels, kernel - 1].
// The first `y_groups` workgroups make y: an invocation does 8 steps of one channel, its neighbours the channels beside it. The others make
// `last`, an element an invocation. Fewer than 2^32 invocations of each kind.
#include "common/types.glsl"
#include "contraction/activation.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint ACT = 0u;
layout(constant_id = 1) const bool BIAS = false;
layout(constant_id = 2) const bool STATE = false;
layout(push_constant) uniform Push {
    uvec2 x, w, bias, state, y, last;
    uint steps, channels, kernel, blocks, y_count, last_count, y_groups;
} p;

#define X T_compute
#define BLOCK 8u

uvec2 x, w, state;

// The input at step `at` (before step 0: of the state).
X input_at(uint batch, int at, uint channel) {
    if (at >= 0) return T_load(advance(x, batch * p.steps + uint(at), p.channels * T_BYTES), channel);
    if (!STATE) return X(0);
    return T_load(advance(state, batch * p.channels + channel, (p.kernel - 1u) * T_BYTES), uint(int(p.kernel) - 1 + at));
}

void outputs(uint i) {
    uint channel = i % p.channels, rest = i / p.channels, first = rest % p.blocks * BLOCK, batch = rest / p.blocks;
    X sums[BLOCK];
    X start = BIAS ? T_load(resolve(p.bias), channel) : X(0);
    [[unroll]] for (uint s = 0u; s < BLOCK; ++s) sums[s] = start;
    uvec2 weights = advance(w, channel, p.kernel * T_BYTES);
    bool inside = first + 1u >= p.kernel && first + BLOCK <= p.steps;
    for (uint k = 0u; k < p.kernel; ++k) {
        X weight = T_load(weights, k);
        int at = int(first + k) - int(p.kernel - 1u);
        if (inside) {
            uvec2 from = advance(x, batch * p.steps + uint(at), p.channels * T_BYTES);
            [[unroll]] for (uint s = 0u; s < BLOCK; ++s) sums[s] += weight * T_load(from, s * p.channels + channel);
        } else {
            [[unroll]] for (uint s = 0u; s < BLOCK; ++s) {
                if (first + s < p.steps) sums[s] += weight * input_at(batch, at + int(s), channel);
            }
        }
    }
    uvec2 y = advance(resolve(p.y), batch * p.steps + first, p.channels * T_BYTES);
    [[unroll]] for (uint s = 0u; s < BLOCK; ++s) {
        if (first + s < p.steps) T_store(y, s * p.channels + channel, activate(ACT, sums[s]));
    }
}

void main() {
    x = resolve(p.x);
    w = resolve(p.w);
    state = resolve(p.state);
    uint group = group_index();
    if (group < p.y_groups) {
        uint i = group * 256u + gl_LocalInvocationIndex;
        if (i < p.y_count) outputs(i);
    } else {
        uint i = (group - p.y_groups) * 256u + gl_LocalInvocationIndex;
        if (i >= p.last_count) return;
        uint size = p.kernel - 1u, row = i / size, j = i - row * size;
        X v = input_at(row / p.channels, int(p.steps + j) - int(size), row % p.channels);
        T_store(advance(resolve(p.last), row, size * T_BYTES), j, v);
    }
}
