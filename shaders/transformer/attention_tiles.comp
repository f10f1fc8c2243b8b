#version 460
// Attention of many queries: y = softmax(mask(cap(q k^T scale))) v in f32, with an online softmax over tiles of 64 keys.
// A workgroup works on 64 rows of one kv head, on COLUMNS columns of the values, and on one split of the keys. An invocation holds the scores of
// 8 rows x 4 keys (rows y + 8i, keys x + 16j of its place x, y) and the sums of 8 rows x COLUMNS/16 columns. Slices of 16 elements of queries
// and keys, then of the values, go through shared memory as f32. Limits: at most 32 KiB of shared memory.
// Workgroups: column blocks x splits x kv heads x batch x row tiles, the last tiles, which see most keys, first.
#include "transformer/attention.glsl"
#include "common/subgroup.glsl"

#ifdef WIDTH_wide
#define COLUMNS 128u
#else
#define COLUMNS 64u
#endif
// WIDTH rolled is narrow in little code, for drivers that compile to the CPU.
#ifdef WIDTH_rolled
#define UNROLL [[dont_unroll]]
#else
#define UNROLL [[unroll]]
#endif
// Vectors of 4 columns an invocation sums, and keys whose values are in shared memory at a time.
#define OWN4 (COLUMNS / 64u)
#define VALUE_KEYS (2048u / COLUMNS)
// Pieces of 16 bytes in a row of a slice of 16 elements, and those an invocation fetches of 64 rows.
#define SLICE_PIECES (16u / PIECE)
#define FETCH (SLICE_PIECES / 2u)

layout(local_size_x = 128) in;

// Vectors of 4 in a line of a slice: odd, so that 8 lines lie in different banks.
#define LINE 5u
// Floats in a line of weights.
#define WEIGHT_LINE4 17u

shared vec4 slices[2u * 64u * LINE];
shared vec4 scores[64u * WEIGHT_LINE4];
shared float row_factor[64];
// 1 if the values of this tile hold NaN or infinity, which a hidden key's weight of 0 would spread.
shared uint wild;

struct Row {
    uint head, query;
};

Row row_of(uint kv_head, uint row) { return Row(kv_head * p.sharing + row / p.queries, row % p.queries); }

uvec4 fetched_q[FETCH], fetched_k[FETCH];

void fetch(uvec2 q_at[FETCH], uvec2 k_at[FETCH], bool q_in[FETCH], bool k_in[FETCH], uint slice) {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        uint piece = slice * SLICE_PIECES + (gl_LocalInvocationIndex + 128u * f) % SLICE_PIECES;
        bool inside = piece * PIECE < p.size;
        fetched_q[f] = inside && q_in[f] ? load_piece(q_at[f], piece, p.size, WHOLE_PIECES) : uvec4(0u);
        fetched_k[f] = inside && k_in[f] ? load_piece(k_at[f], piece, p.size, WHOLE_PIECES) : uvec4(0u);
    }
}

void keep() {
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        uint i = gl_LocalInvocationIndex + 128u * f, at = i / SLICE_PIECES * LINE + i % SLICE_PIECES * PIECE4;
        [[unroll]] for (uint h = 0u; h < PIECE4; ++h) {
            slices[at + h] = unpack_piece(fetched_q[f], h);
            slices[64u * LINE + at + h] = unpack_piece(fetched_k[f], h);
        }
    }
}

