#version 460
// Draws a token (i64) from each row of logits [rows, len]: temperature, top_k, softmax, top_p, min_p, then the first kept index, in index order, whose
// cumulative probability is above u, element `row` of the uniform stream of this key. Ties of top_k and top_p go to the smaller index.
// temperature 0 is the first largest. NaN is never chosen; a row with nothing above -inf gives 0. One workgroup a row.
// Both limits are found by bisection over the ordered bits of the logits: what lies above the threshold is kept, and the first few equal to it.
#include "common/types.glsl"
#include "common/math.glsl"
#include "common/run_state.glsl"
#include "common/philox.glsl"
#include "common/reduce.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 x, y, state;
    uint rows, len, top_k, key;
    float temperature, top_p, min_p;
} p;

uvec2 x;
float most;

float logit(uint i) {
    float v = float(T_load(x, i));
    return is_nan(v) ? -INF : v;
}
// Unsigned numbers in the order of the floats.
uint ordered(float v) {
    uint b = floatBitsToUint(v == 0.0 ? 0.0 : v);
    return (b & 0x80000000u) != 0u ? ~b : b | 0x80000000u;
}
float mass(float v) { return v == most ? 1.0 : v == -INF ? 0.0 : m_exp((v - most) / p.temperature); }

uint count_from(uint threshold) {
    uint n = 0u;
    for (uint i = gl_LocalInvocationID.x; i < p.len; i += 256u) n += ordered(logit(i)) >= threshold ? 1u : 0u;
    return group_sum(n);
}
float mass_from(uint threshold) {
    float n = 0.0;
    for (uint i = gl_LocalInvocationID.x; i < p.len; i += 256u) {
        float v = logit(i);
        if (ordered(v) >= threshold) n += mass(v);
    }
    return group_sum(n);
}

shared uint equals[256];
shared float masses[256];

void main() {
    uint row = group_index(), lane = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    x = advance(resolve(p.x), row, p.len * T_BYTES);
    most = -INF;
    for (uint i = lane; i < p.len; i += 256u) most = max(most, logit(i));
    most = group_max(most);
    uvec2 y = resolve(p.y);
    if (most == -INF) {
        if (lane == 0u) ref_u32x2(y).v[row] = uvec2(0u);
        return;
    }
    const uint nothing = ordered(-INF);
    // The smallest threshold that keeps no more than it must, and how many equal to it are kept.
    uint threshold = nothing + 1u, keep = 0xffffffffu;
    if (p.temperature == 0.0) {
        threshold = ordered(most);
        keep = 1u;
    } else if (p.top_k > 0u && p.top_k < p.len) {
        uint low = nothing + 1u, high = ordered(most);
        while (low < high) { // the largest threshold with at least top_k from it on, if there is one
            uint middle = low + (high - low + 1u) / 2u;
            if (count_from(middle) >= p.top_k) low = middle;
            else high = middle - 1u;
        }
        threshold = low;
        uint above = count_from(threshold + 1u);
        keep = above >= p.top_k ? 0u : p.top_k - above;
    }
    if (p.temperature != 0.0 && p.top_p < 1.0) {
        float above = mass_from(threshold + 1u), all = mass_from(threshold);
        float equal_mass = 0.0;
        uint equal_count = count_from(threshold) - count_from(threshold + 1u);
        if (equal_count > 0u) equal_mass = (all - above) / float(equal_count);
        float total = above + equal_mass * float(min(keep, equal_count)), wanted = p.top_p * total;
        uint low = threshold, high = ordered(most);
        while (low < high) { // the largest threshold whose mass still reaches what is wanted
            uint middle = low + (high - low + 1u) / 2u;
            if (mass_from(middle) >= wanted) low = middle;
            else high = middle - 1u;
        }
        float over = mass_from(low + 1u);
        uint same = count_from(low) - count_from(low + 1u);
        float each = same > 0u ? (mass_from(low) - over) / float(same) : 1.0;
        uint need = uint(clamp(ceil((wanted - over) / max(each, 1e-30)), 1.0, 4.0e9));
        keep = low == threshold ? min(keep, need) : need;
        threshold = low;
    }
    float least = p.min_p; // the largest mass is 1
    uint block = row / 4u;
    ref_run_state s = ref_run_state(p.state);
    float u = unit_of(philox(uvec4(block, p.key, s.run, 0u), s.seed)[row % 4u]);
    // First the mass of all that is kept, then the draw: two walks in index order.
    float total = 0.0;
    for (uint walk = 0u; walk < 2u; ++walk) {
        uint seen = 0u;
        float sum = 0.0;
        for (uint tile = 0u; tile < p.len; tile += 256u) {
            uint i = tile + lane;
            float v = i < p.len ? logit(i) : -INF;
            uint at = ordered(v);
            bool same = i < p.len && v != -INF && at == threshold;
            barrier();
            equals[lane] = same ? 1u : 0u;
            barrier();
            for (uint step = 1u; step < 256u; step <<= 1) {
                uint before = lane >= step ? equals[lane - step] : 0u;
                barrier();
                equals[lane] += before;
                barrier();
            }
            float w = p.temperature == 0.0 ? (v == most ? 1.0 : 0.0) : mass(v);
            bool kept = i < p.len && v != -INF && w >= least && (at > threshold || (same && seen + equals[lane] <= keep));
            masses[lane] = kept ? w : 0.0;
            seen += equals[255];
            barrier();
            for (uint step = 1u; step < 256u; step <<= 1) {
                float before = lane >= step ? masses[lane - step] : 0.0;
                barrier();
                masses[lane] += before;
                barrier();
            }
            if (walk == 1u) {
                uint hit = kept && sum + masses[lane] > u * total ? i : 0xffffffffu;
                // The smallest hit of the tile.
                uint chosen = ~group_max(~hit);
                if (chosen != 0xffffffffu) {
                    if (lane == 0u) ref_u32x2(y).v[row] = uvec2(chosen, 0u);
                    return;
                }
                // Where rounding leaves no hit at all, the last kept one is drawn.
                uint tail = group_max(kept ? i + 1u : 0u);
                if (lane == 0u && tail > 0u) ref_u32x2(y).v[row] = uvec2(tail - 1u, 0u);
            }
            sum += masses[255];
        }
        total = sum;
    }
}
