#version 460
// The product on matrix units: tiles of BM x BN, each subgroup of 32 holds WM x WN of it in cooperative matrices 16x16x16 with f32
// sums; slices of BK along k go through shared memory, two in turn, so that the next slice travels while this one is multiplied.
// Products of f16 and of bf16 are exact in f32, so nothing is lost. f32 operands (precision Fast) are rounded to f16.
// A_k: A is contiguous along k, else along its rows; B_k likewise.
// Push and specialization constants: product.glsl. A workgroup covers one tile of one batch and one part of k.
// Limits: subgroups of 32; both operands in whole pieces of 8 along their contiguous axis (A_VEC, B_VEC, addresses of 16 bytes; along k: k a multiple of
// 8; along rows or columns: their number too); 256 * y_row + n below 2^31; shared memory 40 KiB (medium) or 20 KiB (small).
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#ifdef USE_bf16
#extension GL_EXT_bfloat16 : require
#define HALF bfloat16_t
#else
#define HALF float16_t
#endif
#define FIXED_RUNS
#include "contraction/product.glsl"

#include "contraction/coop_tile.glsl"

layout(local_size_x = 128) in;

#define SUM(i, j) sums[(j) * PARTS + (i)]
// Pieces of 8 halves (16 bytes) in a line of shared memory, lines along k or along the rows; one piece of padding spreads the
// lines over the banks.
#define LINE_K (BK / 8u + 1u)
#ifdef A_k
#define A_UNIT_K true
#define LINE_A LINE_K
#define SLICE_A (BM * LINE_A)
#define A_LAYOUT gl_CooperativeMatrixLayoutRowMajor
#define A_AT(line, k) ((line) * LINE_A + (k) / 8u)
#else
#define A_UNIT_K false
#define LINE_A (BM / 8u + 1u)
#define SLICE_A (BK * LINE_A)
#define A_LAYOUT gl_CooperativeMatrixLayoutColumnMajor
#define A_AT(line, k) ((k) * LINE_A + (line) / 8u)
#endif
#ifdef B_k
#define B_UNIT_K true
#define LINE_B LINE_K
#define SLICE_B (BN * LINE_B)
#define B_LAYOUT gl_CooperativeMatrixLayoutColumnMajor
#define B_AT(line, k) ((line) * LINE_B + (k) / 8u)
#else
#define B_UNIT_K false
#define LINE_B (BN / 8u + 1u)
#define SLICE_B (BK * LINE_B)
#define B_LAYOUT gl_CooperativeMatrixLayoutRowMajor
#define B_AT(line, k) ((k) * LINE_B + (line) / 8u)
#endif
#define SLICE (SLICE_A + SLICE_B)
// A subgroup's strip of 16 rows of sums on their way out, in pieces of 4 floats.
#define LINE_Y (WN / 4u + 1u)
#define STRIPS (THREADS / 32u * 16u * LINE_Y)

shared uvec4 pieces[2u * SLICE > STRIPS ? 2u * SLICE : STRIPS];

// 8 halves at an aligned address.
uvec4 load8(uvec2 at) {
#ifdef USE_f32
    vec4 u = ref_f32x4(at).v[0], v = ref_f32x4(at).v[1];
    return uvec4(packHalf2x16(u.xy), packHalf2x16(u.zw), packHalf2x16(v.xy), packHalf2x16(v.zw));
#else
    return ref_u32x4(at).v[0];
#endif
}

// Line (row or column) and k of piece `c` of a slice.
uvec2 place(bool unit_k, uint width, uint c) {
    if (unit_k) return uvec2(c / (BK / 8u), c % (BK / 8u) * 8u);
    return uvec2(c % (width / 8u) * 8u, c / (width / 8u));
}

#define PLACE_A(f) place(A_UNIT_K, BM, me + THREADS * f)
#define PLACE_B(f) place(B_UNIT_K, BN, me + THREADS * f)

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
    uint me = gl_LocalInvocationIndex;
    uvec2 at_a[PARTS], at_b[PARTS];
    uvec4 next_a[PARTS], next_b[PARTS];
    // Pieces past the last row or column read the last one again: nobody looks at those sums.
#define START_A(f)                                                                                                               \
    {                                                                                                                            \
        uvec2 at = PLACE_A(f);                                                                                                   \
        uint line = min(at.x, A_UNIT_K ? rows - 1u : rows - 8u);                                                                 \
        if (GROUPING == 2u) line = load_u32(g.list, line);                                                                       \
        at_a[f] = move(move(a, times(line, p.a_row), T_SHIFT), times(k.x + at.y, p.a_k), T_SHIFT);                               \
    }
