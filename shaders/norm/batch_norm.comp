#version 460
// y = (x - mean) / sqrt(variance + eps) * gamma + beta, with a number a channel. x, y [planes, inner], plane i is of channel i mod channels; gamma, beta,
// mean, variance [channels]. An invocation does VEC elements: PIECE (16 bytes, which then lie in one plane), or 1. There are `count` such steps.
#include "common/types.glsl"
#include "common/piece.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint VEC = 1u;
layout(push_constant) uniform Push {
    uvec2 x, gamma, beta, mean, variance, y;
    uint count, plane_steps, channels;
    float eps;
} p;

#define X T_compute

void main() {
    uint step = group_index() * 256u + gl_LocalInvocationID.x;
    if (step >= p.count) return;
    uint channel = step / p.plane_steps % p.channels;
    uvec2 x = resolve(p.x), y = resolve(p.y);
    X mean = T_load(resolve(p.mean), channel), variance = T_load(resolve(p.variance), channel);
    X gamma = T_load(resolve(p.gamma), channel), beta = T_load(resolve(p.beta), channel);
    X factor = X(1) / sqrt(variance + X(p.eps)) * gamma;
    if (VEC == 1u) {
        T_store(y, step, (T_load(x, step) - mean) * factor + beta);
        return;
    }
    load_piece(x, step);
    [[unroll]] for (uint e = 0u; e < PIECE; ++e) piece[e] = (piece[e] - mean) * factor + beta;
    store_piece(y, step);
}
