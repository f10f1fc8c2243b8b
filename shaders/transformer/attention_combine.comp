#version 460
// Puts the parts of an attention over splits of the keys together: the softmax over all of them, with the sink as one more term.
// q: parts [batch, heads, queries, splits, value_size in vectors of 4], stats [.., splits] (maximum, total), as attention.glsl says. Only the
// splits that hold keys are read. One workgroup a query vector. Limits: 1024 splits.
#include "transformer/attention.glsl"
#include "common/reduce.glsl"

layout(local_size_x = 128) in;

shared float factors[1024];
shared vec4 partial[128];

void main() {
    uint t = gl_LocalInvocationIndex, row = group_index(), heads = p.kv_heads * p.sharing;
    uint query = row % p.queries, head = row / p.queries % heads, batch = row / p.queries / heads;
    if (batch * p.kv_heads >= KV_GROUPS) return;
    uvec2 span = key_span(read_extent(batch), 0u, p.queries - 1u);
    uint part = split_length(span), splits = part == 0u ? 0u : (span.y - span.x + part - 1u) / part;

    float top = -INF;
    for (uint s = t; s < splits; s += 128u) {
        float m = ref_f32x2(p.stats).v[row * p.splits + s].x;
        if (!is_nan(m)) top = max(top, m);
    }
    top = group_max(top);
    float total = 0.0;
    for (uint s = t; s < splits; s += 128u) {
        vec2 stat = ref_f32x2(p.stats).v[row * p.splits + s];
        float w = is_nan(stat.y) ? NAN : stat.x == -INF ? 0.0 : weight(stat.x - top);
        factors[s] = w;
        if (w != 0.0) total += stat.y * w;
    }
    total = group_sum(total);
    float factor = final_factor(top, total, head);

    uint vectors = part_pitch(), members = 128u / vectors, c = t % vectors, member = t / vectors;
    uvec2 parts = advance(p.q, row, p.splits * vectors * 16u);
    vec4 sum = vec4(0.0);
    if (member < members) {
        for (uint s = member; s < splits; s += members) {
            float w = factors[s];
            if (w != 0.0) sum += w * ref_f32x4(parts).v[s * vectors + c];
        }
    }
    partial[t] = sum;
    barrier();
    if (t < vectors) {
        for (uint g = 1u; g < members; ++g) sum += partial[g * vectors + t];
        uvec2 y = advance(resolve(p.y), vector_index(batch, head, query, heads, p.queries), p.value_size * T_BYTES);
        store4(y, t, sum * factor, p.value_size);
    }
}
