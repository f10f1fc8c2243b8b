#version 460
// The product on matrix units: tiles of BM x BN, each subgroup of 32 holds WM x WN of it in cooperative matrices 16x16x16 with f32
// sums; slices of BK along k go through shared memory, two in turn, so that the next slice travels while this one is multiplied.
// Products of f16 and of bf16 are exact in f32, so nothing is lost. f32 operands (precision Fast) are rounded to f16.
// Push and specialization constants: product.glsl. A workgroup covers one tile of one batch and one part of k.
// Limits: subgroups of 32; 256 * y_row + n below 2^31; shared memory 20 (small), 40 (medium), 36 (large) KiB.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#ifdef USE_bf16
#extension GL_EXT_bfloat16 : require
#define HALF bfloat16_t
#else
#define HALF float16_t
#endif
#include "contraction/product.glsl"

#if defined(TILE_large)
#define BM 256u
#define BN 128u
#define BK 16u
#define WM 64u
#define WN 64u
#elif defined(TILE_medium)
#define BM 128u
#define BN 128u
#define BK 32u
#define WM 64u
#define WN 64u
#else
#define BM 64u
#define BN 64u
#define BK 32u
#define WM 32u
#define WN 32u
#endif
#define THREADS ((BM / WM) * (BN / WN) * 32u)
#define FM (WM / 16u)
#define FN (WN / 16u)
// Pieces of 8 halves (16 bytes) in a line of shared memory, lines along k or along the rows; one piece of padding spreads the
// lines over the banks.
#define LINE_K (BK / 8u + 1u)
#define LINE_M (BM / 8u + 1u)
#define LINE_N (BN / 8u + 1u)
#define MOST(a, b) ((a) > (b) ? (a) : (b))
#define SLICE_A MOST(BM * LINE_K, BK * LINE_M)
#define SLICE_B MOST(BN * LINE_K, BK * LINE_N)
// Pieces that an invocation fetches of each slice.
#define FETCH_A (BM * BK / 8u / THREADS)
#define FETCH_B (BN * BK / 8u / THREADS)
// A subgroup's strip of 16 rows of sums on their way out, in pieces of 4 floats.
#define LINE_Y (WN / 4u + 1u)

#if defined(TILE_large)
layout(local_size_x = 256) in;
#else
layout(local_size_x = 128) in;
#endif

shared uvec4 pieces[2u * (SLICE_A + SLICE_B)];

uint left(uint end, uint at) { return end > at ? end - at : 0u; }

// 8 halves at an aligned address.
uvec4 load8(uvec2 at) {
#ifdef USE_f32
    vec4 u = ref_f32x4(at).v[0], v = ref_f32x4(at).v[1];
    return uvec4(packHalf2x16(u.xy), packHalf2x16(u.zw), packHalf2x16(v.xy), packHalf2x16(v.zw));
#else
    return ref_u32x4(at).v[0];
#endif
}

// Up to 8 halves, `stride` elements apart; zeros after `count` of them.
uvec4 load_some(uvec2 at, uint count, uint stride) {
    uvec4 v = uvec4(0u);
    for (uint i = 0u; i < 8u; ++i) {
        if (i < count) {
#ifdef USE_f32
            uint bits = packHalf2x16(vec2(load_f32(at, i * stride), 0.0));
#else
            uint bits = load_u16(at, i * stride);
#endif
            v[i / 2u] |= bits << (16u * (i % 2u));
        }
    }
    return v;
}

// Line (row or column) and k of piece `c` of a slice.
uvec2 place(bool unit_k, uint width, uint c) {
    if (unit_k) return uvec2(c / (BK / 8u), c % (BK / 8u) * 8u);
    return uvec2(c % (width / 8u) * 8u, c / (width / 8u));
}

// Where in its slice it goes.
uint slot(bool unit_k, uint line, uvec2 at) {
    return unit_k ? at.x * LINE_K + at.y / 8u : at.y * line + at.x / 8u;
}

uvec2 at_a[FETCH_A], at_b[FETCH_B];
uvec4 next_a[FETCH_A], next_b[FETCH_B];
coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sums[FM * FN];

