#version 460
// Random numbers: element 4b + i of y comes from word i of Philox block b with counter (b, key, run, 0) and the run state's seed.
// Uniform: low + unit * (high - low). NORMAL: Box-Muller over the pairs (w0, w1) and (w2, w3). a, b: low and high, or mean and deviation.
// One invocation makes 4 elements; count below 2^32.
#include "common/types.glsl"
#include "common/math.glsl"
#include "common/run_state.glsl"
#include "common/philox.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool NORMAL = false;
layout(push_constant) uniform Push {
    uvec2 y, state;
    uint count, key;
    float a, b;
} p;

void main() {
    uint block = group_index() * 256u + gl_LocalInvocationID.x, first = block * 4u;
    if (first >= p.count) return;
    ref_run_state s = ref_run_state(p.state);
    uvec4 w = philox(uvec4(block, p.key, s.run, 0u), s.seed);
    float v[4];
    if (NORMAL) {
        [[unroll]] for (uint pair = 0u; pair < 2u; ++pair) {
            uint one = pair == 0u ? w.x : w.z, two = pair == 0u ? w.y : w.w;
            float u = float((one >> 8) + 1u) * 5.9604644775390625e-8, turn = unit_of(two);
            float r = sqrt(max(-2.0 * m_log(u), 0.0)), angle = 6.28318530717959 * turn;
            v[2u * pair] = p.a + p.b * (r * m_cos(angle));
            v[2u * pair + 1u] = p.a + p.b * (r * m_sin(angle));
        }
    } else {
        [[unroll]] for (uint i = 0u; i < 4u; ++i) v[i] = p.a + unit_of(w[i]) * (p.b - p.a);
    }
    uvec2 y = resolve(p.y);
    [[unroll]] for (uint i = 0u; i < 4u; ++i) {
        if (first + i < p.count) T_store(y, first + i, T_compute(v[i]));
    }
}
