#version 460
// Reductions of lines. KIND: 0 Sum, 1 Mean, 2 Max, 3 Min, 4 Prod, 5 SumSquare, 6 L1, 7 L2, 8 LogSum, 9 LogSumExp. x, and y with an element a line:
// common/lines.glsl. Several axes, and long lines in parts, take several stages. FIRST: x is of type T, else it is what an earlier stage left,
// of the type that is computed with. LAST: y is of type T and of one part, else it has the joined elements, part after part, each of all lines.
// count: elements of x that one element of the last y is made of. The order of additions is fixed.
#include "common/types.glsl"
#include "common/math.glsl"

layout(constant_id = 10) const uint KIND = 0u;
layout(constant_id = 11) const bool FIRST = true;
layout(constant_id = 12) const bool LAST = true;
#define LINE_BYTES (FIRST ? T_BYTES : PART_BYTES)
#include "common/lines.glsl"

layout(local_size_x = GROUP) in;
layout(push_constant) uniform Push {
    uvec2 x, y;
    LINES
    float count;
} p;

#if defined(T_f64)
#define LOWEST (-INF64)
#define HIGHEST INF64
#elif defined(IS_FLOAT)
#define LOWEST (-INF)
#define HIGHEST INF
#elif defined(T_i8) || defined(T_i16) || defined(T_i32) || defined(T_i64)
#define IS_SIGNED
#define LOWEST (X(-1) << int(T_BYTES * 8u - 1u))
#define HIGHEST (~LOWEST)
#else
#define LOWEST X(0)
#define HIGHEST (T_BYTES >= 4u ? ~X(0) : (X(1) << int(T_BYTES * 8u & 31u)) - X(1))
#endif

X start() { return KIND == 2u ? X(LOWEST) : KIND == 3u ? X(HIGHEST) : KIND == 4u ? X(1) : X(0); }

X join(X a, X b) {
    if (KIND == 2u || KIND == 3u) {
#ifdef IS_FLOAT
        if (is_nan(a)) return a;
        if (is_nan(b)) return b;
#endif
        return KIND == 2u ? (a > b ? a : b) : (a < b ? a : b);
    }
    return KIND == 4u ? a * b : a + b;
}

X transformed(X v) {
    if (!FIRST) return v;
    if (KIND == 5u || KIND == 7u) return v * v;
#if defined(IS_FLOAT) || defined(IS_SIGNED)
    if (KIND == 6u) return v < X(0) ? -v : v;
#endif
    return v;
}

X finished(X v) {
#ifdef IS_FLOAT
    if (!LAST) return v;
    if (KIND == 1u) return v / X(p.count);
    if (KIND == 7u) return sqrt(v);
    if (KIND == 8u) return m_log(v);
#endif
    return v;
}

TEAM_AREA(area, X)
TEAM(join_all, X, area, join)

Span s;
uvec2 x;

void fetch(uint i, out X v[EACH]) {
    uvec2 at = step_address(x, s, i, p.stride);
#ifdef PIECES // FIRST, or both types are one
    load_step(at, v);
#else
    v[0] = FIRST ? T_load(at, 0u) : PART_load(at, 0u);
#endif
}

// Loads of an invocation that are on their way together.
const uint AHEAD = EACH > 8u ? 1u : EACH > 4u ? 2u : 4u;

// Runs `body` for each element v of this invocation, e being its number in the step.
#define EVERY(body)                                                                                                              \
    {                                                                                                                            \
        uint i = s.begin + s.slice;                                                                                              \
        for (; i + (AHEAD - 1u) * LANES < s.end; i += AHEAD * LANES) {                                                           \
            X ahead[AHEAD * EACH], step[EACH];                                                                                   \
            [[unroll]] for (uint k = 0u; k < AHEAD; ++k) {                                                                       \
                fetch(i + k * LANES, step);                                                                                      \
                [[unroll]] for (uint e = 0u; e < EACH; ++e) ahead[k * EACH + e] = step[e];                                       \
            }                                                                                                                    \
            [[unroll]] for (uint k = 0u; k < AHEAD; ++k) {                                                                       \
                [[unroll]] for (uint e = 0u; e < EACH; ++e) {                                                                    \
                    X v = ahead[k * EACH + e];                                                                                   \
                    body                                                                                                         \
                }                                                                                                                \
            }                                                                                                                    \
        }                                                                                                                        \
        for (; i < s.end; i += LANES) {                                                                                          \
            X step[EACH];                                                                                                        \
            fetch(i, step);                                                                                                      \
            [[unroll]] for (uint e = 0u; e < EACH; ++e) {                                                                        \
                X v = step[e];                                                                                                   \
                body                                                                                                             \
            }                                                                                                                    \
        }                                                                                                                        \
    }

#ifdef IS_FLOAT
// Sums of exponentials as pairs: y * exp(x).
X2 join_powers(X2 a, X2 b) {
    bool first = a.x > b.x;
    X2 more = first ? a : b, less = first ? b : a;
    // Of equal ones, infinities too, no difference is taken.
    return X2(more.x, more.y + less.y * (a.x == b.x ? X(1) : exp_below(less.x - more.x)));
}
TEAM_AREA(area_of_powers, X2)
TEAM(join_all_powers, X2, area_of_powers, join_powers)

void log_sum_exp(out X r[WIDTH]) {
    X2 sums[EACH], all[WIDTH];
    [[unroll]] for (uint e = 0u; e < EACH; ++e) sums[e] = X2(LOWEST, 0);
    EVERY(sums[e] = is_nan(v) ? X2(sums[e].x, v) : join_powers(sums[e], X2(v, 1));)
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) all[w] = sums[w];
    [[unroll]] for (uint e = WIDTH; e < EACH; ++e) all[0] = join_powers(all[0], sums[e]);
    join_all_powers(all);
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) r[w] = all[w].x + m_log(all[w].y);
}
#endif

void join_line(out X r[WIDTH]) {
    X all[EACH];
    [[unroll]] for (uint e = 0u; e < EACH; ++e) all[e] = start();
    EVERY(all[e] = join(all[e], transformed(v));)
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) r[w] = all[w];
    [[unroll]] for (uint e = WIDTH; e < EACH; ++e) r[0] = join(r[0], all[e]);
    join_all(r);
}

void main() {
    s = span_of(p.blocks, p.inner, p.steps, p.parts, p.chunk);
    x = resolve(p.x);
    uvec2 y = resolve(p.y);
    X r[WIDTH];
#ifdef IS_FLOAT
    if (KIND == 9u) log_sum_exp(r);
    else
#endif
        join_line(r);
    if (!s.valid || s.slice > 0u) return;
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) {
        uint line = s.block * WIDTH + w;
        if (LAST) T_store(advance(y, line, T_BYTES), 0u, finished(r[w]));
        else PART_store(advance(y, s.part * (p.blocks * WIDTH) + line, PART_BYTES), 0u, r[w]);
    }
}
