#version 460
// The product in tiles of BM x BN: 256 invocations, each with TM x TN sums in registers; slices of BK along k go through shared
// memory, two in turn, so that the next slice travels while this one is multiplied. f32 (f64) products and sums.
// TILE large is for large results on a GPU, small for others; rolled is small with little code, for drivers that compile to the CPU.
// Push and specialization constants: product.glsl. A workgroup covers one tile of one batch and one part of k.
// Limits: 128 * y_row + n below 2^31; at most 32 KiB of shared memory.
#include "contraction/product.glsl"

#ifdef TILE_large
#define BM 128u
#define BN 128u
#define BK 8u
#else
#define BM 64u
#define BN 64u
#define BK 16u
#endif
#ifdef TILE_rolled
#define UNROLL_K [[dont_unroll]]
#else
#define UNROLL_K [[unroll]]
#endif
// Bytes that an address of 4 elements is aligned to.
#define ALIGN4 min(4u * T_BYTES, 16u)
#define TM (BM / 16u)
#define TN (BN / 16u)
// Vectors of 4 in a line of shared memory. The pad spreads a slice's lines over the banks; 8-byte types have no room for it.
#ifdef USE_f64
#define LINE_A (BM / 4u)
#define LINE_B (BN / 4u)
#else
#define LINE_A (BM / 4u + 1u)
#define LINE_B (BN / 4u + 1u)
#endif
// Vectors of 4 that an invocation fetches of each slice.
#define FETCH_A (BM * BK / 1024u)
#define FETCH_B (BN * BK / 1024u)

layout(local_size_x = 256) in;

shared ACC4 slice_a[2u * BK * LINE_A];
shared ACC4 slice_b[2u * BK * LINE_B];

// Up to 4 elements, `stride` apart; zeros after `count` of them.
ACC4 load_some(uvec2 at, uint count, uint stride) {
    ACC4 v = ACC4(0);
    [[dont_unroll]] for (uint i = 0u; i < min(count, 4u); ++i) {
        v[i] = T_load(at, i * stride);
    }
    return v;
}

uint left(uint end, uint at) { return end > at ? end - at : 0u; }

// The places of one operand's vectors: line (row or column) and k of vector `c` of a slice.
uvec2 place(bool unit_k, uint width, uint c) {
    if (unit_k) return uvec2(c / (BK / 4u), c % (BK / 4u) * 4u);
    return uvec2(c % (width / 4u) * 4u, c / (width / 4u));
}

uvec2 at_a[FETCH_A], at_b[FETCH_B];
ACC4 next_a[FETCH_A], next_b[FETCH_B];
ACC4 sums[TM * TN / 4u];

// Fetches the slice at k and moves on to the next. whole: no vector crosses an edge.
void fetch(bool whole, uint k, uint end, uint rows, uint cols) {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        if (whole) {
            next_a[f] = load4(at_a[f]);
        } else {
            uvec2 at = place(A_UNIT_K, BM, gl_LocalInvocationIndex + 256u * f);
            uint along_k = left(end, k + at.y), along_rows = left(rows, at.x);
            uint count = A_UNIT_K ? (along_rows == 0u ? 0u : along_k) : (along_k == 0u ? 0u : along_rows);
            next_a[f] = load_some(at_a[f], count, A_UNIT_K ? p.a_k : p.a_row);
        }
        at_a[f] = move(at_a[f], times(BK, p.a_k), T_SHIFT);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        if (whole) {
            next_b[f] = load4(at_b[f]);
        } else {
            uvec2 at = place(B_UNIT_K, BN, gl_LocalInvocationIndex + 256u * f);
            uint along_k = left(end, k + at.y), along_cols = left(cols, at.x);
            uint count = B_UNIT_K ? (along_cols == 0u ? 0u : along_k) : (along_k == 0u ? 0u : along_cols);
            next_b[f] = load_some(at_b[f], count, B_UNIT_K ? p.b_k : p.b_n);
        }
        at_b[f] = move(at_b[f], times(BK, p.b_k), T_SHIFT);
    }
}

