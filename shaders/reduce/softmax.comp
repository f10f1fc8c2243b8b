#version 460
// Softmax along one axis: y = exp(x - max) / sum(exp(x - max)), LOG: y = x - max - log(sum(exp(x - max))).
// A row that is all -inf gives zeros (LOG: NaN); a row with NaN or +inf is NaN.
// x, y [outer, len, inner], softmax along len. One workgroup a row; the row is read up to three times.
#include "common/types.glsl"
#include "common/reduce.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool LOG = false;
layout(push_constant) uniform Push {
    uvec2 x, y;
    uint rows, len, inner;
} p;

void main() {
    uint row = group_index();
    if (row >= p.rows) return;
    uint outer = row / p.inner, start = row % p.inner;
    uint bytes = p.len * p.inner * T_BYTES;
    uvec2 x = advance(resolve(p.x), outer, bytes), y = advance(resolve(p.y), outer, bytes);

    float most = -INF;
    bool bad = false;
    for (uint i = gl_LocalInvocationID.x; i < p.len; i += gl_WorkGroupSize.x) {
        float v = float(T_load(x, start + i * p.inner));
        bad = bad || is_nan(v);
        most = max(most, v);
    }
    most = group_max(most);
    bad = group_any(bad) || most == INF;
    if (bad || most == -INF) {
        float v = bad || LOG ? NAN : 0.0;
        for (uint i = gl_LocalInvocationID.x; i < p.len; i += gl_WorkGroupSize.x) T_store(y, start + i * p.inner, T_compute(v));
        return;
    }
    T_compute total = T_compute(0);
    for (uint i = gl_LocalInvocationID.x; i < p.len; i += gl_WorkGroupSize.x) {
        total += T_compute(exp(float(T_load(x, start + i * p.inner) - T_compute(most))));
    }
    total = group_sum(total);
    for (uint i = gl_LocalInvocationID.x; i < p.len; i += gl_WorkGroupSize.x) {
        T_compute d = T_load(x, start + i * p.inner) - T_compute(most);
        T_store(y, start + i * p.inner, LOG ? d - T_compute(log(float(total))) : T_compute(exp(float(d))) / total);
    }
}
