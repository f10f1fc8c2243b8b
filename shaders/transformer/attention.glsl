// What the attention kernels share: parameters, which keys a query sees, masks, loads of 16 bytes, the layout of partial results.
//
// q, y [batch, queries, heads, size], k, v [batch, keys, kv_heads, size] (HEADS_FIRST: heads before rows); query head h uses kv head
// h / sharing. A row of a kv head is one of its queries x sharing query vectors: row = head in the group * queries + query.
// table: strides in elements of the mask for batch, head, query and key, then the bytes of its element.
// With splits > 1 the keys are cut into parts; y is then f32 partial sums and `stats` their maxima and totals, for
// attention_combine.comp, else stats is not touched.
#include "common/types.glsl"
#include "common/math.glsl"
#include "common/run_state.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_f32x2 { vec2 v[]; };

layout(push_constant) uniform Push {
    uvec2 q, k, v, mask, kv_len, sinks, y, stats, state, table;
    uint queries, keys, kv_heads, sharing, size, value_size, splits, flags, window, node;
    float scale, cap;
} p;

#define CAUSAL ((p.flags & 1u) != 0u)
#define WINDOW ((p.flags & 2u) != 0u)
#define SINKS ((p.flags & 4u) != 0u)
#define HEADS_FIRST ((p.flags & 8u) != 0u)
// 0: none, 1: one for all, 2: one a batch entry.
#define KV_LEN ((p.flags >> 4) & 3u)
// 0 none, 1 bool (0 hides), 2 a number of type T (below 0.5 hides), 3 i32, 4 i64 (below 1 hides), 5 bias of type T.
#define MASK ((p.flags >> 6) & 7u)
// Rows of q and k, and those of v and y, are whole pieces of 16 bytes.
#define WHOLE_PIECES ((p.flags & 512u) != 0u)
#define WHOLE_VALUES ((p.flags & 1024u) != 0u)
// Batch entries x kv heads.
#define KV_GROUPS (p.flags >> 11)

// Elements in 16 bytes, and vectors of 4 they become.
#ifdef USE_f32
#define PIECE 4u
#else
#define PIECE 8u
#endif
#define PIECE4 (PIECE / 4u)

// The weight of a hidden key: -0 adds nothing to a sum, and can be told from a weight that became 0.
#define HIDDEN uintBitsToFloat(0x80000000u)
bool is_hidden(float w) { return floatBitsToUint(w) == 0x80000000u; }

// exp for weights: the driver's error, 3 + 2|x| units in the last place, is below 1e-6 of the largest weight for x <= 0.
float weight(float x) { return is_nan(x) ? x : exp(x); }

// The valid keys of a batch entry.
uint read_extent(uint batch) {
    if (KV_LEN == 0u) return p.keys;
    uint at = KV_LEN == 2u ? batch : 0u;
    int given = load_i32(resolve(p.kv_len), at);
    if (given < 0 || uint(given) > p.keys) report_index(p.state, p.node, at, widen(given), p.keys + 1u);
    return uint(clamp(given, 0, int(p.keys)));
}

// First key, and the key after the last, that some query in first..=last may see.
uvec2 key_span(uint extent, uint first, uint last) {
    int offset = int(extent) - int(p.queries);
    uint begin = WINDOW ? uint(max(offset + int(first) - int(p.window), 0)) : 0u;
    uint end = CAUSAL || WINDOW ? uint(clamp(offset + int(last) + 1, 0, int(extent))) : extent;
    return uvec2(begin, max(begin, end));
}

// The part of a span that split `split` works on: whole tiles of 64 keys.
uint split_length(uvec2 span) { return ((span.y - span.x + p.splits - 1u) / p.splits + 63u) & ~63u; }
uvec2 split_span(uvec2 span, uint split) {
    if (p.splits == 1u) return span;
    uint part = split_length(span), begin = min(span.x + split * part, span.y);
    return uvec2(begin, min(begin + part, span.y));
}

// Number of a vector (one head of one row) in a tensor of `rows` rows and `heads` heads.
uint vector_index(uint batch, uint head, uint row, uint heads, uint rows) {
    return HEADS_FIRST ? (batch * heads + head) * rows + row : (batch * rows + row) * heads + head;
}
uint key_step() { return HEADS_FIRST ? 1u : p.kv_heads; }

