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

#ifdef TILE_medium
#define BM 128u
#define BN 128u
#define WM 64u
#define WN 64u
#else
#define BM 64u
#define BN 64u
#define WM 32u
#define WN 32u
#endif
#define BK 32u
#define THREADS 128u
#define FM (WM / 16u)
#define FN (WN / 16u)
// Vectors of 8 halves in a line of shared memory; one of padding spreads the lines over the banks.
#define LINE_K (BK / 8u + 1u)
#define LINE_N (BN / 8u + 1u)
#define SLICE_A (BM * LINE_K)
#define SLICE_B (BN * LINE_K > BK * LINE_N ? BN * LINE_K : BK * LINE_N)
#define FETCH_A (BM * BK / 8u / THREADS)
#define FETCH_B (BN * BK / 8u / THREADS)
// A subgroup's strip of 16 rows of sums on their way out, in vectors of 4 floats.
#define LINE_Y (WN / 4u + 1u)

layout(local_size_x = 128) in;

shared uvec4 slices[2u * (SLICE_A + SLICE_B)];

uvec4 halves(vec4 a, vec4 b) {
    return uvec4(packHalf2x16(a.xy), packHalf2x16(a.zw), packHalf2x16(b.xy), packHalf2x16(b.zw));
}

uvec2 from_a[FETCH_A];
uvec4 next_a[FETCH_A], next_b[FETCH_B];
coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sums[FM * FN];

void fetch_slice(uint first_n, uint k) {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uint at = k + gl_LocalInvocationIndex % (BK / 8u) * 8u;
        next_a[f] = halves(x_vector(from_a[f], at), x_vector(from_a[f], at + 4u));
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        vec4 a, b;
#ifdef AFFINE
        uint e = gl_LocalInvocationIndex + THREADS * f, col = first_n + e % (BN / 8u) * 8u, at = k + e / (BN / 8u);
        a = affine_vector(at, col);
        b = affine_vector(at, col + 4u);
#else
        // Eights of one invocation follow each other, so that they share what they read.
        block_eight(first_n + gl_LocalInvocationIndex % BN, k + (gl_LocalInvocationIndex / BN * FETCH_B + f) * 8u, a, b);
#endif
        next_b[f] = halves(a, b);
    }
}

void keep(uint s) {
    uint base = s * (SLICE_A + SLICE_B);
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uint e = gl_LocalInvocationIndex + THREADS * f;
        slices[base + e / (BK / 8u) * LINE_K + e % (BK / 8u)] = next_a[f];
    }
    base += SLICE_A;
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
#ifdef AFFINE
        uint e = gl_LocalInvocationIndex + THREADS * f;
        slices[base + e / (BN / 8u) * LINE_N + e % (BN / 8u)] = next_b[f];
#else
        slices[base + gl_LocalInvocationIndex % BN * LINE_K + gl_LocalInvocationIndex / BN * FETCH_B + f] = next_b[f];
#endif
    }
}

// row, col: of the subgroup's part of the tile.
void multiply(uint s, uint row, uint col) {
    uint base_a = s * (SLICE_A + SLICE_B), base_b = base_a + SLICE_A;
    [[unroll]] for (uint k = 0u; k < BK; k += 16u) {
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a[FM];
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
        [[unroll]] for (uint i = 0u; i < FM; ++i) {
            coopMatLoad(a[i], slices, base_a + (row + 16u * i) * LINE_K + k / 8u, LINE_K, gl_CooperativeMatrixLayoutRowMajor);
        }
        [[unroll]] for (uint j = 0u; j < FN; ++j) {
#ifdef AFFINE
            coopMatLoad(b, slices, base_b + k * LINE_N + (col + 16u * j) / 8u, LINE_N, gl_CooperativeMatrixLayoutRowMajor);
#else
            coopMatLoad(b, slices, base_b + (col + 16u * j) * LINE_K + k / 8u, LINE_K, gl_CooperativeMatrixLayoutColumnMajor);
#endif
            [[unroll]] for (uint i = 0u; i < FM; ++i) sums[i * FN + j] = coopMatMulAdd(a[i], b, sums[i * FN + j]);
        }
    }
}

void main() {
    uint tiles_n = (p.n + BN - 1u) / BN, tiles_m = tile_rows_count(BM), group = group_index();
    if (group >= tiles_m * tiles_n) return;
    Rows rows = tile_rows(group % tiles_m, BM);
    if (rows.count == 0u) return;
    uint first_n = group / tiles_m * BN;
    weights_begin(rows.expert);
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) from_a[f] = x_row(rows, (gl_LocalInvocationIndex + THREADS * f) / (BK / 8u));
    [[unroll]] for (uint i = 0u; i < FM * FN; ++i) {
        sums[i] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    }

    uint row = gl_SubgroupID / (BN / WN) * WM, col = gl_SubgroupID % (BN / WN) * WN, s = 0u;
    fetch_slice(first_n, 0u);
    keep(0u);
    barrier();
    for (uint k = 0u; k < p.k; k += BK) {
        bool more = k + BK < p.k;
        if (more) fetch_slice(first_n, k + BK);
        multiply(s, row, col);
        s ^= 1u;
        if (more) keep(s);
        barrier();
    }

    // The sums leave through shared memory, 16 rows of a subgroup at a time, so that they are written in whole lines.
    uint strip = gl_SubgroupID * 16u * LINE_Y;
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
        [[unroll]] for (uint j = 0u; j < FN; ++j) {
            coopMatStore(sums[i * FN + j], slices, strip + 4u * j, LINE_Y, gl_CooperativeMatrixLayoutRowMajor);
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        for (uint c = gl_SubgroupInvocationID; c < 16u * (WN / 4u); c += gl_SubgroupSize) {
            vec4 v = uintBitsToFloat(slices[strip + c / (WN / 4u) * LINE_Y + c % (WN / 4u)]);
            put4(rows, row + 16u * i + c / (WN / 4u), first_n + col + c % (WN / 4u) * 4u, v);
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
    }
}
