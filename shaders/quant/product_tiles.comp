#version 460
// y = x @ dequant(w)^T in tiles, for any number of rows of x [m,k]: packed blocks (w [n,k]) or affine schemes (w [k,n]). A tile of
// weights is expanded into shared memory once, next to a tile of x, and 256 invocations multiply them from registers in f32,
// while the next tiles travel.
// SORTED: rows of x are sorted by expert (shaders/contraction/group_rows.comp), w [experts,n,k]; a tile belongs to one expert.
//
// An invocation has 4 TM4 rows and 4 TN4 columns; DOWN of them lie below each other: a workgroup covers BM x BN of y.
// Limits: n < 2^28, k < 2^28; 128 * (BM + BN + 8) bytes of shared memory.
#include "quant/real.glsl"
#include "quant/bytes.glsl"
#ifdef AFFINE
#include "quant/affine.glsl"
#else
#include "quant/decode.glsl"
#endif
#include "quant/tile.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint TM4 = 1u;
layout(constant_id = 1) const uint TN4 = 1u;
layout(constant_id = 2) const uint DOWN = 16u;
const uint BM = 4u * TM4 * DOWN, BN = 1024u * TN4 / DOWN;
const uint BK = 32u;
const uint LINE_A = BM / 4u + 1u, LINE_B = BN / 4u + 1u;
const uint FETCH_A = BM / 32u, FETCH_B = BN / 64u; // vectors of x, eights of w an invocation fetches of a tile

shared vec4 tile_a[BK * LINE_A];
shared vec4 tile_b[BK * LINE_B];

void main() {
    uint lane = gl_LocalInvocationIndex, tiles_n = (p.n + BN - 1u) / BN, tiles_m = tile_rows_count(BM);
    uint group = group_index();
    if (group >= tiles_m * tiles_n) return;
    Rows rows = tile_rows(group % tiles_m, BM);
    if (rows.count == 0u) return;
    uint first_n = group / tiles_m * BN;
    weights_begin(rows.expert);

    uvec2 from_a[FETCH_A];
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) from_a[f] = x_row(rows, (lane + 256u * f) / 8u);
    vec4 next_a[FETCH_A], next_b[2u * FETCH_B], sums[4u * TM4 * TN4];
    [[unroll]] for (uint i = 0u; i < 4u * TM4 * TN4; ++i) sums[i] = vec4(0.0);
    uint down = lane / (256u / DOWN), across = lane % (256u / DOWN);

    for (uint k = 0u; k < p.k + BK; k += BK) {
        if (k > 0u) {
            barrier();
            [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
                uint row = (lane + 256u * f) / 8u, at = lane % 8u * 4u;
                [[unroll]] for (uint i = 0u; i < 4u; ++i) tile_a[(at + i) * LINE_A + row / 4u][row % 4u] = next_a[f][i];
            }
            [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
#ifdef AFFINE
                uint e = lane + 256u * f, at = e / (BN / 8u) * LINE_B + e % (BN / 8u) * 2u;
                tile_b[at] = next_b[2u * f];
                tile_b[at + 1u] = next_b[2u * f + 1u];
#else
                // Eights of one invocation follow each other, so that they share what they read.
                uint col = lane % BN, at = (lane / BN * FETCH_B + f) * 8u;
                [[unroll]] for (uint i = 0u; i < 8u; ++i) tile_b[(at + i) * LINE_B + col / 4u][col % 4u] = next_b[2u * f + i / 4u][i % 4u];
#endif
            }
            barrier();
        }
        if (k < p.k) {
            [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) next_a[f] = x_vector(from_a[f], k + lane % 8u * 4u);
            [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
#ifdef AFFINE
                uint e = lane + 256u * f, at = k + e / (BN / 8u), col = first_n + e % (BN / 8u) * 8u;
                next_b[2u * f] = affine_vector(at, col);
                next_b[2u * f + 1u] = affine_vector(at, col + 4u);
#else
                block_eight(first_n + lane % BN, k + (lane / BN * FETCH_B + f) * 8u, next_b[2u * f], next_b[2u * f + 1u]);
#endif
            }
        }
        if (k > 0u) {
            for (uint at = 0u; at < BK; ++at) {
                vec4 a[TM4], b[TN4];
                [[unroll]] for (uint i = 0u; i < TM4; ++i) a[i] = tile_a[at * LINE_A + i * DOWN + down];
                [[unroll]] for (uint j = 0u; j < TN4; ++j) b[j] = tile_b[at * LINE_B + j * (256u / DOWN) + across];
                [[unroll]] for (uint i = 0u; i < 4u * TM4; ++i) {
                    [[unroll]] for (uint j = 0u; j < TN4; ++j) sums[i * TN4 + j] = fma(vec4(a[i / 4u][i % 4u]), b[j], sums[i * TN4 + j]);
                }
            }
        }
    }

    [[unroll]] for (uint i = 0u; i < 4u * TM4; ++i) {
        uint row = (i / 4u * DOWN + down) * 4u + i % 4u;
        [[unroll]] for (uint j = 0u; j < TN4; ++j) {
            put4(rows, row, first_n + (j * (256u / DOWN) + across) * 4u, sums[i * TN4 + j]);
        }
    }
}
