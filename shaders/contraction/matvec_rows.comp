#version 460
// The product of up to 8 rows of A with a matrix B that is contiguous along k ([N,K]: weights as stored on disk): bound by reading
// B once. 128 invocations work on LINES columns of B at a time: each reads 16 bytes of every one of them, STAGES times in
// flight, and the sums are added over subgroups and then over the workgroup, in a fixed order.
// Push and specialization constants: product.glsl; M is p.m. A workgroup covers LINES columns of one batch and one part of k.
#include "contraction/product.glsl"
#include "contraction/vector16.glsl"
#include "common/subgroup.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 11) const uint M = 1u;     // rows of A, 1 to 8
layout(constant_id = 12) const uint LINES = 1u; // columns of B, 1 to 4

#define MAX_M 8u
#define MAX_LINES 4u
#define STAGES 4u
// Elements that the workgroup reads of one column at a time.
#define STEP (128u * VEC)

// At most 32 subgroups (of 4 lanes).
shared ACC partial[32u * MAX_M * MAX_LINES];

ACC sums[MAX_M * MAX_LINES];
uvec2 line_b[MAX_LINES];

void add(uvec2 a, uint k, const uint COUNT) {
    uvec4 raw[STAGES * MAX_LINES];
    [[unroll]] for (uint s = 0u; s < COUNT; ++s) {
        [[unroll]] for (uint l = 0u; l < LINES; ++l) {
            raw[s * MAX_LINES + l] = ref_u32x4(move(line_b[l], uvec2(k + s * STEP, 0u), T_SHIFT)).v[0];
        }
    }
    [[unroll]] for (uint s = 0u; s < COUNT; ++s) {
        [[unroll]] for (uint i = 0u; i < M; ++i) {
            ACC x[VEC];
            if (A_VEC) {
                unpack16(ref_u32x4(move(a, uvec2(i * p.a_row + k + s * STEP, 0u), T_SHIFT)).v[0], x);
            } else {
                [[unroll]] for (uint e = 0u; e < VEC; ++e) x[e] = T_load(a, i * p.a_row + (k + s * STEP + e) * p.a_k);
            }
            [[unroll]] for (uint l = 0u; l < LINES; ++l) {
                ACC w[VEC];
                unpack16(raw[s * MAX_LINES + l], w);
                [[unroll]] for (uint e = 0u; e < VEC; ++e) {
                    sums[i * MAX_LINES + l] = fma(x[e], w[e], sums[i * MAX_LINES + l]);
                }
            }
        }
    }
}

void main() {
    uint groups = (p.n + LINES - 1u) / LINES;
    uint group = group_index(), j = group % groups * LINES, rest = group / groups;
    uint split = rest % p.splits, batch = rest / p.splits, lane = gl_LocalInvocationIndex;
    if (batch >= p.batch) return;
    uvec2 a = resolve(p.a), b = resolve(p.b);
    enter_batch(batch, a, b);
    [[unroll]] for (uint l = 0u; l < LINES; ++l) line_b[l] = move(b, times(min(j + l, p.n - 1u), p.b_n), T_SHIFT);
    [[unroll]] for (uint i = 0u; i < MAX_M * MAX_LINES; ++i) sums[i] = ACC(0);

    uvec2 k = span(split);
    if (GROUPING == 1u && p.experts == 0u) k.y = k.x;
    uint at = k.x;
    if (B_VEC && aligned(b, 16u) && (!A_VEC || aligned(a, 16u))) {
        uint end = k.x + (k.y - k.x) / VEC * VEC;
        at = k.x + lane * VEC;
        for (; at + (STAGES - 1u) * STEP < end; at += STAGES * STEP) add(a, at, STAGES);
        for (; at < end; at += STEP) add(a, at, 1u);
        at = end;
    }
    for (at += lane; at < k.y; at += 128u) {
        [[unroll]] for (uint l = 0u; l < LINES; ++l) {
            ACC w = T_load(line_b[l], at * p.b_k);
            [[unroll]] for (uint i = 0u; i < M; ++i) {
                sums[i * MAX_LINES + l] = fma(T_load(a, i * p.a_row + at * p.a_k), w, sums[i * MAX_LINES + l]);
            }
        }
    }

    [[unroll]] for (uint i = 0u; i < M; ++i) {
        [[unroll]] for (uint l = 0u; l < LINES; ++l) {
            ACC total = subgroupAdd(sums[i * MAX_LINES + l]);
            if (subgroupElect()) partial[gl_SubgroupID * MAX_M * MAX_LINES + i * LINES + l] = total;
        }
    }
    barrier();
    if (lane < M * LINES && j + lane % LINES < p.n) {
        ACC total = partial[lane];
        for (uint s = 1u; s < gl_NumSubgroups; ++s) total += partial[s * MAX_M * MAX_LINES + lane];
        put(target(batch, split, SWAP ? j : 0u), lane / LINES, j + lane % LINES, total);
    }
}
