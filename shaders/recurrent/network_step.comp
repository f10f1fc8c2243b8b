#version 460
// One step of a recurrent network: the products of all states with w, and the cell (cell.glsl). Steps count from 0; the reverse direction works
// on step length - 1 - `step` of the sequence. Past an item's length the state stays and y is 0.
// products [batch, steps, directions, gates, hidden] in the type of the sums; w [directions, gates * hidden, hidden]; bias, bias_h [directions,
// gates * hidden]; peepholes [directions, 3, hidden]; y [batch, steps, directions, hidden]; at the last step h_last, c_last [directions, batch, hidden].
// states: 4 slots of [directions, batch, pitch] in the type of the sums: h of even steps, h of odd ones, c or r * h, z. The new h goes to the
// slot of step + 1.
// A workgroup does UNITS units of ITEMS items of one direction; a subgroup takes one unit after another, its lanes along the states.
#include "common/types.glsl"
#include "common/subgroup.glsl"
#include "common/math.glsl"
#include "recurrent/cell.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 1) const bool LENGTHS = false;
layout(constant_id = 2) const uint ITEMS = 1u; // up to the subgroup
layout(constant_id = 3) const uint UNITS = 4u;
layout(constant_id = 4) const bool W_VEC = false; // hidden is a multiple of VEC
layout(constant_id = 5) const uint STAGES = 1u;   // loads of a row of w on their way at a time
layout(push_constant) uniform Push {
    uvec2 products, w, bias, bias_h, peepholes, states, lengths, y, h_last, c_last;
    uint batch, steps, directions, hidden, pitch, step;
} p;

// Gates of this product, and the first of them.
const uint COUNT = CELL == GRU_GATES ? 2u : CELL == GRU_NEW ? 1u : GATES;
const uint FIRST = CELL == GRU_NEW ? 2u : 0u;

uint direction, first, items;
// The lane's part of the sums: gate g of item b at 4 * b + g.
X sums[4u * ITEMS];
// The states of each item, and vectors of w: gate g of stage s at 4 * s + g.
uvec2 states_of[ITEMS];
uvec4 raw[4u * STAGES];

// Slot `slot` of the states of the first item.
uvec2 slot(uint number) {
    return advance(p.states, (number * p.directions + direction) * p.batch + first, p.pitch * X_BYTES);
}

void load_states(uvec2 row, uint k, out X v[VEC]) {
#ifdef USE_f64
    [[unroll]] for (uint e = 0u; e < VEC; ++e) v[e] = load_f64(row, k + e);
#else
    [[unroll]] for (uint e = 0u; e < VEC; e += 4u) {
        vec4 f = ref_f32x4(row).v[(k + e) >> 2];
        v[e] = f.x;
        v[e + 1u] = f.y;
        v[e + 2u] = f.z;
        v[e + 3u] = f.w;
    }
#endif
}

// Adds to `sums` the products of VEC states from k on.
void add(uint k, uint s) {
    X v[4u * VEC];
    [[unroll]] for (uint g = 0u; g < COUNT; ++g) {
        X part[VEC];
        unpack16(raw[4u * s + g], part);
        [[unroll]] for (uint e = 0u; e < VEC; ++e) v[g * VEC + e] = part[e];
    }
    [[unroll]] for (uint b = 0u; b < ITEMS; ++b) {
        X h[VEC];
        load_states(states_of[b], k, h);
        [[unroll]] for (uint g = 0u; g < COUNT; ++g) {
            [[unroll]] for (uint e = 0u; e < VEC; ++e) sums[4u * b + g] = fma(v[g * VEC + e], h[e], sums[4u * b + g]);
        }
    }
}

// Adds to `sums` what COUNT gates of a unit and ITEMS items need, a part of k each lane.
void multiply(uint unit, uvec2 from) {
    uint lane = gl_SubgroupInvocationID, lanes = gl_SubgroupSize;
    uvec2 rows[4];
    [[unroll]] for (uint g = 0u; g < COUNT; ++g) {
        rows[g] = advance(resolve(p.w), (direction * GATES + FIRST + g) * p.hidden + unit, p.hidden * T_BYTES);
    }
    [[unroll]] for (uint b = 0u; b < ITEMS; ++b) states_of[b] = advance(from, min(b, items - 1u), p.pitch * X_BYTES);
    if (W_VEC) {
        uint apart = lanes * VEC;
        for (uint k0 = lane * VEC; k0 < p.hidden; k0 += STAGES * apart) {
            [[unroll]] for (uint s = 0u; s < STAGES; ++s) {
                [[unroll]] for (uint g = 0u; g < COUNT; ++g) {
                    if (k0 + s * apart < p.hidden) raw[4u * s + g] = ref_u32x4(rows[g]).v[k0 / VEC + s * lanes];
                }
            }
            [[unroll]] for (uint s = 0u; s < STAGES; ++s) {
                if (k0 + s * apart < p.hidden) add(k0 + s * apart, s);
            }
        }
    } else {
        for (uint k = lane; k < p.hidden; k += lanes) {
            [[unroll]] for (uint b = 0u; b < ITEMS; ++b) {
                X h = X_load(states_of[b], k);
                [[unroll]] for (uint g = 0u; g < COUNT; ++g) sums[4u * b + g] = fma(T_load(rows[g], k), h, sums[4u * b + g]);
            }
        }
    }
}

