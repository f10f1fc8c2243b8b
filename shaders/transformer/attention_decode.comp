#version 460
// Attention of few queries over many keys: y = softmax(mask(cap(q k^T scale))) v.
// A workgroup works on ROWS rows of one kv head (all query heads that share it, so that keys and values are read once) and on one
// split of the keys, 64 at a time: four lanes a key make the scores, then each invocation adds a column of 16 bytes of the values.
// Work follows the valid keys: splits beyond them end at once. Limits: head sizes up to 512.
// Workgroups: row blocks x splits x kv heads x batch, row blocks innermost.
#include "transformer/attention.glsl"
#include "common/subgroup.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint ROWS = 1u; // 1, 2, 4 or 8

// Scores that a lane of the four finishes: two keys x ROWS, dealt out.
const uint OWN = (2u * ROWS + 3u) / 4u;
// First the queries, as f32, in lines of 128 vectors; then, of up to 4 rows at a time, the sums of all invocations.
const uint LINES = ROWS <= 4u ? ROWS : 4u;
shared vec4 area[ROWS > LINES * PIECE4 ? ROWS * 128u : LINES * PIECE4 * 128u];
shared float weights[64u * ROWS];
// Of two tiles in turn, of up to 32 subgroups.
shared float maxima[2u * 32u * ROWS];
shared float totals[128u * LINES];

