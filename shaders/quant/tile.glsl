// What the kernels that work in tiles share: which rows of x belong to a tile, vectors of x and of weights, and the way out.
// Include real.glsl and decode.glsl or affine.glsl first.
layout(constant_id = 10) const bool SORTED = false;
layout(constant_id = 11) const bool HAS_ZERO = false; // affine schemes: (q - zero) * scale
layout(push_constant) uniform Push {
    uvec2 x, w, y, groups;
#ifdef AFFINE
    uvec2 scale, zero; // nvfp4: zero is the global scale
#endif
#ifdef CODEBOOK
    uvec2 codebook;
#endif
    uint m, n, k, experts, block;
} p;

// Rows of x in a tile: numbers first .. or, of sorted rows, entries first .. of the list.
struct Rows {
    uint expert, first, count;
    uvec2 list;
};

// Tiles of `height` rows; of sorted rows, as many as the table has room for.
uint tile_rows_count(uint height) { return (p.m + height - 1u) / height + (SORTED ? min(p.experts, p.m) : 0u); }

Rows tile_rows(uint tile, uint height) {
    if (!SORTED) return Rows(0u, tile * height, min(p.m - tile * height, height), uvec2(0u));
    // groups: per expert first place and count, per tile expert and first place, then the list.
    uvec2 groups = resolve(p.groups);
    uint pair = 2u * (p.experts + tile);
    Rows r = Rows(load_u32(groups, pair), load_u32(groups, pair + 1u), 0u, uvec2(0u));
    if (r.expert < p.experts) {
        uint start = load_u32(groups, 2u * r.expert), count = load_u32(groups, 2u * r.expert + 1u);
        r.count = min(start + count - r.first, height);
    }
    r.list = advance(groups, 2u * (p.experts + tile_rows_count(height)) + r.first, 4u);
    return r;
}

uint row_number(Rows rows, uint i) { return SORTED ? load_u32(rows.list, i) : rows.first + i; }

// The address of row i of the tile; past the end the last one again: nobody looks at those sums.
uvec2 x_row(Rows rows, uint i) { return advance(resolve(p.x), row_number(rows, min(i, rows.count - 1u)), p.k * REAL_BYTES); }

// Writes columns n.. of row i of the tile.
void put4(Rows rows, uint i, uint n, vec4 v) {
    if (i >= rows.count || n >= p.n) return;
    uvec2 y = advance(resolve(p.y), row_number(rows, i), p.n * REAL_BYTES);
    if (p.n % 4u == 0u) {
        store_real4(y, n, v);
        return;
    }
    uint count = min(p.n - n, 4u);
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        if (e < count) store_real(y, n + e, v[e]);
    }
}

#ifdef AFFINE
void weights_begin(uint expert) {}

// Elements k.. of a row of x, zeros past its end. k is a multiple of 4.
vec4 x_vector(uvec2 row, uint k) {
    if (p.k % 4u == 0u) return k < p.k ? load_real4(row, k) : vec4(0.0);
    vec4 v = vec4(0.0);
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        if (k + e < p.k) v[e] = load_real(row, k + e);
    }
    return v;
}

// Weights of row k, columns n..; zeros outside.
vec4 affine_vector(uint k, uint n) {
    if (k >= p.k || n >= p.n) return vec4(0.0);
    uint count = min(p.n - n, 4u), b = k / p.block;
    vec4 q = codes4(resolve(p.w), p.n, k, n, count);
    if (HAS_ZERO) q -= some_reals(resolve(p.zero), p.n, b, n, count);
    vec4 v = q * scales4(resolve(p.scale), resolve(p.zero), p.n, b, n, count);
    return v;
}
#else
uvec2 tile_weights;

// Before the first block_eight(); all invocations must call.
void weights_begin(uint expert) {
    tile_weights = advance(resolve(p.w), expert * p.n, p.k / BLOCK * BLOCK_BYTES);
#ifdef CODEBOOK
    decode_begin(resolve(p.codebook));
#else
    decode_begin(uvec2(0u));
#endif
}

vec4 x_vector(uvec2 row, uint k) { return load_real4(row, k); }

// Weights k.. of row n of w, k a multiple of 8; past the last row the last one again.
void block_eight(uint n, uint k, out vec4 a, out vec4 b) {
    uvec2 row = advance(tile_weights, min(n, p.n - 1u), p.k / BLOCK * BLOCK_BYTES);
    weights8(at_byte(row, k / BLOCK * BLOCK_BYTES), k % BLOCK / 8u, a, b);
}
#endif
