#version 460
// States from initial ones, [rows, size] to [rows, pitch]: zeros where none are GIVEN, and in the columns from `size` on. WIDE: in the type of the
// sums, else as they are. Fewer than 2^32 elements.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool GIVEN = false;
layout(constant_id = 1) const bool WIDE = false;
layout(push_constant) uniform Push {
    uvec2 x, y;
    uint count, size, pitch;
} p;

#ifdef USE_f64
#define SUM_store store_f64
#else
#define SUM_store store_f32
#endif
#define X T_compute

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationIndex;
    if (i >= p.count) return;
    uint row = i / p.pitch, column = i - row * p.pitch;
    X v = X(0);
    if (GIVEN && column < p.size) v = T_load(advance(resolve(p.x), row, p.size * T_BYTES), column);
    uvec2 y = resolve(p.y);
    if (WIDE) SUM_store(advance(y, row, p.pitch * (T_BYTES == 8u ? 8u : 4u)), column, v);
    else T_store(advance(y, row, p.pitch * T_BYTES), column, v);
}
