// What the product kernels share: parameters, 64-bit addressing, the epilogue. T is the element type, ACC the type summed in.
//
//   y[b,i,j] = act(alpha * sum_k A[b,i,k] B[b,k,j] + bias[j]) + residual[b,i,j]
//
// A and B are reached by strides in elements, so a transpose costs nothing. `table` holds, for each batch axis from the innermost
// out, its extent and the strides of A and B along it (0: broadcast). y is dense over the batch, its rows y_row apart.
#include "common/types.glsl"
#include "common/run_state.glsl"
#include "contraction/address.glsl"
#include "contraction/activation.glsl"

#ifdef USE_f64
#define ACC double
#define ACC4 dvec4
#define ACC_load load_f64
#define ACC_store store_f64
#define ACC_SHIFT 3u
#define T_SHIFT 3u
#else
#define ACC float
#define ACC4 vec4
#define ACC_load load_f32
#define ACC_store store_f32
#define ACC_SHIFT 2u
#ifdef USE_f32
#define T_SHIFT 2u
#else
#define T_SHIFT 1u
#endif
#endif
// Elements in 16 bytes.
#define VEC (16u / T_BYTES)

layout(constant_id = 0) const uint ACT = 0u;        // ACT_NONE ..
layout(constant_id = 1) const bool BIAS = false;
layout(constant_id = 2) const uint RESIDUAL = 0u;   // 0 none, 1 of type T, 2 of type ACC
layout(constant_id = 3) const bool WIDE = false;    // y takes the bare sums, as ACC
layout(constant_id = 4) const bool SWAP = false;    // the operands were exchanged: i is the column of y, j the row
layout(constant_id = 5) const uint GROUPING = 0u;   // 0 none, 1 B of a batch is chosen by idx, 2 rows sorted by expert
#ifndef FIXED_RUNS
layout(constant_id = 6) const bool A_UNIT_K = true; // A is contiguous along k (otherwise perhaps along its rows)
layout(constant_id = 7) const bool B_UNIT_K = true; // B is contiguous along k (otherwise perhaps along its columns)
#endif
layout(constant_id = 8) const bool A_VEC = false;   // strides allow whole vectors along the contiguous axis of A
layout(constant_id = 9) const bool B_VEC = false;
layout(constant_id = 10) const uint INDEX = 0u;     // idx holds 0: i32, 1: u32, 2: i64 or u64

layout(push_constant) uniform Push {
    uvec2 a, b, y, bias, residual, table, idx, state;
    uint m, n, k, batch;
    uint a_row, a_k, b_k, b_n, y_row;
    uint splits, chunk;  // parts of k, and the length of one; split s of batch b is written as batch s * batch + b of y
    uint batch_axes;
    uint node, experts;
    float alpha;
} p;

bool aligned(uvec2 at, uint bytes) { return (at.x & (bytes - 1u)) == 0u; }

// Element i of idx as two words.
uvec2 index_at(uvec2 idx, uint i) {
    if (INDEX == 2u) return ref_u32x2(idx).v[i];
    uint v = ref_u32(idx).v[i];
    return INDEX == 1u ? uvec2(v, 0u) : widen(int(v));
}

// Moves the operands to matrix `batch`.
void enter_batch(uint batch, inout uvec2 a, inout uvec2 b) {
    uvec2 table = resolve(p.table);
    if (GROUPING == 1u) {
        uint expert = check_index(resolve(p.state), p.node, batch, index_at(resolve(p.idx), batch), p.experts, false);
        a = move(a, times(batch, load_u32(table, 1u)), T_SHIFT);
        b = move(b, times(expert, load_u32(table, 2u)), T_SHIFT);
        return;
    }
    for (uint axis = 0u; axis < p.batch_axes; ++axis) {
        uint extent = load_u32(table, 3u * axis), i = batch % extent;
        batch /= extent;
        a = move(a, times(i, load_u32(table, 3u * axis + 1u)), T_SHIFT);
        b = move(b, times(i, load_u32(table, 3u * axis + 2u)), T_SHIFT);
    }
}

// Where a workgroup writes: the addresses of row `row` of y (and of residual), and the bias.
struct Target {
    uvec2 y, residual, bias;
    uint row;
};

Target target(uint batch, uint split, uint row) {
    uint rows = SWAP ? p.n : p.m;
    uvec2 at = plus(times(split * p.batch + batch, rows * p.y_row), times(row, p.y_row));
    Target t;
    t.y = move(resolve(p.y), at, WIDE ? ACC_SHIFT : T_SHIFT);
    t.residual = RESIDUAL == 0u ? uvec2(0u) : move(resolve(p.residual), at, RESIDUAL == 2u ? ACC_SHIFT : T_SHIFT);
    t.bias = BIAS ? resolve(p.bias) : uvec2(0u);
    t.row = row;
    return t;
}

