#version 460
// Cumulative sums along lines: y[i] = sum of x[..i] (EXCLUSIVE: without x[i]; REVERSE: from the end). x, y: common/lines.glsl.
// Along, the invocations of a line scan LANES steps at a time; across, an invocation goes through its lines alone (LANES is 1). With several
// parts `sums` has the sum of each part of each line (reduce.comp); what comes before a part is added up from them.
#include "common/types.glsl"
#include "common/lines.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 10) const bool EXCLUSIVE = false;
layout(constant_id = 11) const bool REVERSE = false;
layout(push_constant) uniform Push {
    uvec2 x, sums, y;
    LINES
} p;

// Steps that are loaded together.
const uint AHEAD = !ACROSS ? 1u : EACH > 8u ? 1u : EACH > 4u ? 2u : 4u;

X add(X a, X b) { return a + b; }
TEAM_AREA(area, X)
TEAM(join_sum, X, area, add)
shared X totals[GROUP];

// The sum of v over the line's invocations before this one, and over all of them. All of the workgroup must call.
X sum_before(X v, out X all) {
    uint lanes = min(LANES, gl_SubgroupSize), lane = gl_SubgroupInvocationID % lanes, first = gl_SubgroupInvocationID - lane;
    X through = v;
    for (uint reach = 1u; reach < lanes; reach <<= 1) {
        X other = shuffle(through, first + (lane >= reach ? lane - reach : 0u));
        if (lane >= reach) through += other;
    }
    X before = shuffle(through, first + (lane > 0u ? lane - 1u : 0u));
    if (lane == 0u) before = X(0);
    all = shuffle(through, first + lanes - 1u);
    if (LANES > gl_SubgroupSize) {
        barrier();
        if (subgroupElect()) totals[gl_SubgroupID] = all;
        barrier();
        uint each = LANES / gl_SubgroupSize, from = gl_SubgroupID / each * each;
        X earlier = X(0);
        all = X(0);
        for (uint k = 0u; k < each; ++k) {
            if (from + k == gl_SubgroupID) earlier = all;
            all += totals[from + k];
        }
        before += earlier;
    }
    return before;
}

// The steps of v in their order, summed up; total is their sum.
void scan_step(inout X v[EACH], out X total) {
    total = X(0);
    [[unroll]] for (uint n = 0u; n < EACH; ++n) {
        X own = REVERSE ? v[EACH - 1u - n] : v[n], here = EXCLUSIVE ? total : total + own;
        total += own;
        if (REVERSE) v[EACH - 1u - n] = here;
        else v[n] = here;
    }
}

void main() {
    Span s = span_of(p.blocks, p.inner, p.steps, p.parts, p.chunk);
    uvec2 x = resolve(p.x), y = resolve(p.y), sums = resolve(p.sums);
    X carry[WIDTH];
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) carry[w] = X(0);
    if (p.parts > 1u) {
        uint first = REVERSE ? s.part + 1u : 0u, last = s.valid ? (REVERSE ? p.parts : s.part) : 0u;
        for (uint part = first + s.slice; part < last; part += LANES) {
            uint line = part * (p.blocks * WIDTH) + s.block * WIDTH;
            [[unroll]] for (uint w = 0u; w < WIDTH; ++w) carry[w] += PART_load(advance(sums, line + w, PART_BYTES), 0u);
        }
        join_sum(carry);
    }
    // The same for all of the workgroup.
    uint count = min(p.chunk, p.steps - min(s.part * p.chunk, p.steps));
    for (uint start = 0u; start < count; start += AHEAD * LANES) {
        X ahead[AHEAD * EACH];
        [[unroll]] for (uint k = 0u; k < AHEAD; ++k) {
            uint n = start + k * LANES + s.slice;
            X v[EACH];
            [[unroll]] for (uint e = 0u; e < EACH; ++e) v[e] = X(0);
            if (s.valid && n < count) load_step(step_address(x, s, REVERSE ? s.end - 1u - n : s.begin + n, p.stride), v);
            [[unroll]] for (uint e = 0u; e < EACH; ++e) ahead[k * EACH + e] = v[e];
        }
        [[unroll]] for (uint k = 0u; k < AHEAD; ++k) {
            uint n = start + k * LANES + s.slice;
            X v[EACH];
            [[unroll]] for (uint e = 0u; e < EACH; ++e) v[e] = ahead[k * EACH + e];
            if (ACROSS) {
                [[unroll]] for (uint e = 0u; e < EACH; ++e) {
                    X before = carry[LINE_OF(e)];
                    carry[LINE_OF(e)] += v[e];
                    v[e] = EXCLUSIVE ? before : carry[LINE_OF(e)];
                }
            } else {
                X total, all;
                scan_step(v, total);
                X before = carry[0] + sum_before(total, all);
                [[unroll]] for (uint e = 0u; e < EACH; ++e) v[e] += before;
                carry[0] += all;
            }
            if (s.valid && n < count) store_step(step_address(y, s, REVERSE ? s.end - 1u - n : s.begin + n, p.stride), v);
        }
    }
}
