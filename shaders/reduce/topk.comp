#version 460
// The k largest (LEAST: smallest) elements along one axis, in order, equal ones by their index; NaN counts as largest. values and indices (i64)
// [outer, k, inner] of x [outer, len, inner]. One workgroup a row picks one element after the other: the best of those that come after the last.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool LEAST = false;
layout(push_constant) uniform Push {
    uvec2 x, values, indices;
    uint rows, len, inner, k;
} p;

#define X T_compute
#if defined(T_f32) || defined(T_f16) || defined(T_bf16) || defined(T_f64)
#define NAN_TEST(v) is_nan(v)
#else
#define NAN_TEST(v) false
#endif
const uint NOBODY = 0xffffffffu;

shared X held[256];
shared uint places[256];

// True if element (a, i) stands before (b, j).
bool before(X a, uint i, X b, uint j) {
    bool na = NAN_TEST(a), nb = NAN_TEST(b);
    if (na || nb) {
        if (na && nb) return i < j;
        return LEAST ? nb : na;
    }
    if (a == b) return i < j;
    return LEAST ? a < b : a > b;
}

void main() {
    uint row = group_index(), lane = gl_LocalInvocationID.x;
    if (row >= p.rows) return;
    uint outer = row / p.inner, start = row % p.inner;
    uvec2 x = advance(resolve(p.x), outer, p.len * p.inner * T_BYTES);
    uvec2 values = advance(resolve(p.values), outer, p.k * p.inner * T_BYTES), indices = advance(resolve(p.indices), outer, p.k * p.inner * 8u);
    X last = X(0);
    uint last_place = NOBODY;
    for (uint n = 0u; n < p.k; ++n) {
        X best = X(0);
        uint place = NOBODY;
        for (uint i = lane; i < p.len; i += 256u) {
            X v = T_load(x, start + i * p.inner);
            bool open = last_place == NOBODY || before(last, last_place, v, i);
            if (open && (place == NOBODY || before(v, i, best, place))) {
                best = v;
                place = i;
            }
        }
        barrier();
        held[lane] = best;
        places[lane] = place;
        barrier();
        for (uint step = 128u; step > 0u; step >>= 1) {
            if (lane < step) {
                uint j = places[lane + step];
                if (j != NOBODY && (places[lane] == NOBODY || before(held[lane + step], j, held[lane], places[lane]))) {
                    held[lane] = held[lane + step];
                    places[lane] = j;
                }
            }
            barrier();
        }
        last = held[0];
        last_place = places[0];
        if (lane == 0u) {
            T_store(values, start + n * p.inner, last);
            ref_u32x2(indices).v[start + n * p.inner] = uvec2(last_place, 0u);
        }
    }
}
