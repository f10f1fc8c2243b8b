#version 460
// Norms along an axis that is not the last: x, y [outer, len, inner]; for each of the outer * inner columns
//   y = (x - mean) / sqrt(variance + eps) * gamma + beta, or with EUCLID y = x / max(sqrt(sum of squares), eps). gamma, beta [len].
// A workgroup does 32 neighbouring columns, 8 invocations each, so that rows are read side by side. Columns are read three times.
// Columns whose squares leave the range of floats are scaled by a power of two.
#include "common/types.glsl"

layout(local_size_x = 32, local_size_y = 8) in;
layout(constant_id = 0) const bool EUCLID = false;
layout(push_constant) uniform Push {
    uvec2 x, gamma, beta, y;
    uint outer, len, inner, blocks;
    float eps;
} p;

#define X T_compute

shared X part_a[8][32];
shared X part_b[8][32];

// The sum of a and the maximum (or sum) of b over the column's invocations. All of the workgroup must call.
void over_column(bool maximum, inout X a, inout X b) {
    uvec2 at = gl_LocalInvocationID.xy;
    barrier();
    part_a[at.y][at.x] = a;
    part_b[at.y][at.x] = b;
    barrier();
    a = part_a[0][at.x];
    b = part_b[0][at.x];
    for (uint i = 1u; i < 8u; ++i) {
        a += part_a[i][at.x];
        b = maximum ? max(b, part_b[i][at.x]) : b + part_b[i][at.x];
    }
}

void main() {
    uint group = group_index(), outer = group / p.blocks, column = group % p.blocks * 32u + gl_LocalInvocationID.x;
    uint len = outer < p.outer && column < p.inner ? p.len : 0u, first_row = gl_LocalInvocationID.y;
    // Rows are reached one by one: a plane may be larger than 32 bits of elements.
    uint stride = p.inner * T_BYTES;
    uvec2 x = advance(advance(resolve(p.x), column, T_BYTES), outer * p.len, stride);
    uvec2 y = advance(advance(resolve(p.y), column, T_BYTES), outer * p.len, stride);
    X total = X(0), most = X(0);
    for (uint i = first_row; i < len; i += 8u) {
        X v = T_load(advance(x, i, stride), 0u);
        total += v;
        most = max(most, abs(v));
    }
    over_column(true, total, most);
    X eps = X(p.eps), scale = X(1), largest = max(most, EUCLID ? eps : sqrt(eps));
    if ((largest > X(1e15) || largest < X(1e-10)) && largest > X(0) && !is_inf(most)) {
        uint exponent = clamp(floatBitsToUint(float(largest)) >> 23, 1u, 253u);
        scale = X(uintBitsToFloat((254u - exponent) << 23));
        // Not eps * scale * scale: a driver may multiply the scales first, and their product may be infinite.
        X root = sqrt(eps) * scale;
        eps = EUCLID ? eps * scale : root * root;
    }
    X n = X(p.len), mean = EUCLID ? X(0) : total / n * scale, first = X(0), second = X(0);
    for (uint i = first_row; i < len; i += 8u) {
        X d = T_load(advance(x, i, stride), 0u) * scale - mean;
        first += d;
        second += d * d;
    }
    over_column(false, first, second);
    X shift = EUCLID ? X(0) : first / n;
    X factor = X(1) / (EUCLID ? max(sqrt(second), eps) : sqrt(max(second / n - shift * shift, X(0)) + eps));
    if (is_nan(second)) factor = second;
    uvec2 gamma = resolve(p.gamma), beta = resolve(p.beta);
    for (uint i = first_row; i < len; i += 8u) {
        X v = ((T_load(advance(x, i, stride), 0u) * scale - mean) - shift) * factor;
        T_store(advance(y, i, stride), 0u, EUCLID ? v : v * T_load(gamma, i) + T_load(beta, i));
    }
}
