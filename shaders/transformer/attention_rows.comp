#version 460
// Attention of one query row a workgroup: y = softmax(mask(cap(q k^T scale))) v with an online softmax over tiles of 128 keys. Keys at or after the
// row's end (kv_len, the causal limit, the window) are not read. A query that sees no key gives zeros.
// MASK: 0 none, 1 bool (0 hides), 2 number of type T (< 0.5 hides), 3 i32 number, 4 i64 number, 5 bias of type T added to the scores.
// table, in words: strides in elements of q (batch, head, row), k, v, y, and mask (batch, head, row, key): 3 + 3 + 3 + 3 + 4.
// Limits: head sizes up to 512; an offset inside one batch entry below 2^31 elements.
#include "common/types.glsl"
#include "common/math.glsl"
#include "common/reduce.glsl"
#include "common/run_state.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const uint MASK = 0u;
layout(constant_id = 1) const bool CAUSAL = false;
layout(constant_id = 2) const bool WINDOW = false;
layout(constant_id = 3) const bool KV_LEN = false;
layout(constant_id = 4) const bool SINKS = false;
layout(constant_id = 5) const bool CAPPED = false;
layout(push_constant) uniform Push {
    uvec2 q, k, v, mask, kv_len, sinks, y, state, table;
    uint groups, queries, keys, heads, sharing, size, value_size;
    float scale, cap;
    uint window, kv_len_per_batch, node;
} p;

#define X T_compute
const uint TILE = 128u;

shared X query[512];
shared X weight[TILE];

uint word(uint i) { return ref_u32(p.table).v[i]; }

void main() {
    uint group = group_index(), lane = gl_LocalInvocationID.x;
    if (group >= p.groups) return;
    uint row = group % p.queries, rest = group / p.queries, head = rest % p.heads, batch = rest / p.heads, kv_head = head / p.sharing;

    uint extent = p.keys;
    if (KV_LEN) {
        int given = load_i32(resolve(p.kv_len), p.kv_len_per_batch != 0u ? batch : 0u);
        if (given < 0 || uint(given) > p.keys) report_index(p.state, p.node, p.kv_len_per_batch != 0u ? batch : 0u, widen(given), p.keys + 1u);
        extent = uint(clamp(given, 0, int(p.keys)));
    }
    int position = int(extent) - int(p.queries) + int(row);
    uint begin = 0u, end = extent;
    if (CAUSAL || WINDOW) end = uint(clamp(position + 1, 0, int(extent)));
    if (WINDOW) begin = uint(max(position - int(p.window), 0));

    uvec2 q = advance(resolve(p.q), batch, word(0) * T_BYTES), k = advance(resolve(p.k), batch, word(3) * T_BYTES);
    uvec2 v = advance(resolve(p.v), batch, word(6) * T_BYTES), y = advance(resolve(p.y), batch, word(9) * T_BYTES);
    uint q_at = head * word(1) + row * word(2), k_at = kv_head * word(4), v_at = kv_head * word(7), y_at = head * word(10) + row * word(11);
    uint mask_at = batch * word(12) + head * word(13) + row * word(14), k_row = word(5), v_row = word(8), mask_key = word(15);
    uvec2 mask = resolve(p.mask);
    for (uint d = lane; d < p.size; d += 128u) query[d] = T_load(q, q_at + d) * X(p.scale);
    barrier();

    X most = SINKS ? T_load(resolve(p.sinks), head) : X(-INF), total = SINKS ? X(1) : X(0);
    bool poisoned = false;
    X sum[4] = X[4](X(0), X(0), X(0), X(0));
    for (uint start = begin; start < end; start += TILE) {
        uint j = start + lane;
        X s = X(-INF);
        bool seen = j < end;
        if (seen && MASK >= 1u && MASK <= 4u) {
            uint at = mask_at + j * mask_key;
            if (MASK == 1u) seen = ((ref_u32(uvec2(mask.x & ~3u, mask.y)).v[((mask.x & 3u) + at) >> 2] >> (8u * (((mask.x & 3u) + at) & 3u))) & 0xffu) != 0u;
            else if (MASK == 2u) seen = !(T_load(mask, at) < X(0.5));
            else if (MASK == 3u) seen = load_i32(mask, at) > 0;
            else seen = int(ref_u32x2(mask).v[at].y) > 0 || (ref_u32x2(mask).v[at].y == 0u && ref_u32x2(mask).v[at].x > 0u);
        }
        if (seen) {
            s = X(0);
            uint at = k_at + j * k_row;
            for (uint d = 0u; d < p.size; ++d) s += query[d] * T_load(k, at + d);
            if (CAPPED) s = X(p.cap) * m_tanh(s / X(p.cap));
            if (MASK == 5u) s += T_load(mask, mask_at + j * mask_key);
        }
        poisoned = poisoned || is_nan(s);
        X tile_most = max(most, group_max(is_nan(s) ? X(-INF) : s));
        X w = s == X(-INF) ? X(0) : m_exp(s - tile_most);
        X fade = most == tile_most ? X(1) : most == X(-INF) ? X(0) : m_exp(most - tile_most);
        most = tile_most;
        weight[lane] = w;
        total = total * fade + group_sum(w);
        barrier();
        uint tile_keys = min(TILE, end - start);
        [[unroll]] for (uint c = 0u; c < 4u; ++c) {
            uint d = lane + c * 128u;
            if (d < p.value_size) {
                X a = sum[c] * fade;
                for (uint t = 0u; t < tile_keys; ++t) {
                    // A hidden key's value may be anything: 0 times NaN is not 0.
                    if (weight[t] != X(0)) a += weight[t] * T_load(v, v_at + (start + t) * v_row + d);
                }
                sum[c] = a;
            }
        }
        barrier();
    }
    bool bad = group_any(poisoned);
    [[unroll]] for (uint c = 0u; c < 4u; ++c) {
        uint d = lane + c * 128u;
        if (d < p.value_size) T_store(y, y_at + d, bad ? X(NAN) : total == X(0) ? X(0) : sum[c] / total);
    }
}
