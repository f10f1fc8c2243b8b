#version 460
// y[r, c, i, j] = average (or with LARGEST the largest weighted corner value) of samples of x[batch[r], c] in cell (i, j) of region r,
// which has the corners rois[r] = (x1, y1, x2, y2) times `scale`, moved by half a pixel with HALF_PIXEL; without, a region has at least
// one pixel. A cell has `sampling` x `sampling` samples, or with 0 as many as it has pixels, rounded up. A sample more than one pixel
// outside of x counts as 0. Places are computed in pairs of floats: rounding would move samples between pixels and change their number.
// LANES invocations work on the cells of a region's channel.
#include "common/types.glsl"
#include "common/run_state.glsl"
#include "movement/unit.glsl"
#include "movement/index.glsl"
#include "vision/exact.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool LARGEST = false;
layout(constant_id = 1) const bool HALF_PIXEL = true;
layout(constant_id = 2) const uint LANES = 256u;
layout(push_constant) uniform Push {
    uvec2 x, rois, batch, y, state;
    uint node, planes, channels, items, height, width, y_height, y_width, sampling, chunks;
    float scale;
} p;

// Along one axis: where the region starts, how far it reaches, the samples a cell has.
struct Side {
    Pair start, reach;
    uint samples;
};

Side side_of(ACC from, ACC to, uint cells) {
    Side s;
    Pair a = product_of(from, ACC(p.scale)), b = product_of(to, ACC(p.scale));
    s.reach = plus(b, Pair(-a.hi, -a.lo));
    s.start = HALF_PIXEL ? plus(a, Pair(ACC(-0.5), ACC(0))) : a;
    if (!HALF_PIXEL && (s.reach.hi < ACC(1) || (s.reach.hi == ACC(1) && s.reach.lo < ACC(0)))) s.reach = Pair(ACC(1), ACC(0));
    s.samples = p.sampling;
    if (p.sampling == 0u) {
        Spot cell = spot_of(over(s.reach, ACC(cells)));
        // The division rounds: ask the product whether a sample less is enough.
        int count = max(cell.whole, 0);
        Pair left = plus(s.reach, times(Pair(ACC(-count), ACC(0)), ACC(cells)));
        s.samples = uint(count) + (left.hi > ACC(0) ? 1u : 0u);
    }
    return s;
}

// Where sample i of cell c lies.
Pair place_of(Side s, uint cells, uint c, uint i) {
    ACC step = ACC(2u * (c * s.samples + i) + 1u);
    return plus(s.start, over(times(s.reach, step), ACC(2u * cells * s.samples)));
}

// Samples of cell c that may lie within one pixel of an axis of n elements: all others count as 0.
uvec2 samples_inside(Side s, uint cells, uint c, uint n) {
    ACC cell = s.reach.hi / ACC(cells), gap = cell / ACC(s.samples), start = s.start.hi + ACC(c) * cell;
    if (!(gap > ACC(0)) || s.samples < 64u) return uvec2(0u, s.samples);
    ACC low = floor((ACC(-1) - start) / gap) - ACC(2), high = ceil((ACC(n) - start) / gap) + ACC(2);
    return uvec2(clamp(low, ACC(0), ACC(s.samples)), clamp(high, ACC(0), ACC(s.samples)));
}

// The two elements that a place lies between, and the weight of the second. False outside.
bool corners(Pair at, uint n, out uvec2 elements, out ACC weight) {
    Spot spot = spot_of(at);
    if (spot.whole < -1 || spot.whole > int(n) || (spot.whole == int(n) && spot.part > ACC(0))) return false;
    if (spot.whole < 0) spot = Spot(0, ACC(0));
    if (spot.whole >= int(n) - 1) spot = Spot(int(n) - 1, ACC(0));
    elements = uvec2(spot.whole, min(spot.whole + 1, int(n) - 1));
    weight = spot.part;
    return true;
}

ACC aligned(uvec2 x, Side down, Side along, uint i, uint j) {
    ACC sum = ACC(0), largest = ACC(0);
    uint found = 0u;
    uvec2 rows = samples_inside(down, p.y_height, i, p.height), columns = samples_inside(along, p.y_width, j, p.width);
    for (uint a = rows.x; a < rows.y; ++a) {
        uvec2 v;
        ACC wy, wx;
        bool row_inside = corners(place_of(down, p.y_height, i, a), p.height, v, wy);
        for (uint b = columns.x; b < columns.y; ++b) {
            uvec2 h;
            ACC sample_value = ACC(0), best = ACC(0);
            if (row_inside && corners(place_of(along, p.y_width, j, b), p.width, h, wx)) {
                ACC q00 = (ACC(1) - wy) * (ACC(1) - wx) * T_load(x, v.x * p.width + h.x);
                ACC q01 = (ACC(1) - wy) * wx * T_load(x, v.x * p.width + h.y);
                ACC q10 = wy * (ACC(1) - wx) * T_load(x, v.y * p.width + h.x);
                ACC q11 = wy * wx * T_load(x, v.y * p.width + h.y);
                sample_value = q00 + q01 + q10 + q11;
                best = max(max(q00, q01), max(q10, q11));
                if (is_nan(sample_value)) best = sample_value;
            }
            sum += sample_value;
            if (found == 0u || best > largest || is_nan(best)) largest = is_nan(largest) ? largest : best;
            found += 1u;
        }
    }
    // Samples left out are zeros.
    if (LARGEST) return found < down.samples * along.samples && largest < ACC(0) ? ACC(0) : largest;
    return sum / (ACC(max(down.samples, 1u)) * ACC(max(along.samples, 1u)));
}

void main() {
    uint group = group_index(), block = group / p.chunks;
    uint plane = block * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    uint cell = (group - block * p.chunks) * LANES + gl_LocalInvocationID.x % LANES;
    if (plane >= p.planes || cell >= p.y_height * p.y_width) return;
    uint r = plane / p.channels, c = plane - r * p.channels;
    uint item = check_index(p.state, p.node, r, load_index(resolve(p.batch), r), p.items, false);
    uvec2 rois = resolve(p.rois), y = add64(resolve(p.y), times64(plane, times64(p.y_height * p.y_width, uvec2(T_BYTES, 0u))));
    ACC x1 = T_load(rois, 4u * r), y1 = T_load(rois, 4u * r + 1u), x2 = T_load(rois, 4u * r + 2u), y2 = T_load(rois, 4u * r + 3u);
    ACC v = ACC_NAN;
    if (!is_nan(x1 + y1 + x2 + y2) && p.items > 0u) {
        uvec2 x = add64(resolve(p.x), times64(item * p.channels + c, times64(p.height * p.width, uvec2(T_BYTES, 0u))));
        uint i = cell / p.y_width;
        v = aligned(x, side_of(y1, y2, p.y_height), side_of(x1, x2, p.y_width), i, cell - i * p.y_width);
    }
    T_store(y, cell, v);
}
