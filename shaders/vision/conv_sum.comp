#version 460
// Adds up the parts of a split sum: y[i] = act(sum of parts[s, i] over s < splits + bias[channel]), y [batch, channels, plane].
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "contraction/activation.glsl"
#include "vision/sweep.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 parts, bias, y;
    uint count, splits, channels, plane;
} p;

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    uvec2 part = resolve(p.parts);
    ACC sum = ACC(0);
    for (uint s = 0u; s < p.splits; ++s) {
        sum += ACC_load(part, i);
        part = advance(part, p.count, ACC_BYTES);
    }
    if (BIAS) sum += T_load(resolve(p.bias), i / p.plane % p.channels);
    T_store(resolve(p.y), i, activate(ACT, sum));
}