// The epilogue of the sum at element i of y's row block, column `col` of y.
ACC finish(Target t, uint i, uint col, ACC v) {
    if (p.alpha != 1.0) v *= ACC(p.alpha);
    if (BIAS) v += T_load(t.bias, col);
    v = activate(ACT, v);
    if (RESIDUAL == 1u) v += T_load(t.residual, i);
    if (RESIDUAL == 2u) v += ACC_load(t.residual, i);
    return v;
}

// Writes the sum of row i and column j of the product.
void put(Target t, uint i, uint j, ACC v) {
    uint row = SWAP ? j : i, col = SWAP ? i : j;
    uint at = (row - t.row) * p.y_row + col;
    if (WIDE) {
        ACC_store(t.y, at, v);
    } else {
        T_store(t.y, at, finish(t, at, col, v));
    }
}

// 4 elements at an address aligned to 4 of them.
#ifdef USE_f64
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer ref_f64x4 { dvec4 v[]; };
dvec4 load4(uvec2 at) { return ref_f64x4(at).v[0]; }
void store4(uvec2 at, dvec4 v) { ref_f64x4(at).v[0] = v; }
void store4_wide(uvec2 at, dvec4 v) { ref_f64x4(at).v[0] = v; }
#else
void store4_wide(uvec2 at, vec4 v) { ref_f32x4(at).v[0] = v; }
#ifdef USE_f32
vec4 load4(uvec2 at) { return ref_f32x4(at).v[0]; }
void store4(uvec2 at, vec4 v) { ref_f32x4(at).v[0] = v; }
#else
vec4 load4(uvec2 at) {
    uvec2 u = ref_u32x2(at).v[0];
#ifdef USE_f16
    return vec4(unpackHalf2x16(u.x), unpackHalf2x16(u.y));
#else
    return uintBitsToFloat(uvec4(u.x << 16, u.x & 0xffff0000u, u.y << 16, u.y & 0xffff0000u));
#endif
}
void store4(uvec2 at, vec4 v) {
#ifdef USE_f16
    uvec4 u = uvec4(f32_to_f16(v.x), f32_to_f16(v.y), f32_to_f16(v.z), f32_to_f16(v.w));
#else
    uvec4 u = uvec4(f32_to_bf16(v.x), f32_to_bf16(v.y), f32_to_bf16(v.z), f32_to_bf16(v.w));
#endif
    ref_u32x2(at).v[0] = u.xz | u.yw << 16;
}
#endif
#endif

// Writes the sums of row i and columns j to j + 3 of a product that is not swapped, those past the last column left out.
// whole: y is aligned for store4.
void put4(Target t, uint i, uint j, ACC4 v, bool whole) {
    uint at = (i - t.row) * p.y_row + j, count = min(p.n > j ? p.n - j : 0u, 4u);
    if (!WIDE) {
        for (uint e = 0u; e < count; ++e) v[e] = finish(t, at + e, j + e, v[e]);
    }
    if (whole && count == 4u) {
        if (WIDE) {
            store4_wide(move(t.y, uvec2(at, 0u), ACC_SHIFT), v);
        } else {
            store4(move(t.y, uvec2(at, 0u), T_SHIFT), v);
        }
        return;
    }
    for (uint e = 0u; e < count; ++e) {
        if (WIDE) {
            ACC_store(t.y, at + e, v[e]);
        } else {
            T_store(t.y, at + e, v[e]);
        }
    }
}

// Part `split` of k.
uvec2 span(uint split) {
    uint begin = min(split * p.chunk, p.k);
    return uvec2(begin, min(begin + p.chunk, p.k));
}

// Tile `t` of tiles.x x tiles.y, in panels of 8 tile rows, so that neighbours in time share operands in the cache.
uvec2 tile_of(uint t, uvec2 tiles) {
    const uint PANEL = 8u;
    uint first = t / (PANEL * tiles.y) * PANEL, rest = t % (PANEL * tiles.y);
    uint height = min(tiles.x - first, PANEL);
    return uvec2(first + rest % height, rest / height);
}

// Rows sorted by expert (GROUPING 2), as group_rows.comp and group_tiles.comp leave them in `idx`: for each expert its first
// place in the list and its count, for each tile of rows its expert and first place, then the list of rows.
uint group_tile_count(uint tile_rows) { return (p.m + tile_rows - 1u) / tile_rows + min(p.experts, p.m); }

struct RowGroup {
    uint expert, first, rows;
    uvec2 list;
};

RowGroup row_group(uint tile, uint tile_rows) {
    uvec2 idx = resolve(p.idx);
    RowGroup g;
    g.expert = load_u32(idx, 2u * (p.experts + tile));
    g.first = load_u32(idx, 2u * (p.experts + tile) + 1u);
    g.rows = 0u;
    if (g.expert < p.experts) {
        uint start = load_u32(idx, 2u * g.expert), count = load_u32(idx, 2u * g.expert + 1u);
        g.rows = min(start + count - g.first, tile_rows);
    }
    g.list = advance(idx, 2u * (p.experts + group_tile_count(tile_rows)) + g.first, 4u);
    return g;
}
