#version 460
// Scans whose states decay one by one: S[r,n] = decay * S[r,n] + delta * x[r] * b[n]; y[r] = sum over n of S[r,n] * c[n] (+ d[r] * x[r]).
// PER_ROW (SelectiveScan): one head, each row has its delta, decay = exp(delta * a[r,n]). Else (Mamba2) delta and decay = exp(delta * a) are
// those of the head. x, y [batch, steps, heads, rows]; delta [batch, steps, heads] or [batch, steps, rows]; a [heads] or [rows, n];
// b, c [batch, steps, groups, n], head h uses group h / (heads / groups); d [rows]; state, last [batch, heads, rows, n].
// sums [batch, steps, heads, rows]: y so far, where n is above LANES * HELD and is done in turns; untouched otherwise.
// A workgroup does ROWS * 256 / LANES rows of one head: LANES lanes a row, HELD states a lane along n and ROWS along the rows, in registers. It
// reads STEPS steps into shared memory, scans them, then adds what the lanes of a row have, in a fixed order.
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

// Elements of a turn of steps that an invocation reads.
const uint OWN_ROWS = (STEPS * BLOCK + 255u) / 256u;
const uint OWN_STATES = (STEPS * TILE + 255u) / 256u;

uint lane, head, first, group_of_head, n0;
uvec2 x, delta, a, b, c;
// The steps that come next are read while those in shared memory are scanned.
X next_x[OWN_ROWS], next_delta[OWN_ROWS], next_b[OWN_STATES], next_c[OWN_STATES], next_decay;
X x_now[OWN_ROWS];

// Reads `count` steps from the step numbered `at`, counted over the whole batch.
void read(uint at, uint count) {
    uint t = gl_LocalInvocationIndex;
    [[unroll]] for (uint j = 0u; j < OWN_ROWS; ++j) {
        uint i = t + 256u * j, step = i / BLOCK, row = first + i % BLOCK;
        next_x[j] = X(0);
        next_delta[j] = X(0);
        if (step < count && row < p.rows) {
            next_x[j] = T_load(advance(x, at + step, p.heads * p.rows * T_BYTES), head * p.rows + row);
            next_delta[j] = PER_ROW ? T_load(advance(delta, at + step, p.rows * T_BYTES), row) : T_load(advance(delta, at + step, p.heads * T_BYTES), head);
        }
    }
    if (!PER_ROW && t < count) next_decay = T_load(advance(delta, at + t, p.heads * T_BYTES), head);
    [[unroll]] for (uint j = 0u; j < OWN_STATES; ++j) {
        uint i = t + 256u * j, step = i / TILE, n = n0 + i % TILE, from = group_of_head * p.n + n;
        next_b[j] = X(0);
        next_c[j] = X(0);
        if (step < count && n < p.n) {
            next_b[j] = T_load(advance(b, at + step, p.groups * p.n * T_BYTES), from);
            next_c[j] = T_load(advance(c, at + step, p.groups * p.n * T_BYTES), from);
        }
    }
}

// Puts what was read into shared memory.
void place(X rate) {
    uint t = gl_LocalInvocationIndex;
    [[unroll]] for (uint j = 0u; j < OWN_ROWS; ++j) {
        uint i = t + 256u * j;
        x_now[j] = next_x[j];
        if (i < STEPS * BLOCK) {
            inputs[i] = next_x[j] * next_delta[j];
            if (PER_ROW) deltas[i] = next_delta[j];
        }
    }
    if (!PER_ROW && t < STEPS) deltas[t] = m_exp(next_decay * rate);
    [[unroll]] for (uint j = 0u; j < OWN_STATES; ++j) {
        uint i = t + 256u * j;
        if (i < STEPS * TILE) {
            bs[i] = next_b[j];
            cs[i] = next_c[j];
        }
    }
}

// Adds the lanes' parts of `count` steps from `at` on. In every turn of n the same invocation does a row of a step, the one that read its x.
void finish(uint at, uint count, bool last_turn) {
    uvec2 y = resolve(p.y), d = resolve(p.d);
    [[unroll]] for (uint j = 0u; j < OWN_ROWS; ++j) {
        uint i = gl_LocalInvocationIndex + 256u * j, step = i / BLOCK, r = i % BLOCK, row = first + r;
        if (step >= count || row >= p.rows) continue;
        X total = X(0);
        // Neighbours start at different lanes, so that they read different banks.
        uint from = (step * ROWS + r / LINES) * 256u + r % LINES * LANES;
        for (uint k = 0u; k < LANES; ++k) total += parts[from + ((k + r) & (LANES - 1u))];
        uint wide = p.heads * p.rows, column = head * p.rows + row;
        uvec2 sums = advance(p.sums, at + step, wide * SUM_BYTES);
        if (n0 > 0u) total += SUM_load(sums, column);
        if (last_turn) {
            if (D) total += T_load(d, row) * x_now[j];
            T_store(advance(y, at + step, wide * T_BYTES), column, total);
        } else {
            SUM_store(sums, column, total);
        }
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
    X rate = PER_ROW ? X(0) : T_load(a, head);
    next_decay = X(0);

    for (n0 = 0u; n0 == 0u || n0 < p.n; n0 += TILE) {
        X held[ROWS * HELD], rates[PER_ROW ? ROWS * HELD : 1u];
        [[unroll]] for (uint m = 0u; m < ROWS; ++m) {
            uint row = first + line + LINES * m, line_of_states = (batch * p.heads + head) * p.rows + row;
            [[unroll]] for (uint r = 0u; r < HELD; ++r) {
                uint n = n0 + lane + LANES * r;
                bool there = row < p.rows && n < p.n;
                held[m * HELD + r] = X(0);
                if (STATE && there) held[m * HELD + r] = T_load(advance(state, line_of_states, p.n * T_BYTES), n);
                if (PER_ROW) {
                    rates[m * HELD + r] = X(0);
                    if (there) rates[m * HELD + r] = T_load(advance(a, row, p.n * T_BYTES), n);
                }
            }
        }
        if (p.steps > 0u) read(batch * p.steps, min(STEPS, p.steps));
        for (uint s0 = 0u; s0 < p.steps; s0 += STEPS) {
            uint at = batch * p.steps + s0, count = min(STEPS, p.steps - s0);
            place(rate);
            barrier();
            if (s0 + STEPS < p.steps) read(at + STEPS, min(STEPS, p.steps - s0 - STEPS));
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
            uint row = first + line + LINES * m, line_of_states = (batch * p.heads + head) * p.rows + row;
            [[unroll]] for (uint r = 0u; r < HELD; ++r) {
                uint n = n0 + lane + LANES * r;
                if (row < p.rows && n < p.n) T_store(advance(last, line_of_states, p.n * T_BYTES), n, held[m * HELD + r]);
            }
        }
    }
}