void main() {
    uint t = gl_LocalInvocationIndex, x = t % 16u, y = t / 16u, rows = p.queries * p.sharing, heads = p.kv_heads * p.sharing;
    uint blocks = (p.value_size + COLUMNS - 1u) / COLUMNS, tiles = (rows + 63u) / 64u, group = group_index();
    uint block = group % blocks, rest = group / blocks, split = rest % p.splits;
    rest /= p.splits;
    uint kv_group = rest % KV_GROUPS, tile = rest / KV_GROUPS;
    if (tile >= tiles) return;
    tile = tiles - 1u - tile;
    uint kv_head = kv_group % p.kv_heads, batch = kv_group / p.kv_heads, row0 = tile * 64u, extent = read_extent(batch);
    uint last = min(row0 + 63u, rows - 1u);
    bool one_head = row0 / p.queries == last / p.queries && p.splits == 1u;
    uvec2 span = key_span(extent, one_head ? row0 % p.queries : 0u, one_head ? last % p.queries : p.queries - 1u);
    span = split_span(span, split);
    if (span.x >= span.y && p.splits > 1u) return;

    uint key_bytes = p.size * T_BYTES, value_bytes = p.value_size * T_BYTES, step = key_step();
    uint first = vector_index(batch, kv_head, 0u, p.kv_heads, p.keys);
    uvec2 q = resolve(p.q), k = resolve(p.k), v = resolve(p.v);
    uvec2 q_at[FETCH], k_at[FETCH];
    bool q_in[FETCH], k_in[FETCH];
    [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
        uint line = (t + 128u * f) / SLICE_PIECES;
        Row r = row_of(kv_head, min(row0 + line, rows - 1u));
        q_in[f] = row0 + line < rows;
        q_at[f] = advance(q, vector_index(batch, r.head, r.query, heads, p.queries), key_bytes);
    }
    // The softmax of row t/2 is done by invocations 2r and 2r + 1, each for half of the keys.
    uint own_row = t / 2u, half_of = t % 2u;
    Row own = row_of(kv_head, min(row0 + own_row, rows - 1u));
    MaskRow mask = mask_row(batch, own.head, own.query);
    int position = int(extent) - int(p.queries) + int(own.query);
    float most = -INF, total = 0.0;
    vec4 sums[8u * OWN4];
    [[unroll]] for (uint i = 0u; i < 8u * OWN4; ++i) sums[i] = vec4(0.0);
    uint slice_count = (p.size + 15u) / 16u;

    for (uint start = span.x; start < span.y; start += 64u) {
        uint count = min(span.y - start, 64u);
        [[unroll]] for (uint f = 0u; f < FETCH; ++f) {
            uint line = (t + 128u * f) / SLICE_PIECES;
            k_in[f] = line < count;
            k_at[f] = advance(k, first + (start + min(line, count - 1u)) * step, key_bytes);
        }
        float s[32];
        [[unroll]] for (uint i = 0u; i < 32u; ++i) s[i] = 0.0;
        fetch(q_at, k_at, q_in, k_in, 0u);
        for (uint slice = 0u; slice < slice_count; ++slice) {
            barrier();
            keep();
            if (t == 0u) wild = 0u;
            barrier();
            if (slice + 1u < slice_count) fetch(q_at, k_at, q_in, k_in, slice + 1u);
            [[dont_unroll]] for (uint d = 0u; d < 4u; ++d) {
                vec4 b[4];
                [[unroll]] for (uint j = 0u; j < 4u; ++j) b[j] = slices[(64u + x + 16u * j) * LINE + d];
                UNROLL for (uint i = 0u; i < 8u; ++i) {
                    vec4 a = slices[(y + 8u * i) * LINE + d];
                    [[unroll]] for (uint j = 0u; j < 4u; ++j) s[4u * i + j] += dot(a, b[j]);
                }
            }
        }
        UNROLL for (uint i = 0u; i < 8u; ++i) {
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                uint column = x + 16u * j;
                scores[(y + 8u * i) * WEIGHT_LINE4 + column / 4u][column % 4u] = s[4u * i + j];
            }
        }
        barrier();

        // Scores become weights.
        float top = most;
        [[dont_unroll]] for (uint c = half_of; c < 16u; c += 2u) {
            vec4 line = scores[own_row * WEIGHT_LINE4 + c];
            [[unroll]] for (uint e = 0u; e < 4u; ++e) {
                line[e] = 4u * c + e < count ? finish_score(line[e], mask, position, start + 4u * c + e) : -INF;
                if (!is_nan(line[e])) top = max(top, line[e]);
            }
            scores[own_row * WEIGHT_LINE4 + c] = line;
        }
        top = max(top, subgroupShuffleXor(top, 1u));
        float fade = most == top ? 1.0 : weight(most - top);
        most = top;
        total *= fade;
        [[dont_unroll]] for (uint c = half_of; c < 16u; c += 2u) {
            vec4 line = scores[own_row * WEIGHT_LINE4 + c];
            [[unroll]] for (uint e = 0u; e < 4u; ++e) {
                line[e] = line[e] == -INF ? HIDDEN : weight(line[e] - top);
                total += line[e];
            }
            scores[own_row * WEIGHT_LINE4 + c] = line;
        }
        if (half_of == 0u) row_factor[own_row] = fade;
        barrier();
        UNROLL for (uint i = 0u; i < 8u; ++i) {
            float f = row_factor[y + 8u * i];
            [[unroll]] for (uint c = 0u; c < OWN4; ++c) sums[i * OWN4 + c] *= f;
        }

        // Weights times values.
        for (uint key0 = 0u; key0 < count; key0 += VALUE_KEYS) {
            barrier();
            for (uint i = t; i < VALUE_KEYS * COLUMNS / PIECE; i += 128u) {
                uint line = i / (COLUMNS / PIECE), piece = i % (COLUMNS / PIECE), at = block * (COLUMNS / PIECE) + piece;
                uvec4 u = uvec4(0u);
                if (key0 + line < count && at * PIECE < p.value_size) {
                    u = load_piece(advance(v, first + (start + key0 + line) * step, value_bytes), at, p.value_size, WHOLE_VALUES);
                }
                [[unroll]] for (uint h = 0u; h < PIECE4; ++h) {
                    vec4 f = unpack_piece(u, h);
                    if (any(equal(floatBitsToUint(f) & 0x7f800000u, uvec4(0x7f800000u)))) wild = 1u;
                    slices[line * (COLUMNS / 4u) + piece * PIECE4 + h] = f;
                }
            }
            barrier();
            if (wild == 0u) {
                [[dont_unroll]] for (uint key = 0u; key < VALUE_KEYS; key += 4u) {
                    vec4 w[8];
                    UNROLL for (uint i = 0u; i < 8u; ++i) w[i] = scores[(y + 8u * i) * WEIGHT_LINE4 + (key0 + key) / 4u];
                    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
                        [[unroll]] for (uint c = 0u; c < OWN4; ++c) {
                            vec4 value = slices[(key + e) * (COLUMNS / 4u) + x + 16u * c];
                            UNROLL for (uint i = 0u; i < 8u; ++i) sums[i * OWN4 + c] += w[i][e] * value;
                        }
                    }
                }
            } else {
                [[dont_unroll]] for (uint key = 0u; key < min(VALUE_KEYS, count - key0); ++key) {
                    UNROLL for (uint i = 0u; i < 8u; ++i) {
                        float w = scores[(y + 8u * i) * WEIGHT_LINE4 + (key0 + key) / 4u][key % 4u];
                        [[unroll]] for (uint c = 0u; c < OWN4; ++c) {
                            if (!is_hidden(w)) sums[i * OWN4 + c] += w * slices[key * (COLUMNS / 4u) + x + 16u * c];
                        }
                    }
                }
            }
        }
    }

    total += subgroupShuffleXor(total, 1u);
    bool writes = half_of == 0u && row0 + own_row < rows;
    uint part = ((batch * heads + own.head) * p.queries + own.query) * p.splits + split;
    if (writes && p.splits > 1u && block == 0u) ref_f32x2(p.stats).v[part] = vec2(most, total);
    barrier();
    if (half_of == 0u) row_factor[own_row] = p.splits == 1u ? final_factor(most, total, own.head) : 1.0;
    barrier();
    UNROLL for (uint i = 0u; i < 8u; ++i) {
        uint row = row0 + y + 8u * i;
        if (row >= rows) break;
        Row r = row_of(kv_head, row);
        [[unroll]] for (uint c = 0u; c < OWN4; ++c) {
            uint column = block * (COLUMNS / 4u) + x + 16u * c;
            vec4 sum = sums[i * OWN4 + c] * row_factor[y + 8u * i];
            if (4u * column >= p.value_size) continue;
            if (p.splits == 1u) {
                store4(advance(resolve(p.y), vector_index(batch, r.head, r.query, heads, p.queries), value_bytes), column, sum, p.value_size);
            } else {
                uint to = ((batch * heads + r.head) * p.queries + r.query) * p.splits + split;
                ref_f32x4(advance(p.y, to, part_pitch() * 16u)).v[column] = sum;
            }
        }
    }
}