// Item `b` of the workgroup after this step, with all sums of a unit.
void finish(uint b, uint unit, Given v, X own[4], bool counts, uint time) {
    uvec2 h_now = advance(slot(p.step & 1u), b, p.pitch * X_BYTES), h_next = advance(slot(~p.step & 1u), b, p.pitch * X_BYTES);
    uvec2 third = advance(slot(2u), b, p.pitch * X_BYTES), fourth = advance(slot(3u), b, p.pitch * X_BYTES);
    X h = X_load(h_now, unit);
    if (CELL == GRU_GATES) {
        X_store(third, unit, m_sigmoid(v.gates[0] + own[0]) * h);
        X_store(fourth, unit, m_sigmoid(v.gates[1] + own[1]));
        return;
    }
    X c = X(0);
    if (CELL == LSTM) c = X_load(third, unit);
    if (counts) {
        if (CELL == GRU_NEW) h = mix(v, own[0], X_load(fourth, unit), h);
        else h = next(v, own, h, c);
        if (CELL == LSTM) X_store(third, unit, c);
    }
    X_store(h_next, unit, h);
    uint item = first + b;
    uvec2 y = advance(resolve(p.y), item * p.steps + (counts ? time : p.step), p.directions * p.hidden * T_BYTES);
    T_store(y, direction * p.hidden + unit, counts ? h : X(0));
    if (p.step + 1u == p.steps) {
        uint row = direction * p.batch + item;
        T_store(advance(resolve(p.h_last), row, p.hidden * T_BYTES), unit, h);
        if (CELL == LSTM) T_store(advance(resolve(p.c_last), row, p.hidden * T_BYTES), unit, c);
    }
}

void main() {
    uint tiles = (p.hidden + UNITS - 1u) / UNITS, blocks = (p.batch + ITEMS - 1u) / ITEMS, group = group_index();
    uint tile = group % tiles, rest = group / tiles;
    direction = rest / blocks;
    if (direction >= p.directions) return;
    first = rest % blocks * ITEMS;
    items = min(ITEMS, p.batch - first);
    // A lane finishes the item of its number.
    uint lane = gl_SubgroupInvocationID, item = first + min(lane, items - 1u);
    uint length = length_of(LENGTHS, resolve(p.lengths), item, p.steps);
    bool counts = p.step < length;
    uint time = direction == 0u || !counts ? p.step : length - 1u - p.step;
    uvec2 products = advance(p.products, item * p.steps + time, p.directions * GATES * p.hidden * X_BYTES);
    uvec2 from = slot(CELL == GRU_NEW ? 2u : p.step & 1u);
    // All subgroups go the same number of rounds: in the plain form their lanes meet at barriers.
    for (uint round = 0u; round < UNITS; round += gl_NumSubgroups) {
        uint u = round + gl_SubgroupID, place = tile * UNITS + u, unit = min(place, p.hidden - 1u);
        Given v = given(products, resolve(p.bias), resolve(p.bias_h), resolve(p.peepholes), direction, p.hidden, unit);
        X own[4];
        [[unroll]] for (uint i = 0u; i < 4u * ITEMS; ++i) sums[i] = X(0);
        [[unroll]] for (uint g = 0u; g < 4u; ++g) own[g] = X(0);
        multiply(unit, from);
        [[unroll]] for (uint b = 0u; b < ITEMS; ++b) {
            [[unroll]] for (uint g = 0u; g < COUNT; ++g) {
                X total = subgroupAdd(sums[4u * b + g]);
                if (lane == b) own[g] = total;
            }
        }
        if (u < UNITS && place < p.hidden && lane < items) finish(lane, unit, v, own, counts, time);
    }
}
