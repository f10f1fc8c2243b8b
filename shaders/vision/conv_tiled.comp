#version 460
// A sweep (vision/sweep.glsl) as a product of the weights, rows x (channel, tap), and what they touch of x, (channel, tap) x position:
// tiles of BM rows x BN positions (of all batch items), 256 invocations with TM x TN sums in registers; slices of BK along
// (channel, tap) go through shared memory, two in turn. TILE large is for large results.
// With more than one split, each computes a part of the sum, and part [split] of `parts` (ACC, like y) takes it bare.
// A workgroup covers one tile of one group and phase, and one split.
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "contraction/activation.glsl"
#include "vision/sweep.glsl"

#ifdef TILE_large
#define BM 128u
#define BN 128u
#define BK 8u
#define UNROLL_K [[unroll]]
#else
#define BM 64u
#define BN 64u
#ifdef USE_f64
#define BK 8u
#else
#define BK 16u
#endif
#define UNROLL_K [[dont_unroll]]
#endif
#define TM (BM / 16u)
#define TN (BN / 16u)
#define LINE_A (BM / 4u + 1u)
#define LINE_B (BN / 4u + 1u)
#define FETCH_A (BM * BK / 256u)
#define FETCH_B (BN * BK / 256u)

layout(local_size_x = 256) in;
layout(constant_id = 2) const bool SPLIT = false;
layout(push_constant) uniform Push {
    uvec2 x, w, bias, y, parts, params;
    uint row_tiles, col_tiles, splits, chunk, groups;
} p;

shared ACC4 slice_a[2u * BK * LINE_A];
shared ACC4 slice_b[2u * BK * LINE_B];

// Place k of a sum as (channel, tap), and a step of BK.
struct Place {
    uint c, t;
};

Place next(Place at, uint whole, uint rest, uint taps) {
    at.c += whole;
    at.t += rest;
    if (at.t >= taps) {
        at.t -= taps;
        at.c += 1u;
    }
    return at;
}

ACC next_a[FETCH_A], next_b[FETCH_B];
ACC4 sums[TM * TN / 4u];

void multiply(uint s, uint row, uint col) {
    UNROLL_K for (uint k = 0u; k < BK; ++k) {
        ACC4 a[TM / 4u], b[TN / 4u];
        [[unroll]] for (uint i = 0u; i < TM / 4u; ++i) a[i] = slice_a[(s * BK + k) * LINE_A + i * 16u + row];
        [[unroll]] for (uint j = 0u; j < TN / 4u; ++j) b[j] = slice_b[(s * BK + k) * LINE_B + j * 16u + col];
        [[unroll]] for (uint i = 0u; i < TM; ++i) {
            [[unroll]] for (uint j = 0u; j < TN / 4u; ++j) {
                sums[i * (TN / 4u) + j] = fma(ACC4(a[i / 4u][i % 4u]), b[j], sums[i * (TN / 4u) + j]);
            }
        }
    }
}

