#version 460
// Softmax along lines: y = exp(x - max) / sum(exp(x - max)), LOG: y = x - max - log(sum(exp(x - max))).
// A line that is all -inf gives zeros (LOG: NaN); a line with NaN or +inf is NaN. x, y: common/lines.glsl.
// A line is read once, into registers, and each exponential is computed once. STAGE 0 does whole lines of up to LANES * HELD steps. Longer ones
// are done in parts: STAGE 1 leaves the maximum and the sum of each part of each line in `stats`; STAGE 2 joins them and writes y.
#include "common/types.glsl"
#include "common/math.glsl"
#include "common/lines.glsl"

layout(local_size_x = GROUP) in;
layout(constant_id = 10) const uint STAGE = 0u;
layout(constant_id = 11) const bool LOG = false;
layout(push_constant) uniform Push {
    uvec2 x, y, stats;
    LINES
} p;

#ifdef T_f64
#define LOWEST (-INF64)
#else
#define LOWEST (-INF)
#endif

X add(X a, X b) { return a + b; }
X larger(X a, X b) { return max(a, b); }
TEAM_AREA(area, X)
TEAM(join_sum, X, area, add)
TEAM(join_most, X, area, larger)

X held[MOST_HELD * EACH];
Span s;
// Of each line of the block: its maximum (0 where that is -inf, so that only NaN makes NaN), and the sum of exponentials.
X most[WIDTH], total[WIDTH];

uint step_of(uint k) { return s.begin + s.slice + k * LANES; }

void put(uint i, X v[EACH]) { store_step(step_address(resolve(p.y), s, i, p.stride), v); }

uvec2 stat_address(uint part, uint w) { return advance(resolve(p.stats), part * (p.blocks * WIDTH) + s.block * WIDTH + w, 2u * PART_BYTES); }

void keep_finite() {
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) most[w] = most[w] == LOWEST ? X(0) : most[w];
}

// Leaves exp(x - most) in held; LOG: x - most.
void measure() {
    uvec2 x = resolve(p.x);
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) {
        most[w] = LOWEST;
        total[w] = X(0);
    }
    [[unroll]] for (uint k = 0u; k < MOST_HELD; ++k) {
        if (k < HELD) {
            X v[EACH];
            [[unroll]] for (uint e = 0u; e < EACH; ++e) v[e] = LOWEST;
            if (step_of(k) < s.end) load_step(step_address(x, s, step_of(k), p.stride), v);
            [[unroll]] for (uint e = 0u; e < EACH; ++e) held[k * EACH + e] = v[e];
        }
    }
    [[unroll]] for (uint k = 0u; k < MOST_HELD; ++k) {
        if (k < HELD) {
            [[unroll]] for (uint e = 0u; e < EACH; ++e) most[LINE_OF(e)] = max(most[LINE_OF(e)], held[k * EACH + e]);
        }
    }
    join_most(most);
    keep_finite();
    [[unroll]] for (uint k = 0u; k < MOST_HELD; ++k) {
        if (k < HELD) {
            [[unroll]] for (uint e = 0u; e < EACH; ++e) {
                X d = held[k * EACH + e] - most[LINE_OF(e)], power = exp_below(d);
                held[k * EACH + e] = LOG ? d : power;
                total[LINE_OF(e)] += power;
            }
        }
    }
    join_sum(total);
}

void join_parts() {
    uint first = s.valid ? s.slice : p.parts;
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) {
        most[w] = LOWEST;
        total[w] = X(0);
    }
    for (uint part = first; part < p.parts; part += LANES) {
        [[unroll]] for (uint w = 0u; w < WIDTH; ++w) {
            uvec2 at = stat_address(part, w);
            // A part without any is left out.
            if (PART_load(at, 1u) != X(0)) most[w] = max(most[w], PART_load(at, 0u));
        }
    }
    join_most(most);
    keep_finite();
    for (uint part = first; part < p.parts; part += LANES) {
        [[unroll]] for (uint w = 0u; w < WIDTH; ++w) {
            uvec2 at = stat_address(part, w);
            X sum = PART_load(at, 1u);
            if (sum != X(0)) total[w] += sum * exp_below(PART_load(at, 0u) - most[w]);
        }
    }
    join_sum(total);
}

// Makes of the sum what exponentials are multiplied by, or what is subtracted.
void settle() {
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) total[w] = LOG ? m_log(total[w]) : total[w] == X(0) ? X(0) : X(1) / total[w];
}

X finished(X v, uint e) { return LOG ? v - total[LINE_OF(e)] : v * total[LINE_OF(e)]; }

void main() {
    s = span_of(p.blocks, p.inner, p.steps, p.parts, p.chunk);
    if (STAGE == 2u) {
        join_parts();
        settle();
        uvec2 x = resolve(p.x);
        for (uint i = step_of(0u); i < s.end; i += LANES) {
            X v[EACH];
            load_step(step_address(x, s, i, p.stride), v);
            [[unroll]] for (uint e = 0u; e < EACH; ++e) {
                X d = v[e] - most[LINE_OF(e)];
                v[e] = finished(LOG ? d : exp_below(d), e);
            }
            put(i, v);
        }
        return;
    }
    measure();
    if (STAGE == 1u) {
        if (s.slice == 0u && s.valid) {
            [[unroll]] for (uint w = 0u; w < WIDTH; ++w) {
                PART_store(stat_address(s.part, w), 0u, most[w]);
                PART_store(stat_address(s.part, w), 1u, total[w]);
            }
        }
        return;
    }
    settle();
    [[unroll]] for (uint k = 0u; k < MOST_HELD; ++k) {
        if (k < HELD && step_of(k) < s.end) {
            X v[EACH];
            [[unroll]] for (uint e = 0u; e < EACH; ++e) v[e] = finished(held[k * EACH + e], e);
            put(step_of(k), v);
        }
    }
}