// The mask of one query: its address for key 0, and the elements from one key to the next.
struct MaskRow {
    uvec2 at;
    uint step;
};
MaskRow mask_row(uint batch, uint head, uint query) {
    MaskRow m = MaskRow(uvec2(0u), 0u);
    if (MASK != 0u) {
        ref_u32 t = ref_u32(p.table);
        uint bytes = t.v[4];
        m.at = advance(advance(advance(resolve(p.mask), batch * bytes, t.v[0]), head * bytes, t.v[1]), query * bytes, t.v[2]);
        m.step = t.v[3];
    }
    return m;
}

// The score of key j for a query at `position` (it may be negative): scaled, capped, biased; -inf if the key is hidden.
float finish_score(float dot_product, MaskRow m, int position, uint j) {
    if ((CAUSAL || WINDOW) && int(j) > position) return -INF;
    if (WINDOW && int(j) < position - int(p.window)) return -INF;
    float s = dot_product * p.scale;
    if (p.cap > 0.0) s = p.cap * m_tanh(s / p.cap);
    uint kind = MASK, at = j * m.step;
    if (kind == 0u) return s;
    if (kind == 5u) return s + T_load(m.at, at);
    bool seen;
    if (kind == 1u) {
        uint b = (m.at.x & 3u) + at;
        seen = ((ref_u32(uvec2(m.at.x & ~3u, m.at.y)).v[b >> 2] >> (8u * (b & 3u))) & 0xffu) != 0u;
    } else if (kind == 2u) {
        seen = !(T_load(m.at, at) < 0.5);
    } else if (kind == 3u) {
        seen = load_i32(m.at, at) > 0;
    } else {
        uvec2 v = ref_u32x2(m.at).v[at];
        seen = int(v.y) > 0 || (v.y == 0u && v.x > 0u);
    }
    return seen ? s : -INF;
}

// Piece `i` of a row of `count` elements; zeros after its end.
uvec4 load_piece(uvec2 row, uint i, uint count, bool whole) {
    if (whole) return ref_u32x4(row).v[i];
    uvec4 v = uvec4(0u);
    for (uint e = 0u; e < PIECE && i * PIECE + e < count; ++e) {
#ifdef USE_f32
        v[e] = load_u32(row, i * PIECE + e);
#else
        v[e / 2u] |= load_u16(row, i * PIECE + e) << (16u * (e % 2u));
#endif
    }
    return v;
}

// Elements 4h..4h+3 of a piece.
vec4 unpack_piece(uvec4 u, uint h) {
#if defined(USE_f32)
    return uintBitsToFloat(u);
#elif defined(USE_f16)
    return vec4(unpackHalf2x16(u[2u * h]), unpackHalf2x16(u[2u * h + 1u]));
#else
    return uintBitsToFloat(uvec4(u[2u * h] << 16, u[2u * h] & 0xffff0000u, u[2u * h + 1u] << 16, u[2u * h + 1u] & 0xffff0000u));
#endif
}

// Writes up to 4 elements of a row of `count`, from element 4i on.
void store4(uvec2 row, uint i, vec4 v, uint count) {
#ifdef USE_f32
    if (WHOLE_VALUES) {
        ref_f32x4(row).v[i] = v;
        return;
    }
#else
    if (WHOLE_VALUES) {
#ifdef USE_f16
        uvec4 h = uvec4(f32_to_f16(v.x), f32_to_f16(v.y), f32_to_f16(v.z), f32_to_f16(v.w));
#else
        uvec4 h = uvec4(f32_to_bf16(v.x), f32_to_bf16(v.y), f32_to_bf16(v.z), f32_to_bf16(v.w));
#endif
        ref_u32x2(row).v[i] = uvec2(h.x | h.y << 16, h.z | h.w << 16);
        return;
    }
#endif
    for (uint e = 0u; e < 4u && 4u * i + e < count; ++e) T_store(row, 4u * i + e, v[e]);
}

// What sums relative to maximum `most` with total `total` are multiplied by for the result: the sink is one more term of the total.
// Nothing seen gives 0.
float final_factor(float most, float total, uint head) {
    if (total == 0.0) return 0.0;
    if (!SINKS) return 1.0 / total;
    float sink = T_load(resolve(p.sinks), head), top = max(most, sink);
    float w = weight(most - top);
    return w / (total * w + weight(sink - top));
}

// Vectors of 4 in a row of partial sums.
uint part_pitch() { return (p.value_size + 3u) / 4u; }
