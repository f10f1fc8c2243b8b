#version 460
// y = x @ dequant(w) for affine schemes (affine.glsl), w [k,n], and few rows of x [m,k]: w is read once for COLS of them.
// A workgroup covers 4 * ACROSS columns; 256 / ACROSS slices of k are summed apart, then together. Sums are f32 (f64 for T f64).
// zero: of x's type where HAS_ZERO; for nvfp4 the global scale. Limits: n < 2^28.
#include "quant/real.glsl"
#include "quant/affine.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint COLS = 1u;
layout(constant_id = 1) const uint ACROSS = 8u;
layout(constant_id = 2) const bool HAS_ZERO = false;
layout(push_constant) uniform Push {
    uvec2 x, w, scale, zero, y;
    uint m, n, k, block;
} p;

shared REAL4 part[256];

void main() {
    uint n_groups = (p.n + 4u * ACROSS - 1u) / (4u * ACROSS), x_groups = (p.m + COLS - 1u) / COLS;
    uint group = group_index(), lane = gl_LocalInvocationIndex, slices = 256u / ACROSS;
    if (group >= n_groups * x_groups) return;
    uint first_x = group % x_groups * COLS, n = (group / x_groups * ACROSS + lane % ACROSS) * 4u, slice = lane / ACROSS;
    uint count = p.n > n ? min(p.n - n, 4u) : 0u;
    uvec2 w = resolve(p.w), scale = resolve(p.scale), zero = resolve(p.zero), xs[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) xs[c] = advance(resolve(p.x), min(first_x + c, p.m - 1u), p.k * REAL_BYTES);

    REAL4 sums[COLS];
    [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[c] = REAL4(0);
    uint length = (p.k + slices - 1u) / slices, begin = min(slice * length, p.k), end = min(begin + length, p.k);
    if (count == 0u) begin = end;
    for (uint k = begin; k < end;) {
        uint b = k / p.block, stop = min(end - k, p.block - k % p.block) + k;
        REAL4 s = scales4(scale, zero, p.n, b, n, count), z = REAL4(0);
        if (HAS_ZERO) z = some_reals(zero, p.n, b, n, count);
        for (; k < stop; ++k) {
            REAL4 v = (REAL4(codes4(w, p.n, k, n, count)) - z) * s;
            [[unroll]] for (uint c = 0u; c < COLS; ++c) sums[c] += v * load_real(xs[c], k);
        }
    }

    [[unroll]] for (uint c = 0u; c < COLS; ++c) {
        barrier();
        part[lane] = sums[c];
        [[dont_unroll]] for (uint half_of = slices / 2u; half_of > 0u; half_of /= 2u) {
            barrier();
            if (slice < half_of) part[lane] += part[lane + half_of * ACROSS];
        }
        if (slice == 0u && first_x + c < p.m) {
            uvec2 y = advance(resolve(p.y), first_x + c, p.n * REAL_BYTES);
            for (uint e = 0u; e < count; ++e) store_real(y, n + e, part[lane][e]);
        }
    }
}
