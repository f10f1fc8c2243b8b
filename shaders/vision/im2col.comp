#version 460
// y[(n, i, j), (c, k, l)] = x[n, c, i * stride + k * dilation - padding, ..], zero bytes outside of x.
// params, words: channels, height, width, kernel (2), stride (2), padding (2), dilation (2), height and width of the positions.
// Limit: count below 2^32.
#include "common/types.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 x, y, params;
    uint count, columns;
} p;

uvec2 pair(uint i) { return uvec2(load_u32(p.params, i), load_u32(p.params, i + 1u)); }

void main() {
    uint i = group_index() * 256u + gl_LocalInvocationID.x;
    if (i >= p.count) return;
    uint channels = load_u32(p.params, 0u);
    uvec2 extent = pair(1u), kernel = pair(3u), positions = pair(11u);
    uint row = i / p.columns, column = i - row * p.columns;
    uint l = column % kernel.y, k = column / kernel.y % kernel.x, c = column / kernel.y / kernel.x;
    uint b = row % positions.y, a = row / positions.y % positions.x, n = row / positions.y / positions.x;
    ivec2 at = ivec2(uvec2(a, b) * pair(5u) + uvec2(k, l) * pair(9u)) - ivec2(pair(7u));
    UNIT v = UNIT(0u);
    if (all(lessThan(uvec2(at), extent))) {
        uvec2 x = add64(resolve(p.x), times64(n * channels + c, times64(extent.x * extent.y, uvec2(UNIT_BYTES, 0u))));
        v = load_unit(x, uint(at.x) * extent.y + uint(at.y));
    }
    store_unit(resolve(p.y), i, v);
}
