#version 460
// Index (i64) of the largest (LEAST: the smallest) element of lines: the first of equals, or the last with LAST_PLACE. The first NaN wins.
// x, and y with an element a line: common/lines.glsl. Long lines take two stages: the first (LAST false) leaves the extreme of each part in y and
// its index (u32) in `places`, part after part, each of all lines; the second (FIRST false) takes them for x.
#include "common/types.glsl"

layout(constant_id = 10) const bool LEAST = false;
layout(constant_id = 11) const bool LAST_PLACE = false;
layout(constant_id = 12) const bool FIRST = true;
layout(constant_id = 13) const bool LAST = true;
#define LINE_BYTES (FIRST ? T_BYTES : PART_BYTES)
#include "common/lines.glsl"

layout(local_size_x = GROUP) in;
layout(push_constant) uniform Push {
    uvec2 x, y, places;
    LINES
} p;

#ifdef IS_FLOAT
#define NAN_TEST(v) is_nan(v)
#else
#define NAN_TEST(v) false
#endif
const uint NOBODY = 0xffffffffu;

struct Found {
    X value;
    uint place;
};

Found shuffle_xor(Found v, uint mask) { return Found(shuffle_xor(v.value, mask), subgroupShuffleXor(v.place, mask)); }

// The one that is chosen of two.
Found chosen(Found a, Found b) {
    if (a.place == NOBODY) return b;
    if (b.place == NOBODY) return a;
    bool na = NAN_TEST(a.value), nb = NAN_TEST(b.value), earlier = a.place < b.place, first;
    if (na || nb) first = na && (!nb || earlier);
    else if (a.value == b.value) first = LAST_PLACE ? !earlier : earlier;
    else first = LEAST ? a.value < b.value : a.value > b.value;
    return first ? a : b;
}
TEAM_AREA(area, Found)
TEAM(choose, Found, area, chosen)

void main() {
    Span s = span_of(p.blocks, p.inner, p.steps, p.parts, p.chunk);
    uvec2 x = resolve(p.x), y = resolve(p.y), places = resolve(p.places);
    Found best[EACH], r[WIDTH];
    [[unroll]] for (uint e = 0u; e < EACH; ++e) best[e] = Found(X(0), NOBODY);
    for (uint i = s.begin + s.slice; i < s.end; i += LANES) {
        uvec2 at = step_address(x, s, i, p.stride);
#ifdef PIECES
        X v[EACH];
        load_step(at, v);
        [[unroll]] for (uint e = 0u; e < EACH; ++e) best[e] = chosen(best[e], Found(v[e], ACROSS ? i : i * EACH + e));
#else
        // Of a second stage there are `blocks` lines, so many elements apart.
        if (FIRST) best[0] = chosen(best[0], Found(T_load(at, 0u), i));
        else best[0] = chosen(best[0], Found(PART_load(at, 0u), load_u32(advance(places, i * p.blocks + s.block, 4u), 0u)));
#endif
    }
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) r[w] = best[w];
    [[unroll]] for (uint e = WIDTH; e < EACH; ++e) r[0] = chosen(r[0], best[e]);
    choose(r);
    if (!s.valid || s.slice > 0u) return;
    [[unroll]] for (uint w = 0u; w < WIDTH; ++w) {
        uint line = s.block * WIDTH + w;
        if (LAST) {
            ref_u32x2(advance(y, line, 8u)).v[0] = uvec2(r[w].place, 0u);
        } else {
            uint at = s.part * (p.blocks * WIDTH) + line;
            PART_store(advance(y, at, PART_BYTES), 0u, r[w].value);
            store_u32(advance(places, at, 4u), 0u, r[w].place);
        }
    }
}