// Puts the fetched vectors into slice `s`, where k is the slow index.
void keep(uint s) {
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uvec2 at = place(A_UNIT_K, BM, gl_LocalInvocationIndex + 256u * f);
        if (A_UNIT_K) {
            [[unroll]] for (uint i = 0u; i < 4u; ++i) slice_a[(s * BK + at.y + i) * LINE_A + at.x / 4u][at.x % 4u] = next_a[f][i];
        } else {
            slice_a[(s * BK + at.y) * LINE_A + at.x / 4u] = next_a[f];
        }
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uvec2 at = place(B_UNIT_K, BN, gl_LocalInvocationIndex + 256u * f);
        if (B_UNIT_K) {
            [[unroll]] for (uint i = 0u; i < 4u; ++i) slice_b[(s * BK + at.y + i) * LINE_B + at.x / 4u][at.x % 4u] = next_b[f][i];
        } else {
            slice_b[(s * BK + at.y) * LINE_B + at.x / 4u] = next_b[f];
        }
    }
}

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

#ifdef TILE_rolled
// Slice by slice, each fetched while the one before is multiplied.
void loop(bool whole, uvec2 k, uint rows, uint cols, uint row, uint col) {
    uint s = 0u;
    [[dont_unroll]] for (uint at = k.x; at < k.y + BK; at += BK) {
        if (at < k.y) fetch(whole, at, k.y, rows, cols);
        if (at > k.x) multiply(s ^ 1u, row, col);
        if (at < k.y) keep(s);
        s ^= 1u;
        barrier();
    }
}
#else
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
#endif

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
    bool whole = A_VEC && B_VEC && (k.y - k.x) % BK == 0u && (A_UNIT_K || p.m % 4u == 0u) && (B_UNIT_K || p.n % 4u == 0u) &&
                 aligned(a, ALIGN4) && aligned(b, ALIGN4);
    // Vectors past the last row or column read the last one again: nobody looks at those sums.
    [[unroll]] for (uint f = 0u; f < FETCH_A; ++f) {
        uvec2 at = place(A_UNIT_K, BM, gl_LocalInvocationIndex + 256u * f);
        uint row = min(at.x, A_UNIT_K ? rows - 1u : left(rows, 4u));
        if (!whole) row = at.x;
        if (GROUPING == 2u) row = load_u32(g.list, min(row, rows - 1u));
        at_a[f] = move(move(a, times(row, p.a_row), T_SHIFT), times(k.x + at.y, p.a_k), T_SHIFT);
    }
    [[unroll]] for (uint f = 0u; f < FETCH_B; ++f) {
        uvec2 at = place(B_UNIT_K, BN, gl_LocalInvocationIndex + 256u * f);
        uint col = min(at.x, B_UNIT_K ? cols - 1u : left(cols, 4u));
        if (!whole) col = at.x;
        at_b[f] = move(move(b, times(col, p.b_n), T_SHIFT), times(k.x + at.y, p.b_k), T_SHIFT);
    }
    [[unroll]] for (uint i = 0u; i < TM * TN / 4u; ++i) sums[i] = ACC4(0);

    // Each 32 invocations hold 4 x 8 blocks of the 16 x 16, so that few distinct vectors are read at a time.
    uint lane = gl_LocalInvocationIndex;
    uint col = (lane & 7u) | ((lane >> 5) & 1u) << 3, row = ((lane >> 3) & 3u) | (lane >> 6) << 2;
#ifdef TILE_rolled
    loop(whole, k, rows, cols, row, col);
#else
    if (whole) {
        loop(true, k, rows, cols, row, col);
    } else {
        loop(false, k, rows, cols, row, col);
    }
#endif

    // The sums leave through shared memory, a row of every invocation's at a time, so that they are written in whole lines.
    Target y = target(batch, split, GROUPING == 2u ? 0u : origin.x);
    bool whole_y = p.y_row % 4u == 0u && aligned(y.y, 16u);
    [[dont_unroll]] for (uint pass = 0u; pass < TM; ++pass) {
        [[unroll]] for (uint i = 0u; i < TM; ++i) {
            if (i == pass) {
                [[unroll]] for (uint j = 0u; j < TN / 4u; ++j) slice_a[row * (BN / 4u) + j * 16u + col] = sums[i * (TN / 4u) + j];
            }
        }
        barrier();
        for (uint v = lane; v < 16u * (BN / 4u); v += 256u) {
            uint r = pass / 4u * 64u + v / (BN / 4u) * 4u + pass % 4u, c = origin.y + v % (BN / 4u) * 4u;
            if (r < rows) {
                uint to = GROUPING == 2u ? load_u32(g.list, r) : origin.x + r;
                if (GROUPING == 2u) y = target(batch, split, to);
                put4(y, to, c, slice_a[v], whole_y);
            }
        }
        barrier();
    }
}