// Fetches the slice at k and moves on to the next. WHOLE: no piece crosses an edge.
void fetch(const bool WHOLE, uint k, uint end, uint rows, uint cols) {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        if (WHOLE) {
            next_a[f] = load8(at_a[f]);
        } else {
            uvec2 at = place(A_UNIT_K, BM, gl_LocalInvocationIndex + THREADS * f);
            uint along_k = left(end, k + at.y), along_rows = left(rows, at.x);
            uint count = A_UNIT_K ? (along_rows == 0u ? 0u : along_k) : (along_k == 0u ? 0u : along_rows);
            next_a[f] = load_some(at_a[f], count, A_UNIT_K ? p.a_k : p.a_row);
        }
        at_a[f] = move(at_a[f], times(BK, p.a_k), T_SHIFT);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        if (WHOLE) {
            next_b[f] = load8(at_b[f]);
        } else {
            uvec2 at = place(B_UNIT_K, BN, gl_LocalInvocationIndex + THREADS * f);
            uint along_k = left(end, k + at.y), along_cols = left(cols, at.x);
            uint count = B_UNIT_K ? (along_cols == 0u ? 0u : along_k) : (along_k == 0u ? 0u : along_cols);
            next_b[f] = load_some(at_b[f], count, B_UNIT_K ? p.b_k : p.b_n);
        }
        at_b[f] = move(at_b[f], times(BK, p.b_k), T_SHIFT);
    }
}

void keep(uint s) {
    uint base = s * (SLICE_A + SLICE_B);
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        pieces[base + slot(A_UNIT_K, LINE_M, place(A_UNIT_K, BM, gl_LocalInvocationIndex + THREADS * f))] = next_a[f];
    }
    base += SLICE_A;
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        pieces[base + slot(B_UNIT_K, LINE_N, place(B_UNIT_K, BN, gl_LocalInvocationIndex + THREADS * f))] = next_b[f];
    }
}

// row, col: of the subgroup's part of the tile.
void multiply(uint s, uint row, uint col) {
    uint base_a = s * (SLICE_A + SLICE_B), base_b = base_a + SLICE_A;
    [[unroll]] for (uint k = 0u; k < BK; k += 16u) {
        coopmat<HALF, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a[FM];
        coopmat<HALF, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
        [[unroll]] for (uint i = 0u; i < FM; ++i) {
            uint r = row + 16u * i;
            if (A_UNIT_K) {
                coopMatLoad(a[i], pieces, base_a + r * LINE_K + k / 8u, LINE_K, gl_CooperativeMatrixLayoutRowMajor);
            } else {
                coopMatLoad(a[i], pieces, base_a + k * LINE_M + r / 8u, LINE_M, gl_CooperativeMatrixLayoutColumnMajor);
            }
        }
        [[unroll]] for (uint j = 0u; j < FN; ++j) {
            uint c = col + 16u * j;
            if (B_UNIT_K) {
                coopMatLoad(b, pieces, base_b + c * LINE_K + k / 8u, LINE_K, gl_CooperativeMatrixLayoutColumnMajor);
            } else {
                coopMatLoad(b, pieces, base_b + k * LINE_N + c / 8u, LINE_N, gl_CooperativeMatrixLayoutRowMajor);
            }
            [[unroll]] for (uint i = 0u; i < FM; ++i) sums[i * FN + j] = coopMatMulAdd(a[i], b, sums[i * FN + j]);
        }
    }
}

void loop(const bool WHOLE, uvec2 k, uint rows, uint cols, uint row, uint col) {
    fetch(WHOLE, k.x, k.y, rows, cols);
    keep(0u);
    barrier();
    uint s = 0u;
    for (uint at = k.x; at < k.y; at += BK) {
        bool more = at + BK < k.y;
        if (more) fetch(WHOLE, at + BK, k.y, rows, cols);
        multiply(s, row, col);
        s ^= 1u;
        if (more) keep(s);
        barrier();
    }
}