#define START_B(f)                                                                                                               \
    {                                                                                                                            \
        uvec2 at = PLACE_B(f);                                                                                                   \
        uint line = min(at.x, B_UNIT_K ? cols - 1u : cols - 8u);                                                                 \
        at_b[f] = move(move(b, times(line, p.b_n), T_SHIFT), times(k.x + at.y, p.b_k), T_SHIFT);                                 \
    }
    ALL(START_A)
    ALL(START_B)
    uvec2 step_a = move(uvec2(0u), times(BK, p.a_k), T_SHIFT), step_b = move(uvec2(0u), times(BK, p.b_k), T_SHIFT);

    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sums[PARTS * PARTS];
    coopmat<HALF, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> ma[PARTS];
    coopmat<HALF, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> mb;
#define CLEAR_1(i, j) SUM(i, j) = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
#define CLEAR(j) OVER_M(CLEAR_1, j)
    ALL(CLEAR)
    uint row = gl_SubgroupID / (BN / WN) * WM, col = gl_SubgroupID % (BN / WN) * WN;

    // Fetch the slice at k = at into registers; keep it as slice s of shared memory; multiply slice s.
#define FETCH_1A(f)                                                                                                              \
    next_a[f] = uvec4(0u);                                                                                                       \
    if (whole || at + PLACE_A(f).y < k.y) next_a[f] = load8(at_a[f]);                                                            \
    at_a[f] = plus(at_a[f], step_a);
#define FETCH_1B(f)                                                                                                              \
    next_b[f] = uvec4(0u);                                                                                                       \
    if (whole || at + PLACE_B(f).y < k.y) next_b[f] = load8(at_b[f]);                                                            \
    at_b[f] = plus(at_b[f], step_b);
#define KEEP_1A(f) pieces[s * SLICE + A_AT(PLACE_A(f).x, PLACE_A(f).y)] = next_a[f];
#define KEEP_1B(f) pieces[s * SLICE + SLICE_A + B_AT(PLACE_B(f).x, PLACE_B(f).y)] = next_b[f];
#define LOAD_A(i) coopMatLoad(ma[i], pieces, s * SLICE + A_AT(row + 16u * i, kk), LINE_A, A_LAYOUT);
#define LOAD_B(j) coopMatLoad(mb, pieces, s * SLICE + SLICE_A + B_AT(col + 16u * j, kk), LINE_B, B_LAYOUT);
#define MULTIPLY_1(i, j) SUM(i, j) = coopMatMulAdd(ma[i], mb, SUM(i, j));
#define MULTIPLY(j)                                                                                                              \
    LOAD_B(j)                                                                                                                    \
    OVER_M(MULTIPLY_1, j)

    uint s = 0u;
    if (k.x < k.y) {
        uint at = k.x;
        bool whole = at + BK <= k.y;
        ALL(FETCH_1A)
        ALL(FETCH_1B)
        ALL(KEEP_1A)
        ALL(KEEP_1B)
    }
    for (uint at = k.x + BK; at < k.y + BK; at += BK) {
        barrier();
        bool more = at < k.y, whole = at + BK <= k.y;
        if (more) {
            ALL(FETCH_1A)
            ALL(FETCH_1B)
        }
        uint kk = 0u;
        ALL(LOAD_A)
        ALL(MULTIPLY)
        kk = 16u;
        ALL(LOAD_A)
        ALL(MULTIPLY)
        s ^= 1u;
        if (more) {
            ALL(KEEP_1A)
            ALL(KEEP_1B)
        }
    }
    barrier();

    // The sums leave through shared memory, 16 rows of a subgroup at a time, so that they are written in whole lines.
    Target y = target(batch, split, GROUPING == 2u ? 0u : origin.x);
    bool whole_y = p.y_row % 4u == 0u && aligned(y.y, 16u);
    uint strip = gl_SubgroupID * 16u * LINE_Y;
#define STORE_1(i, j) coopMatStore(SUM(i, j), pieces, strip + 4u * j, LINE_Y, gl_CooperativeMatrixLayoutRowMajor);
#define WRITE(i)                                                                                                                 \
    OVER_N(STORE_1, i)                                                                                                           \
    subgroupMemoryBarrierShared();                                                                                               \
    subgroupBarrier();                                                                                                           \
    for (uint c = gl_SubgroupInvocationID; c < 16u * (WN / 4u); c += 32u) {                                                      \
        uint r = row + 16u * i + c / (WN / 4u), to = origin.x + r;                                                               \
        if (r < rows) {                                                                                                          \
            vec4 v = uintBitsToFloat(pieces[strip + c / (WN / 4u) * LINE_Y + c % (WN / 4u)]);                                    \
            uint first = origin.y + col + c % (WN / 4u) * 4u;                                                                    \
            if (GROUPING == 2u) {                                                                                                \
                to = load_u32(g.list, r);                                                                                        \
                y = target(batch, split, to);                                                                                    \
            }                                                                                                                    \
            put4(y, to, first, v, whole_y);                                                                                      \
        }                                                                                                                        \
    }                                                                                                                            \
    subgroupMemoryBarrierShared();                                                                                               \
    subgroupBarrier();
    ALL(WRITE)
}
