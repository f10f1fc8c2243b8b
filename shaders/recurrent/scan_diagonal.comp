#version 460
// Scans whose states decay one by one: S[r,n] = decay * S[r,n] + delta * x[r] * b[n]; y[r] = sum over n of S[r,n] * c[n] (+ d[r] * x[r]).
// PER_ROW (SelectiveScan): one head, each row has its delta, decay = exp(delta * a[r,n]). Else (Mamba2) delta and decay = exp(delta * a) are
// those of the head. x, y [batch, steps, heads, rows]; delta [batch, steps, heads] or [batch, steps, rows]; a [heads] or [rows, n];
// b, c [batch, steps, groups, n], head h uses group h / (heads / groups); d [rows]; state, last [batch, heads, rows, n].
// sums [batch, steps, heads, rows]: y so far, where n is above LANES * HELD and is done in turns; untouched otherwise.
// A workgroup does ROWS * 256 / LANES rows of one head: LANES lanes a row, HELD states a lane along n and ROWS along the rows, in registers. It
// reads STEPS steps into shared memory, scans them, then adds what the lanes of a row have, always in the same order.
#include "common/types.glsl"
#include "common/math.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool PER_ROW = true;
layout(constant_id = 1) const bool D = false;
layout(constant_id = 2) const bool STATE = false;
layout(constant_id = 3) const uint LANES = 16u; // a power of two up to 32
layout(constant_id = 4) const uint HELD = 1u;
layout(constant_id = 5) const uint ROWS = 1u;
layout(constant_id = 6) const uint STEPS = 16u; // up to 256
layout(push_constant) uniform Push {
    uvec2 x, delta, a, b, c, d, state, y, last, sums;
    uint batch, steps, heads, rows, groups, n;
} p;

#define X T_compute
#ifdef USE_f64
#define SUM_load load_f64
#define SUM_store store_f64
#define SUM_BYTES 8u
#else
#define SUM_load load_f32
#define SUM_store store_f32
#define SUM_BYTES 4u
#endif

const uint LINES = 256u / LANES;
const uint BLOCK = LINES * ROWS; // rows of a workgroup
const uint TILE = LANES * HELD;  // states of a row in a turn

shared X inputs[STEPS * BLOCK];                   // delta * x
shared X deltas[PER_ROW ? STEPS * BLOCK : STEPS]; // delta of a row, or the decay of the head
shared X bs[STEPS * TILE];
shared X cs[STEPS * TILE];
shared X parts[STEPS * ROWS * 256u];

uint lane, head, first, group_of_head, n0;
uvec2 x, delta, a, b, c;

// `count` steps from the step numbered `at`, counted over the whole batch.
void fetch(uint at, uint count) {
    uint t = gl_LocalInvocationIndex;
    for (uint i = t; i < count * BLOCK; i += 256u) {
        uint step = i / BLOCK, row = first + i % BLOCK;
        X v = X(0), dt = X(0);
        if (row < p.rows) {
            v = T_load(advance(x, at + step, p.heads * p.rows * T_BYTES), head * p.rows + row);
            dt = PER_ROW ? T_load(advance(delta, at + step, p.rows * T_BYTES), row) : T_load(advance(delta, at + step, p.heads * T_BYTES), head);
        }
        inputs[i] = v * dt;
        if (PER_ROW) deltas[i] = dt;
    }
    if (!PER_ROW && t < count) deltas[t] = m_exp(T_load(advance(delta, at + t, p.heads * T_BYTES), head) * T_load(a, head));
    for (uint i = t; i < count * TILE; i += 256u) {
        uint step = i / TILE, n = n0 + i % TILE, from = group_of_head * p.n + n;
        X bv = X(0), cv = X(0);
        if (n < p.n) {
            bv = T_load(advance(b, at + step, p.groups * p.n * T_BYTES), from);
            cv = T_load(advance(c, at + step, p.groups * p.n * T_BYTES), from);
        }
        bs[i] = bv;
        cs[i] = cv;
    }
}

