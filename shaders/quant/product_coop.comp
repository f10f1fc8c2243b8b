#version 460
// The product of product_tiles.comp on matrix units: x and weights are rounded to f16, sums are f32. A subgroup of 32 holds
// WM x WN of a tile of BM x BN in cooperative matrices 16x16x16; slices of BK along k go through shared memory, two in turn.
// Limits: subgroups of 32; those of product_tiles.comp; shared memory 40 KiB (TILE medium) or 20 KiB (small).
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#include "quant/real.glsl"
#include "quant/bytes.glsl"
#ifdef AFFINE
#include "quant/affine.glsl"
#else
#include "quant/decode.glsl"
#endif
#include "quant/tile.glsl"

#include "contraction/coop_tile.glsl"
// Vectors of 8 halves in a line of shared memory; one of padding spreads the lines over the banks.
#define LINE_K (BK / 8u + 1u)
#define LINE_N (BN / 8u + 1u)
#define SLICE_A (BM * LINE_K)
#define SLICE_B (BN * LINE_K > BK * LINE_N ? BN * LINE_K : BK * LINE_N)
#define SUM(i, j) sums[(j) * PARTS + (i)]
// A subgroup's strip of 16 rows of sums on their way out, in vectors of 4 floats.
#define LINE_Y (WN / 4u + 1u)

layout(local_size_x = 128) in;

#define SLICE (SLICE_A + SLICE_B)

shared uvec4 slices[2u * SLICE];

uvec4 halves(vec4 a, vec4 b) {
    return uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
}

void main() {
    uint tiles_n = (p.n + BN - 1u) / BN, tiles_m = tile_rows_count(BM), group = group_index(), me = gl_LocalInvocationIndex;
    if (group >= tiles_m * tiles_n) return;
    Rows rows = tile_rows(group % tiles_m, BM);
    if (rows.count == 0u) return;
    uint first_n = group / tiles_m * BN;
    weights_begin(rows.expert);

    uvec2 from_a[PARTS];
    uvec4 next_a[PARTS], next_b[PARTS];
    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sums[PARTS * PARTS];
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma[PARTS];
    coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
#define START(f) from_a[f] = x_row(rows, (me + THREADS * f) / (BK / 8u));
#define CLEAR_1(i, j) SUM(i, j) = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
#define CLEAR(j) OVER_M(CLEAR_1, j)
    ALL(START)
    ALL(CLEAR)
    uint row = gl_SubgroupID / (BN / WN) * WM, col = gl_SubgroupID % (BN / WN) * WN, s = 0u;

    // Fetch the slice at `at` into registers; keep it as slice s of shared memory; multiply slice s.
#define FETCH_A(f)                                                                                                               \
    {                                                                                                                            \
        uint k = at + me % (BK / 8u) * 8u;                                                                                       \
        next_a[f] = halves(x_vector(from_a[f], k), x_vector(from_a[f], k + 4u));                                                 \
    }
#define KEEP_A(f) slices[s * SLICE + (me + THREADS * f) / (BK / 8u) * LINE_K + me % (BK / 8u)] = next_a[f];
#ifdef AFFINE
#define FETCH_B(f)                                                                                                               \
    {                                                                                                                            \
        uint e = me + THREADS * f, column = first_n + e % (BN / 8u) * 8u, k = at + e / (BN / 8u);                                \
        next_b[f] = halves(affine_vector(k, column), affine_vector(k, column + 4u));                                             \
    }
#define KEEP_B(f) slices[s * SLICE + SLICE_A + (me + THREADS * f) / (BN / 8u) * LINE_N + me % (BN / 8u)] = next_b[f];
#define LOAD_B(j)                                                                                                                \
    coopMatLoad(mb, slices, s * SLICE + SLICE_A + kk * LINE_N + (col + 16u * j) / 8u, LINE_N, gl_CooperativeMatrixLayoutRowMajor);
#else
    // Eights of one invocation follow each other, so that they share what they read.
#define FETCH_B(f)                                                                                                               \
    {                                                                                                                            \
        vec4 v, w;                                                                                                               \
        block_eight(first_n + me % BN, at + (me / BN * PARTS + f) * 8u, v, w);                                                   \
        next_b[f] = halves(v, w);                                                                                                \
    }
#define KEEP_B(f) slices[s * SLICE + SLICE_A + me % BN * LINE_K + me / BN * PARTS + f] = next_b[f];
#define LOAD_B(j)                                                                                                                \
    coopMatLoad(mb, slices, s * SLICE + SLICE_A + (col + 16u * j) * LINE_K + kk / 8u, LINE_K, gl_CooperativeMatrixLayoutColumnMajor);
#endif
#define LOAD_A(i)                                                                                                                \
    coopMatLoad(ma[i], slices, s * SLICE + (row + 16u * i) * LINE_K + kk / 8u, LINE_K, gl_CooperativeMatrixLayoutRowMajor);
#define MULTIPLY_1(i, j) SUM(i, j) = coopMatMulAdd(ma[i], mb, SUM(i, j));
#define MULTIPLY(j)                                                                                                              \
    LOAD_B(j)                                                                                                                    \
    OVER_M(MULTIPLY_1, j)

    uint at = 0u;
    ALL(FETCH_A)
    ALL(FETCH_B)
    ALL(KEEP_A)
    ALL(KEEP_B)
    for (at = BK; at < p.k + BK; at += BK) {
        barrier();
        bool more = at < p.k;
        if (more) {
            ALL(FETCH_A)
            ALL(FETCH_B)
        }
        uint kk = 0u;
        ALL(LOAD_A)
        ALL(MULTIPLY)
        kk = 16u;
        ALL(LOAD_A)
        ALL(MULTIPLY)
        s ^= 1u;
        if (more) {
            ALL(KEEP_A)
            ALL(KEEP_B)
        }
    }
    barrier();

    // The sums leave through shared memory, 16 rows of a subgroup at a time, so that they are written in whole lines.
    uint strip = gl_SubgroupID * 16u * LINE_Y;
#define STORE_1(i, j) coopMatStore(SUM(i, j), slices, strip + 4u * j, LINE_Y, gl_CooperativeMatrixLayoutRowMajor);
#define WRITE(i)                                                                                                                 \
    OVER_N(STORE_1, i)                                                                                                           \
    subgroupMemoryBarrierShared();                                                                                               \
    subgroupBarrier();                                                                                                           \
    for (uint c = gl_SubgroupInvocationID; c < 16u * (WN / 4u); c += 32u) {                                                      \
        vec4 v = uintBitsToFloat(slices[strip + c / (WN / 4u) * LINE_Y + c % (WN / 4u)]);                                        \
        put4(rows, row + 16u * i + c / (WN / 4u), first_n + col + c % (WN / 4u) * 4u, v);                                        \
    }                                                                                                                            \
    subgroupMemoryBarrierShared();                                                                                               \
    subgroupBarrier();
    ALL(WRITE)
}
