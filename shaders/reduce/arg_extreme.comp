#version 460
// Index (i64) of the largest (LEAST: the smallest) element along one axis: the first of equals, or the last with LAST. The first NaN wins.
// x [outer, len, inner], y [outer, inner]. One workgroup a row.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool LEAST = false;
layout(constant_id = 1) const bool LAST = false;
layout(push_constant) uniform Push {
    uvec2 x, y;
    uint rows, len, inner;
} p;

#define X T_compute
#if defined(T_f32) || defined(T_f16) || defined(T_bf16) || defined(T_f64)
#define NAN_TEST(v) is_nan(v)
#else
#define NAN_TEST(v) false
#endif

shared X values[256];
shared uint places[256];

// True if element (a, i) is chosen before (b, j).
bool beats(X a, uint i, X b, uint j) {
    bool na = NAN_TEST(a), nb = NAN_TEST(b);
    if (na || nb) return na && (!nb || i < j);
    if (a == b) return LAST ? i > j : i < j;
    return LEAST ? a < b : a > b;
}

void main() {
    uint row = group_index(), lane = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    uvec2 x = advance(resolve(p.x), row / p.inner, p.len * p.inner * T_BYTES);
    uint start = row % p.inner;
    X best = X(0);
    uint place = 0xffffffffu;
    for (uint i = lane; i < p.len; i += 256u) {
        X v = T_load(x, start + i * p.inner);
        if (place == 0xffffffffu || beats(v, i, best, place)) {
            best = v;
            place = i;
        }
    }
    values[lane] = best;
    places[lane] = place;
    barrier();
    for (uint step = 128u; step > 0u; step >>= 1) {
        if (lane < step) {
            uint j = places[lane + step];
            if (j != 0xffffffffu && (places[lane] == 0xffffffffu || beats(values[lane + step], j, values[lane], places[lane]))) {
                values[lane] = values[lane + step];
                places[lane] = j;
            }
        }
        barrier();
    }
    if (lane == 0u) ref_u32x2(resolve(p.y)).v[row] = uvec2(places[0], 0u);
}
