#version 460
// A sweep (vision/sweep.glsl), an invocation up to 4 results: for few channels a group, where nothing is gained by tiles.
// LANES invocations work on the plane of one output channel, LANES apart; a workgroup has 256 / LANES planes.
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "contraction/activation.glsl"
#include "vision/sweep.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 2) const uint LANES = 256u;
layout(push_constant) uniform Push {
    uvec2 x, w, bias, y, params;
    uint planes, chunks;
} p;

const uint EACH = 4u;

void main() {
    Sweep s = ref_sweep(p.params).s;
    uint group = group_index(), block = group / p.chunks, lane = gl_LocalInvocationID.x % LANES;
    uint plane = block * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    uint first = (group - block * p.chunks) * (LANES * EACH) + lane;
    if (plane >= p.planes || first >= s.y_plane) return;
    uint channels = s.groups * s.rows, n = plane / channels, channel = plane - n * channels;
    uint g = channel / s.rows, m = channel - g * s.rows;
    uvec2 x = add64(resolve(p.x), times64(n * s.groups + g, times64(s.channels * T_BYTES, uvec2(s.x_plane, 0u))));
    uvec2 w = add64(resolve(p.w), times64(g, times64(T_BYTES, s.w_group)));
    uvec2 y = add64(resolve(p.y), times64(plane, times64(T_BYTES, uvec2(s.y_plane, 0u))));

    ACC sums[EACH];
    ivec3 origin[EACH];
    uint base[EACH], phase[EACH];
    bool one_phase = true;
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uvec3 at = unravel(min(first + k * LANES, s.y_plane - 1u), s.y_extent), j = at / s.out_step;
        phase[k] = ravel(at - j * s.out_step, s.out_step);
        one_phase = one_phase && phase[k] == phase[0];
        origin[k] = ivec3(j * s.step);
        base[k] = ravel(uvec3(origin[k]), s.extent);
        sums[k] = ACC(0);
    }
    if (one_phase) {
        Phase ph = ref_sweep(p.params).phases[phase[0]];
        for (uint c = 0u; c < s.channels; ++c) {
            for (uint t = 0u; t < ph.taps; ++t) {
                Tap tap = load_tap(p.params, s.first_tap, ph.first + t);
                ACC weight = T_load(w, m * s.w_row + c * s.w_channel + tap.w);
                [[unroll]] for (uint k = 0u; k < EACH; ++k) {
                    if (inside(origin[k] + tap.at, s.extent)) sums[k] += weight * T_load(x, c * s.x_plane + base[k] + tap.x);
                }
            }
        }
    } else {
        for (uint k = 0u; k < EACH; ++k) {
            Phase ph = ref_sweep(p.params).phases[phase[k]];
            for (uint c = 0u; c < s.channels; ++c) {
                for (uint t = 0u; t < ph.taps; ++t) {
                    Tap tap = load_tap(p.params, s.first_tap, ph.first + t);
                    if (inside(origin[k] + tap.at, s.extent)) {
                        sums[k] += T_load(w, m * s.w_row + c * s.w_channel + tap.w) * T_load(x, c * s.x_plane + base[k] + tap.x);
                    }
                }
            }
        }
    }
    ACC bias = ACC(0);
    if (BIAS) bias = T_load(resolve(p.bias), channel);
    [[unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint i = first + k * LANES;
        if (i < s.y_plane) T_store(y, i, activate(ACT, sums[k] + bias));
    }
}