void main() {
    Sweep s = ref_sweep(p.params).s;
    uint rest = group_index(), lane = gl_LocalInvocationIndex;
    uint row0 = rest % p.row_tiles * BM;
    rest /= p.row_tiles;
    uint col0 = rest % p.col_tiles * BN;
    rest /= p.col_tiles;
    uint split = rest % p.splits;
    rest /= p.splits;
    uint g = rest % s.groups, phase = rest / s.groups;
    if (phase >= s.phases) return;
    Phase ph = ref_sweep(p.params).phases[phase];
    uint positions = ph.counts.x * ph.counts.y * ph.counts.z, cols = s.batch * positions;
    if (col0 >= cols) return;

    // The column that this invocation fetches, and later writes.
    uint col = col0 + lane % BN, n = min(col, cols - 1u) / positions;
    uvec3 j = unravel(min(col, cols - 1u) - n * positions, ph.counts);
    ivec3 origin = ivec3(j * s.step);
    if (col >= cols) origin = ivec3(-0x40000000);
    uint base = ravel(j * s.step, s.extent);
    uvec2 x = add64(resolve(p.x), times64(n * s.groups + g, times64(s.channels * T_BYTES, uvec2(s.x_plane, 0u))));
    uvec2 w = add64(resolve(p.w), times64(g, times64(T_BYTES, s.w_group)));

    uint k_first = split * p.chunk, k_end = min(k_first + p.chunk, s.channels * ph.taps);
    uint taps = max(ph.taps, 1u), whole_step = BK / taps, rest_step = BK % taps;
    uint k_a = k_first + lane % BK;
    Place at_a = Place(k_a / taps, k_a % taps), at_b[FETCH_B];
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uint k = k_first + lane / BN + f * (256u / BN);
        at_b[f] = Place(k / taps, k % taps);
    }
    [[unroll]] for (uint i = 0u; i < TM * TN / 4u; ++i) sums[i] = ACC4(0);

    // Each 32 invocations hold 4 x 8 blocks of the 16 x 16, so that few distinct vectors are read at a time.
    uint tile_col = (lane & 7u) | ((lane >> 5) & 1u) << 3, tile_row = ((lane >> 3) & 3u) | (lane >> 6) << 2;
    uint slice = 0u;
    for (uint k = k_first; k < k_end + BK; k += BK) {
        bool more = k < k_end;
        if (more) {
            uint w_at = 0u;
            if (k + lane % BK < k_end) w_at = at_a.c * s.w_channel + load_tap(p.params, s.first_tap, ph.first + at_a.t).w;
            [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
                uint m = row0 + lane / BK + f * (256u / BK);
                next_a[f] = ACC(0);
                if (m < s.rows && k + lane % BK < k_end) next_a[f] = T_load(w, m * s.w_row + w_at);
            }
            at_a = next(at_a, whole_step, rest_step, taps);
            [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
                next_b[f] = ACC(0);
                if (k + lane / BN + f * (256u / BN) < k_end) {
                    Tap tap = load_tap(p.params, s.first_tap, ph.first + at_b[f].t);
                    if (inside(origin + tap.at, s.extent)) next_b[f] = T_load(x, at_b[f].c * s.x_plane + base + tap.x);
                }
                at_b[f] = next(at_b[f], whole_step, rest_step, taps);
            }
        }
        if (k > k_first) multiply(slice ^ 1u, tile_row, tile_col);
        if (more) {
            [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
                uint m = lane / BK + f * (256u / BK);
                slice_a[(slice * BK + lane % BK) * LINE_A + m / 4u][m % 4u] = next_a[f];
            }
            [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
                uint c = lane % BN;
                slice_b[(slice * BK + lane / BN + f * (256u / BN)) * LINE_B + c / 4u][c % 4u] = next_b[f];
            }
        }
        slice ^= 1u;
        barrier();
    }

    // The sums leave through shared memory, a row of every invocation's at a time, so that they are written along the positions.
    uint to = ravel(ph.start + j * s.out_step, s.y_extent);
    uint channels = s.groups * s.rows;
    uvec2 item = times64(n * channels, uvec2(s.y_plane, 0u));
    uvec2 y = add64(resolve(p.y), times64(T_BYTES, item));
    if (SPLIT) {
        uvec2 part = add64(times64(split, times64(s.batch * channels, uvec2(s.y_plane, 0u))), item);
        y = add64(resolve(p.parts), times64(ACC_BYTES, part));
    }
    [[dont_unroll]] for (uint pass = 0u; pass < TM; ++pass) {
        [[unroll]] for (uint i = 0u; i < TM; ++i) {
            if (i == pass) {
                [[unroll]] for (uint v = 0u; v < TN / 4u; ++v) slice_a[tile_row * (BN / 4u) + v * 16u + tile_col] = sums[i * (TN / 4u) + v];
            }
        }
        barrier();
        for (uint v = lane; v < 16u * BN; v += 256u) {
            uint m = row0 + pass / 4u * 64u + v / BN * 4u + pass % 4u;
            if (m < s.rows && col < cols) {
                ACC sum = slice_a[v / 4u][v % 4u];
                uint i = (g * s.rows + m) * s.y_plane + to;
                if (SPLIT) {
                    ACC_store(y, i, sum);
                } else {
                    if (BIAS) sum += T_load(resolve(p.bias), g * s.rows + m);
                    T_store(y, i, activate(ACT, sum));
                }
            }
        }
        barrier();
    }
}
