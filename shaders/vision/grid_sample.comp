#version 460
// y[n, c, o] = x[n, c] sampled where grid[n, o] says, over AXES spatial axes. A coordinate g in -1..1 along an axis of n elements is
// the place g * (n - ALIGN) / 2 + (n - 1) / 2, where ALIGN is 1 with align_corners; the grid's last coordinate is that of x's first axis.
// MODE 0 nearest (half to even), 1 linear, 2 cubic (a = -0.75). Each tap outside is 0 (PADDING 0), that of the nearest element (1),
// or mirrored (2): at the middles of the first and last element with ALIGN, at their outer borders without.
// A coordinate that is NaN gives NaN. LANES invocations work on a plane, up to 4 results each.
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "vision/exact.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint AXES = 2u;
layout(constant_id = 1) const uint MODE = 1u;
layout(constant_id = 2) const uint PADDING = 0u;
layout(constant_id = 3) const bool ALIGN = false;
layout(constant_id = 4) const uint LANES = 256u;
layout(push_constant) uniform Push {
    uvec2 x, grid, y;
    uint planes, channels, chunks, depth, height, width, points;
} p;

const uint EACH = 4u;

Spot place_of(ACC g, int n) {
    ACC slope = ACC(n - (ALIGN ? 1 : 0)) * ACC(0.5), middle = ACC(n - 1) * ACC(0.5);
    return spot_of(plus(product_of(clamp(g, ACC(-FAR), ACC(FAR)), slope), Pair(middle, ACC(0))));
}

// The element that tap i stands for, -1 for none.
int padded(int i, int n) {
    if (uint(i) < uint(n)) return i;
    if (PADDING == 0u) return -1;
    if (PADDING == 1u) return clamp(i, 0, n - 1);
    if (ALIGN) {
        int period = max(2 * (n - 1), 1);
        i = (i < 0 ? -i : i) % period;
        return i < n ? i : period - i;
    }
    i = (i < 0 ? -1 - i : i) % (2 * n);
    return i < n ? i : 2 * n - 1 - i;
}

const uint TAPS = MODE == 0u ? 1u : MODE == 1u ? 2u : 4u;

// Tap t (of up to 4) at a spot: its element and weight.
void tap_of(Spot spot, int n, uint t, out int element, out ACC weight) {
    ACC r = spot.part;
    if (MODE == 0u) {
        bool up = r > ACC(0.5) || (r == ACC(0.5) && (spot.whole & 1) != 0);
        element = padded(spot.whole + (up ? 1 : 0), n);
        weight = ACC(1);
        return;
    }
    element = padded(spot.whole + int(t) - (MODE == 2u ? 1 : 0), n);
    if (MODE == 1u) {
        weight = t == 0u ? ACC(1) - r : r;
        return;
    }
    // In factors, which keeps small weights accurate.
    const ACC a = ACC(-0.75);
    ACC q = ACC(1) - r;
    if (t == 0u) weight = a * r * q * q;
    if (t == 1u) weight = q * (ACC(1) + r - (a + ACC(2)) * r * r);
    if (t == 2u) weight = r * (ACC(1) + q - (a + ACC(2)) * q * q);
    if (t == 3u) weight = a * q * r * r;
}

ACC sampled(uvec2 x, uvec2 grid, uint o) {
    ivec3 extent = ivec3(p.depth, p.height, p.width);
    Spot spots[3] = Spot[3](Spot(0, ACC(0)), Spot(0, ACC(0)), Spot(0, ACC(0)));
    bool bad = false;
    [[unroll]] for (uint a = 0u; a < AXES; ++a) {
        ACC g = T_load(grid, o * AXES + a);
        // A mirror has no place for infinity.
        bad = bad || is_nan(g) || (PADDING == 2u && is_inf(g));
        spots[2u - a] = place_of(g, extent[2u - a]);
    }
    if (bad) return ACC_NAN;
    ACC sum = ACC(0);
    [[dont_unroll]] for (uint i = 0u; i < (AXES > 2u ? TAPS : 1u); ++i) {
        int z = 0, row, column;
        ACC wz = ACC(1), wy = ACC(1), wx;
        if (AXES > 2u) tap_of(spots[0], extent.x, i, z, wz);
        if (z < 0) continue;
        [[dont_unroll]] for (uint j = 0u; j < (AXES > 1u ? TAPS : 1u); ++j) {
            row = 0;
            if (AXES > 1u) tap_of(spots[1], extent.y, j, row, wy);
            if (row < 0) continue;
            ACC line = ACC(0);
            [[dont_unroll]] for (uint k = 0u; k < TAPS; ++k) {
                tap_of(spots[2], extent.z, k, column, wx);
                if (column >= 0) line += wx * T_load(x, uint((z * extent.y + row) * extent.z + column));
            }
            sum += wz * wy * line;
        }
    }
    return sum;
}

void main() {
    uint group = group_index(), block = group / p.chunks;
    uint plane = block * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    if (plane >= p.planes) return;
    uvec2 x = add64(resolve(p.x), times64(plane, times64(p.depth * p.height * p.width, uvec2(T_BYTES, 0u))));
    uvec2 y = add64(resolve(p.y), times64(plane, times64(p.points, uvec2(T_BYTES, 0u))));
    uvec2 grid = add64(resolve(p.grid), times64(plane / p.channels, times64(p.points * AXES, uvec2(T_BYTES, 0u))));
    uint first = (group - block * p.chunks) * (LANES * EACH) + gl_LocalInvocationID.x % LANES;
    [[dont_unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint o = first + k * LANES;
        if (o < p.points) T_store(y, o, sampled(x, grid, o));
    }
}
