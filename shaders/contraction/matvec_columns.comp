#version 460
// The product of up to 8 rows of A with a matrix B that is contiguous along n ([K,N]): bound by reading B once. Of the 256
// invocations 32 stand side by side, each on VEC columns (16 bytes), and 8 behind each other on every eighth k; their sums are
// added in a fixed order.
// Push and specialization constants: product.glsl; M is p.m. A workgroup covers 32 * VEC columns of one batch and one part of k.
#include "contraction/product.glsl"
#include "contraction/vector16.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 11) const uint M = 1u; // rows of A, 1 to 8

#define MAX_M 8u
#define STAGES 4u
#define WIDTH (32u * VEC)
#define DEPTH 8u

shared ACC partial[DEPTH * WIDTH];

ACC sums[MAX_M * VEC];

void add(uvec2 a, uint k, const ACC w[VEC]) {
    [[unroll]] for (uint i = 0u; i < M; ++i) {
        ACC x = T_load(a, i * p.a_row + k * p.a_k);
        [[unroll]] for (uint e = 0u; e < VEC; ++e) sums[i * VEC + e] = fma(x, w[e], sums[i * VEC + e]);
    }
}

void main() {
    uint groups = (p.n + WIDTH - 1u) / WIDTH;
    uint group = group_index(), j = group % groups * WIDTH, rest = group / groups;
    uint split = rest % p.splits, batch = rest / p.splits;
    if (batch >= p.batch) return;
    uint lane = gl_LocalInvocationIndex % 32u, depth = gl_LocalInvocationIndex / 32u;
    uvec2 a = resolve(p.a), b = resolve(p.b);
    enter_batch(batch, a, b);
    bool whole = B_VEC && aligned(b, 16u) && p.n % VEC == 0u;
    [[unroll]] for (uint i = 0u; i < MAX_M * VEC; ++i) sums[i] = ACC(0);

    uvec2 k = span(split);
    if (GROUPING == 1u && p.experts == 0u) k.y = k.x;
    uint at = k.x + depth;
    if (whole) {
        if (j + lane * VEC < p.n) {
            uvec2 line = move(move(b, uvec2(j + lane * VEC, 0u), T_SHIFT), times(at, p.b_k), T_SHIFT);
            uvec2 step = times(DEPTH, p.b_k);
            ACC w[VEC];
            for (; at + (STAGES - 1u) * DEPTH < k.y; at += STAGES * DEPTH) {
                uvec4 raw[STAGES];
                [[unroll]] for (uint s = 0u; s < STAGES; ++s) {
                    raw[s] = ref_u32x4(line).v[0];
                    line = move(line, step, T_SHIFT);
                }
                [[unroll]] for (uint s = 0u; s < STAGES; ++s) {
                    unpack16(raw[s], w);
                    add(a, at + s * DEPTH, w);
                }
            }
            for (; at < k.y; at += DEPTH) {
                unpack16(ref_u32x4(line).v[0], w);
                line = move(line, step, T_SHIFT);
                add(a, at, w);
            }
        }
    } else {
        for (; at < k.y; at += DEPTH) {
            uvec2 line = move(b, times(at, p.b_k), T_SHIFT);
            ACC w[VEC];
            [[unroll]] for (uint e = 0u; e < VEC; ++e) {
                uint c = j + lane + 32u * e;
                w[e] = c < p.n ? T_load(line, c * p.b_n) : ACC(0);
            }
            add(a, at, w);
        }
    }

    Target y = target(batch, split, SWAP ? j : 0u);
    for (uint i = 0u; i < M; ++i) {
        barrier();
        [[unroll]] for (uint e = 0u; e < VEC; ++e) {
            partial[depth * WIDTH + (whole ? lane * VEC + e : lane + 32u * e)] = sums[i * VEC + e];
        }
        barrier();
        if (gl_LocalInvocationIndex < WIDTH && j + gl_LocalInvocationIndex < p.n) {
            ACC total = partial[gl_LocalInvocationIndex];
            [[unroll]] for (uint d = 1u; d < DEPTH; ++d) total += partial[d * WIDTH + gl_LocalInvocationIndex];
            put(y, i, j + gl_LocalInvocationIndex, total);
        }
    }
}