void main() {
    uint t = gl_LocalInvocationIndex, lane = t & 3u, quad = t >> 2;
    uint rows = p.queries * p.sharing, blocks = (rows + ROWS - 1u) / ROWS, group = group_index();
    uint block = group % blocks, rest = group / blocks, split = rest % p.splits;
    rest /= p.splits;
    if (rest >= KV_GROUPS) return;
    uint kv_head = rest % p.kv_heads, batch = rest / p.kv_heads, heads = p.kv_heads * p.sharing;
    uint extent = read_extent(batch);
    uvec2 span = split_span(key_span(extent, 0u, p.queries - 1u), split);
    if (span.x >= span.y && p.splits > 1u) return;

    // The queries; rows and pieces beyond the end are zeros.
    uint pieces = (p.size + PIECE - 1u) / PIECE, padded = (pieces + 15u) & ~15u;
    for (uint i = t; i < ROWS * padded; i += 128u) {
        uint r = i / padded, piece = i % padded, row = block * ROWS + r;
        uvec4 u = uvec4(0u);
        if (row < rows && piece < pieces) {
            uint v = vector_index(batch, kv_head * p.sharing + row / p.queries, row % p.queries, heads, p.queries);
            u = load_piece(advance(resolve(p.q), v, p.size * T_BYTES), piece, p.size, WHOLE_PIECES);
        }
        [[unroll]] for (uint h = 0u; h < PIECE4; ++h) area[r * 128u + piece * PIECE4 + h] = unpack_piece(u, h);
    }
    int positions[OWN];
    MaskRow masks[OWN];
    [[unroll]] for (uint m = 0u; m < OWN; ++m) {
        uint row = min(block * ROWS + (lane + 4u * m) % ROWS, rows - 1u);
        positions[m] = int(extent) - int(p.queries) + int(row % p.queries);
        masks[m] = mask_row(batch, kv_head * p.sharing + row / p.queries, row % p.queries);
    }
    uint value_pieces = (p.value_size + PIECE - 1u) / PIECE, columns = 128u / max(value_pieces, 1u);
    uint column = t % max(value_pieces, 1u), member = t / max(value_pieces, 1u);
    bool adds = member < columns;
    uint key_bytes = p.size * T_BYTES, value_bytes = p.value_size * T_BYTES;
    uint first = vector_index(batch, kv_head, 0u, p.kv_heads, p.keys), step = key_step();
    uvec2 k = resolve(p.k), v = resolve(p.v);

    float most[ROWS], total[ROWS];
    vec4 sums[ROWS * PIECE4];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        most[r] = -INF;
        total[r] = 0.0;
    }
    [[unroll]] for (uint i = 0u; i < ROWS * PIECE4; ++i) sums[i] = vec4(0.0);
    barrier();

    uint turn = 0u;
    for (uint start = span.x; start < span.y; start += 64u, turn ^= 1u) {
        uint count = min(span.y - start, 64u);
        uvec4 ahead[8];
        [[unroll]] for (uint i = 0u; i < 8u; ++i) {
            uint j = member + i * columns;
            ahead[i] = uvec4(0u);
            if (adds && j < count) ahead[i] = load_piece(advance(v, first + (start + j) * step, value_bytes), column, p.value_size, WHOLE_VALUES);
        }

        // Scores of keys quad and quad + 32: each lane takes every fourth piece.
        float dots[2u * ROWS];
        [[unroll]] for (uint i = 0u; i < 2u * ROWS; ++i) dots[i] = 0.0;
        uvec2 key_at[2];
        [[unroll]] for (uint n = 0u; n < 2u; ++n) key_at[n] = advance(k, first + (start + quad + 32u * n) * step, key_bytes);
        for (uint c = lane; c < pieces; c += 16u) {
            uvec4 parts[8];
            [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                uint piece = c + 4u * (i >> 1), j = quad + 32u * (i & 1u);
                parts[i] = uvec4(0u);
                if (piece < pieces && j < count) parts[i] = load_piece(key_at[i & 1u], piece, p.size, WHOLE_PIECES);
            }
            [[unroll]] for (uint i = 0u; i < 4u; ++i) {
                if (c + 4u * i >= pieces) break;
                [[unroll]] for (uint h = 0u; h < PIECE4; ++h) {
                    vec4 a = unpack_piece(parts[2u * i], h), b = unpack_piece(parts[2u * i + 1u], h);
                    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                        vec4 q = area[r * 128u + (c + 4u * i) * PIECE4 + h];
                        dots[r] += dot(q, a);
                        dots[ROWS + r] += dot(q, b);
                    }
                }
            }
        }
        float own[OWN], tops[ROWS];
        [[unroll]] for (uint m = 0u; m < OWN; ++m) own[m] = 0.0;
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) tops[r] = -INF;
        [[unroll]] for (uint e = 0u; e < 2u * ROWS; ++e) {
            float d = dots[e];
            d += subgroupShuffleXor(d, 1u);
            d += subgroupShuffleXor(d, 2u);
            if ((e & 3u) == lane) own[e >> 2] = d;
        }
        [[unroll]] for (uint m = 0u; m < OWN; ++m) {
            uint e = lane + 4u * m, j = quad + 32u * (e / ROWS);
            own[m] = e < 2u * ROWS && j < count ? finish_score(own[m], masks[m], positions[m], start + j) : -INF;
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                if (r == e % ROWS && !is_nan(own[m])) tops[r] = max(tops[r], own[m]);
            }
        }

        // The maxima of the tile, then the weights.
        uint base = turn * 32u * ROWS;
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            float top = subgroupMax(tops[r]);
            if (subgroupElect()) maxima[base + gl_SubgroupID * ROWS + r] = top;
        }
        barrier();
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) tops[r] = most[r];
        for (uint i = 0u; i < gl_NumSubgroups; ++i) {
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) tops[r] = max(tops[r], maxima[base + i * ROWS + r]);
        }
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            float fade = most[r] == tops[r] ? 1.0 : weight(most[r] - tops[r]);
            most[r] = tops[r];
            total[r] *= fade;
            [[unroll]] for (uint h = 0u; h < PIECE4; ++h) sums[r * PIECE4 + h] *= fade;
        }
        [[unroll]] for (uint m = 0u; m < OWN; ++m) {
            uint e = lane + 4u * m;
            float top = most[0];
            [[unroll]] for (uint r = 1u; r < ROWS; ++r) top = e % ROWS == r ? most[r] : top;
            if (e < 2u * ROWS) weights[(quad + 32u * (e / ROWS)) * ROWS + e % ROWS] = own[m] == -INF ? HIDDEN : weight(own[m] - top);
        }
        barrier();

        // The values: invocations of one column take turns at the keys.
        for (uint j0 = member; adds && j0 < count; j0 += 8u * columns) {
            [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                uint j = j0 + i * columns;
                if (j < count) {
                    uvec4 u = j0 == member ? ahead[i] : load_piece(advance(v, first + (start + j) * step, value_bytes), column, p.value_size, WHOLE_VALUES);
                    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                        float w = weights[j * ROWS + r];
                        // The value of a hidden key may be anything: 0 times NaN is not 0.
                        if (!is_hidden(w)) {
                            total[r] += w;
                            [[unroll]] for (uint h = 0u; h < PIECE4; ++h) sums[r * PIECE4 + h] += w * unpack_piece(u, h);
                        }
                    }
                }
            }
        }
    }

    // Up to 4 rows at a time, the sums of the invocations of a column come together.
    uint vectors = part_pitch();
    [[unroll]] for (uint r0 = 0u; r0 < ROWS; r0 += LINES) {
        barrier();
        [[unroll]] for (uint r = 0u; r < LINES; ++r) {
            [[unroll]] for (uint h = 0u; h < PIECE4; ++h) area[(r * PIECE4 + h) * 128u + t] = sums[(r0 + r) * PIECE4 + h];
            totals[r * 128u + t] = total[r0 + r];
        }
        barrier();
        for (uint i = t; i < LINES * vectors; i += 128u) {
            uint r = i / vectors, c = i % vectors, row = block * ROWS + r0 + r;
            if (row >= rows) break;
            float sum_of_weights = 0.0;
            vec4 sum = vec4(0.0);
            for (uint g = 0u; g < columns; ++g) {
                sum_of_weights += totals[r * 128u + g * value_pieces];
                sum += area[(r * PIECE4 + c % PIECE4) * 128u + g * value_pieces + c / PIECE4];
            }
            float top = most[0];
            [[unroll]] for (uint n = 1u; n < ROWS; ++n) top = r0 + r == n ? most[n] : top;
            uint head = kv_head * p.sharing + row / p.queries, query = row % p.queries;
            if (p.splits == 1u) {
                uvec2 y = advance(resolve(p.y), vector_index(batch, head, query, heads, p.queries), value_bytes);
                store4(y, c, sum * final_factor(top, sum_of_weights, head), p.value_size);
            } else {
                uint part = ((batch * heads + head) * p.queries + query) * p.splits + split;
                ref_f32x4(advance(p.y, part, vectors * 16u)).v[c] = sum;
                if (c == 0u) ref_f32x2(p.stats).v[part] = vec2(top, sum_of_weights);
            }
        }
    }
}