// Adds the lanes' parts of `count` steps from `at` on. In every turn of n the same invocation does a row of a step.
void finish(uint at, uint count, bool last_turn) {
    uvec2 y = resolve(p.y), d = resolve(p.d);
    for (uint i = gl_LocalInvocationIndex; i < count * BLOCK; i += 256u) {
        uint step = i / BLOCK, r = i % BLOCK, row = first + r, from = (step * ROWS + r / LINES) * 256u + r % LINES * LANES;
        if (row >= p.rows) continue;
        X total = X(0);
        // Neighbours start at different lanes, so that they read different banks.
        for (uint k = 0u; k < LANES; ++k) total += parts[from + ((k + r) & (LANES - 1u))];
        uint wide = p.heads * p.rows, place = head * p.rows + row;
        uvec2 sums = advance(p.sums, at + step, wide * SUM_BYTES);
        if (n0 > 0u) total += SUM_load(sums, place);
        if (!last_turn) {
            SUM_store(sums, place, total);
            continue;
        }
        if (D) total += T_load(d, row) * T_load(advance(x, at + step, wide * T_BYTES), place);
        T_store(advance(y, at + step, wide * T_BYTES), place, total);
    }
}

void main() {
    uint blocks = (p.rows + BLOCK - 1u) / BLOCK, group = group_index(), rest = group / blocks, t = gl_LocalInvocationIndex;
    uint batch = rest / p.heads, line = t / LANES;
    if (batch >= p.batch) return;
    head = rest % p.heads;
    first = group % blocks * BLOCK;
    lane = t % LANES;
    group_of_head = head / (p.heads / p.groups);
    x = resolve(p.x);
    delta = resolve(p.delta);
    a = resolve(p.a);
    b = resolve(p.b);
    c = resolve(p.c);
    uvec2 state = resolve(p.state), last = resolve(p.last);

    for (n0 = 0u; n0 == 0u || n0 < p.n; n0 += TILE) {
        X held[ROWS * HELD], rates[PER_ROW ? ROWS * HELD : 1u];
        [[unroll]] for (uint m = 0u; m < ROWS; ++m) {
            uint row = first + line + LINES * m, place = (batch * p.heads + head) * p.rows + row;
            [[unroll]] for (uint r = 0u; r < HELD; ++r) {
                uint n = n0 + lane + LANES * r;
                bool there = row < p.rows && n < p.n;
                held[m * HELD + r] = X(0);
                if (STATE && there) held[m * HELD + r] = T_load(advance(state, place, p.n * T_BYTES), n);
                if (PER_ROW) {
                    rates[m * HELD + r] = X(0);
                    if (there) rates[m * HELD + r] = T_load(advance(a, row, p.n * T_BYTES), n);
                }
            }
        }
        for (uint s0 = 0u; s0 < p.steps; s0 += STEPS) {
            uint at = batch * p.steps + s0, count = min(STEPS, p.steps - s0);
            fetch(at, count);
            barrier();
            for (uint step = 0u; step < count; ++step) {
                [[unroll]] for (uint m = 0u; m < ROWS; ++m) {
                    uint r0 = step * BLOCK + line + LINES * m;
                    X v = inputs[r0], total = X(0);
                    [[unroll]] for (uint r = 0u; r < HELD; ++r) {
                        uint i = m * HELD + r, n = step * TILE + lane + LANES * r;
                        X decay;
                        if (PER_ROW) decay = m_exp(deltas[r0] * rates[i]);
                        else decay = deltas[step];
                        held[i] = decay * held[i] + v * bs[n];
                        total += held[i] * cs[n];
                    }
                    parts[(step * ROWS + m) * 256u + t] = total;
                }
            }
            barrier();
            finish(at, count, n0 + TILE >= p.n);
        }
        [[unroll]] for (uint m = 0u; m < ROWS; ++m) {
            uint row = first + line + LINES * m, place = (batch * p.heads + head) * p.rows + row;
            [[unroll]] for (uint r = 0u; r < HELD; ++r) {
                uint n = n0 + lane + LANES * r;
                if (row < p.rows && n < p.n) T_store(advance(last, place, p.n * T_BYTES), n, held[m * HELD + r]);
            }
        }
    }
}
