#version 460
// All steps of a recurrent network of up to 256 units, whose w is small enough to stay near: a workgroup does one item of one direction, its
// states in shared memory. Tensors as in network_step.comp, but that the states come from h0, c0 and end in h_last, c_last, all
// [directions, batch, hidden].
// In a step 4 lanes do the product of one row of w with the states, then each invocation finishes one unit.
#include "common/types.glsl"
#include "common/subgroup.glsl"
#include "common/math.glsl"
#include "recurrent/cell.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 1) const bool LENGTHS = false;
layout(constant_id = 2) const bool H0 = false;
layout(constant_id = 3) const bool C0 = false;
layout(constant_id = 4) const bool W_VEC = false; // hidden is a multiple of VEC
layout(push_constant) uniform Push {
    uvec2 products, w, bias, bias_h, peepholes, h0, c0, lengths, y, h_last, c_last;
    uint batch, steps, directions, hidden;
} p;

#define MOST_UNITS 256u
#define LANES 4u
#define LINES (256u / LANES)
#define ROWS 4u

shared X states[MOST_UNITS];
shared X totals[4u * MOST_UNITS];

// totals[g, unit] = row (g, unit) of w times the states, for `count` gates from `g0` on. Four lanes work on ROWS rows at a time, so that loads of
// all of them are on their way and the states are read once for all.
void multiply(uvec2 w, uint g0, uint count) {
    uint t = gl_LocalInvocationIndex, lane = t % LANES, rows = count * p.hidden;
    // All lanes take part in the sums: no lane leaves early.
    for (uint r0 = t / LANES; r0 - t / LANES < rows; r0 += ROWS * LINES) {
        uvec2 row[ROWS];
        X sums[ROWS];
        [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
            row[i] = advance(w, g0 * p.hidden + min(r0 + i * LINES, rows - 1u), p.hidden * T_BYTES);
            sums[i] = X(0);
        }
        if (W_VEC) {
            for (uint k = lane * VEC; k < p.hidden; k += LANES * VEC) {
                uvec4 raw[ROWS];
                [[unroll]] for (uint i = 0u; i < ROWS; ++i) raw[i] = ref_u32x4(row[i]).v[k / VEC];
                [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
                    X v[VEC];
                    unpack16(raw[i], v);
                    [[unroll]] for (uint e = 0u; e < VEC; ++e) sums[i] = fma(v[e], states[k + e], sums[i]);
                }
            }
        } else {
            for (uint k = lane; k < p.hidden; k += LANES) {
                [[unroll]] for (uint i = 0u; i < ROWS; ++i) sums[i] = fma(T_load(row[i], k), states[k], sums[i]);
            }
        }
        [[unroll]] for (uint i = 0u; i < ROWS; ++i) {
            X sum = sums[i];
            sum += subgroupShuffleXor(sum, 1u);
            sum += subgroupShuffleXor(sum, 2u);
            if (lane == 0u && r0 + i * LINES < rows) totals[g0 * p.hidden + r0 + i * LINES] = sum;
        }
    }
}

void main() {
    uint group = group_index(), unit = gl_LocalInvocationIndex, direction = group / p.batch, item = group % p.batch;
    if (direction >= p.directions) return;
    bool mine = unit < p.hidden;
    uint row = direction * p.batch + item, bytes = p.hidden * T_BYTES;
    uvec2 w = advance(resolve(p.w), direction * GATES * p.hidden, bytes), y = resolve(p.y), bias = resolve(p.bias), bias_h = resolve(p.bias_h);
    X h = X(0), c = X(0);
    if (H0 && mine) h = T_load(advance(resolve(p.h0), row, bytes), unit);
    if (C0 && mine) c = T_load(advance(resolve(p.c0), row, bytes), unit);
    if (mine) states[unit] = h;
    uint length = length_of(LENGTHS, resolve(p.lengths), item, p.steps);
    for (uint step = 0u; step < length; ++step) {
        uint time = direction == 0u ? step : length - 1u - step, place = item * p.steps + time;
        Given v;
        if (mine) v = given(advance(p.products, place, p.directions * GATES * p.hidden * X_BYTES), bias, bias_h, resolve(p.peepholes), direction, p.hidden, unit);
        barrier();
        multiply(w, 0u, CELL == GRU_GATES ? 2u : GATES);
        barrier();
        X sums[4];
        [[unroll]] for (uint g = 0u; g < 4u; ++g) {
            sums[g] = X(0);
            if (mine && g < GATES) sums[g] = totals[g * p.hidden + unit];
        }
        if (CELL == GRU_GATES) {
            if (mine) states[unit] = m_sigmoid(v.gates[0] + sums[0]) * h;
            barrier();
            multiply(w, 2u, 1u);
            barrier();
            if (mine) h = mix(v, totals[2u * p.hidden + unit], m_sigmoid(v.gates[1] + sums[1]), h);
        } else if (mine) {
            h = next(v, sums, h, c);
        }
        if (mine) {
            states[unit] = h;
            T_store(advance(y, place, p.directions * bytes), direction * p.hidden + unit, h);
        }
    }
    if (!mine) return;
    for (uint step = length; step < p.steps; ++step) {
        T_store(advance(y, item * p.steps + step, p.directions * bytes), direction * p.hidden + unit, X(0));
    }
    T_store(advance(resolve(p.h_last), row, bytes), unit, h);
    if (CELL == LSTM) T_store(advance(resolve(p.c_last), row, bytes), unit, c);
}