void main() {
    uvec2 tiles = uvec2(GROUPING == 2u ? group_tile_count(BM) : (p.m + BM - 1u) / BM, (p.n + BN - 1u) / BN);
    uint group = group_index(), t = group % (tiles.x * tiles.y), rest = group / (tiles.x * tiles.y);
    uint split = rest % p.splits, batch = rest / p.splits;
    if (batch >= p.batch) return;
    uvec2 tile = tile_of(t, tiles);
    uvec2 origin = tile * uvec2(BM, BN), a = resolve(p.a), b = resolve(p.b);
    RowGroup g;
    uint rows = p.m - origin.x, cols = p.n - origin.y;
    if (GROUPING == 2u) {
        g = row_group(tile.x, BM);
        if (g.rows == 0u) return;
        rows = g.rows;
        b = move(b, times(g.expert, load_u32(resolve(p.table), 2u)), T_SHIFT);
    } else {
        enter_batch(batch, a, b);
        a = move(a, times(origin.x, p.a_row), T_SHIFT);
    }
    b = move(b, times(origin.y, p.b_n), T_SHIFT);

    uvec2 k = span(split);
    bool whole = A_VEC && B_VEC && (k.y - k.x) % BK == 0u && (A_UNIT_K || p.m % 8u == 0u) && (B_UNIT_K || p.n % 8u == 0u) &&
                 aligned(a, 16u) && aligned(b, 16u);
    // Pieces past the last row or column read the last one again: nobody looks at those sums.
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uvec2 at = place(A_UNIT_K, BM, gl_LocalInvocationIndex + THREADS * f);
        uint row = whole ? min(at.x, A_UNIT_K ? rows - 1u : left(rows, 8u)) : at.x;
        if (GROUPING == 2u) row = load_u32(g.list, min(row, rows - 1u));
        at_a[f] = move(move(a, times(row, p.a_row), T_SHIFT), times(k.x + at.y, p.a_k), T_SHIFT);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uvec2 at = place(B_UNIT_K, BN, gl_LocalInvocationIndex + THREADS * f);
        uint col = whole ? min(at.x, B_UNIT_K ? cols - 1u : left(cols, 8u)) : at.x;
        at_b[f] = move(move(b, times(col, p.b_n), T_SHIFT), times(k.x + at.y, p.b_k), T_SHIFT);
    }
    [[unroll]] for (uint i = 0u; i < FM * FN; ++i) {
        sums[i] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
    }

    uint row = gl_SubgroupID / (BN / WN) * WM, col = gl_SubgroupID % (BN / WN) * WN;
    if (whole) {
        loop(true, k, rows, cols, row, col);
    } else {
        loop(false, k, rows, cols, row, col);
    }

    // The sums leave through shared memory, 16 rows of a subgroup at a time, so that they are written in whole lines.
    Target y = target(batch, split, GROUPING == 2u ? 0u : origin.x);
    bool whole_y = p.y_row % 4u == 0u && aligned(y.y, 16u);
    uint strip = gl_SubgroupID * 16u * LINE_Y;
    [[unroll]] for (uint i = 0u; i < FM; ++i) {
        [[unroll]] for (uint j = 0u; j < FN; ++j) {
            coopMatStore(sums[i * FN + j], pieces, strip + 4u * j, LINE_Y, gl_CooperativeMatrixLayoutRowMajor);
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
        for (uint c = gl_SubgroupInvocationID; c < 16u * (WN / 4u); c += gl_SubgroupSize) {
            uint r = row + 16u * i + c / (WN / 4u), to = origin.x + r;
            if (r < rows) {
                vec4 v = uintBitsToFloat(pieces[strip + c / (WN / 4u) * LINE_Y + c % (WN / 4u)]);
                uint first = origin.y + col + c % (WN / 4u) * 4u;
                if (GROUPING == 2u) {
                    to = load_u32(g.list, r);
                    put4(target(batch, split, to), to, first, v, whole_y);
                } else {
                    put4(y, to, first, v, whole_y);
                }
            }
        }
        subgroupMemoryBarrierShared();
        subgroupBarrier();
    }
}
