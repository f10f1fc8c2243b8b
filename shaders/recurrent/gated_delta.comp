#version 460
// The gated delta rule, step by step: S *= exp(g); d[j] = beta * (v[j] - sum over i of S[i,j] k[i]); S[i,j] += k[i] d[j];
// y[j] = scale * sum over i of S[i,j] q[i]. The last sum is made of sums before the update: S q = (exp(g) S) q + (k q) d.
// q, k [batch, steps, heads, n]; v, y [batch, steps, heads, m]; g [batch, steps, heads], with VECTOR also n; beta [batch, steps, heads];
// state, last [batch, heads, n, m].
// The columns of S do not meet: a workgroup does 128 / LANES of them of one head, LANES lanes a column. With HELD > 0 a lane keeps 4 * HELD
// states in registers, and STEPS steps of q, k and g are read into shared memory. With HELD 0 the states lie in scratch (as wide as the
// sums; for each workgroup and each LANES rows of S 128 of them), for any n.
#include "common/types.glsl"
#include "common/subgroup.glsl"
#include "common/math.glsl"

layout(local_size_x = 128) in;
layout(constant_id = 0) const bool VECTOR = false;
layout(constant_id = 1) const bool STATE = false;
layout(constant_id = 2) const uint LANES = 8u; // a power of two up to the subgroup
layout(constant_id = 3) const uint HELD = 4u;
layout(constant_id = 4) const uint STEPS = 8u; // up to 128
layout(constant_id = 5) const bool PADDED = false; // n is below 4 * LANES * HELD
layout(push_constant) uniform Push {
    uvec2 q, k, v, g, beta, state, y, last, scratch;
    uint batch, steps, heads, n, m;
    float scale;
} p;

#define X T_compute
#ifdef USE_f64
#define X4 dvec4
#define SUM_load load_f64
#define SUM_store store_f64
#define SUM_BYTES 8u
#else
#define X4 vec4
#define SUM_load load_f32
#define SUM_store store_f32
#define SUM_BYTES 4u
#endif

const uint COLUMNS = 128u / LANES;
const uint VECTORS = HELD == 0u ? 1u : LANES * HELD;
// Gates of a step: one for all of S, or of each of its rows, 1 for those beyond n.
const bool SPREAD = VECTOR || PADDED;
const uint GATES = SPREAD ? VECTORS : 1u;

shared X4 keys[STEPS * VECTORS];
shared X4 queries[STEPS * VECTORS];
shared X4 gates[STEPS * GATES];
shared X values[STEPS * COLUMNS];
shared X betas[STEPS];

// What an invocation reads of the steps that come next, while those in shared memory are scanned.
const uint OWN_VECTORS = (STEPS * VECTORS + 127u) / 128u;
const uint OWN_VALUES = (STEPS * COLUMNS + 127u) / 128u;
X4 next_keys[OWN_VECTORS], next_queries[OWN_VECTORS], next_gates[OWN_VECTORS];
X next_values[OWN_VALUES], next_beta;

uint lane, column, head, batch, j;
uvec2 q, k, v, g, beta, y;

// Sums of three values over the lanes of a column.
void sum_lanes(inout X u, inout X w, inout X kq) {
    for (uint mask = 1u; mask < LANES; mask <<= 1u) {
        u += subgroupShuffleXor(u, mask);
        w += subgroupShuffleXor(w, mask);
        kq += subgroupShuffleXor(kq, mask);
    }
}

// Vector i of a row of n elements, zeros beyond its end.
X4 load4(uvec2 row, uint i) {
    X4 r = X4(0);
    [[unroll]] for (uint e = 0u; e < 4u; ++e) {
        if (4u * i + e < p.n) r[e] = T_load(row, 4u * i + e);
    }
    return r;
}

X4 exp4(X4 a) { return X4(m_exp(a.x), m_exp(a.y), m_exp(a.z), m_exp(a.w)); }

// Reads `count` steps from the step numbered `at`, counted over the whole batch.
void read(uint at, uint count) {
    uint t = gl_LocalInvocationIndex, bytes = p.n * T_BYTES;
    [[unroll]] for (uint c = 0u; c < OWN_VECTORS; ++c) {
        uint i = t + 128u * c, step = i / VECTORS, place = (at + step) * p.heads + head, vector = i % VECTORS;
        if (step < count) {
            next_keys[c] = load4(advance(k, place, bytes), vector);
            next_queries[c] = load4(advance(q, place, bytes), vector);
            if (VECTOR) next_gates[c] = load4(advance(g, place, bytes), vector);
            else if (SPREAD) next_gates[c].x = T_load(g, place);
        }
    }
    [[unroll]] for (uint c = 0u; c < OWN_VALUES; ++c) {
        uint i = t + 128u * c, step = i / COLUMNS, other = j - column + i % COLUMNS;
        next_values[c] = X(0);
        if (step < count && other < p.m) next_values[c] = T_load(advance(v, (at + step) * p.heads + head, p.m * T_BYTES), other);
    }
    if (t < count) {
        next_beta = T_load(beta, (at + t) * p.heads + head);
        if (!SPREAD) next_gates[0].x = T_load(g, (at + t) * p.heads + head);
    }
}

// Puts what was read into shared memory.
void place() {
    uint t = gl_LocalInvocationIndex;
    [[unroll]] for (uint c = 0u; c < OWN_VECTORS; ++c) {
        uint i = t + 128u * c;
        if (i >= STEPS * VECTORS) break;
        keys[i] = next_keys[c];
        queries[i] = next_queries[c];
        if (SPREAD) {
            X4 gate = VECTOR ? exp4(next_gates[c]) : X4(m_exp(next_gates[c].x));
            [[unroll]] for (uint e = 0u; e < 4u; ++e) {
                if (4u * (i % VECTORS) + e >= p.n) gate[e] = X(1);
            }
            gates[i] = gate;
        }
    }
    [[unroll]] for (uint c = 0u; c < OWN_VALUES; ++c) {
        if (t + 128u * c < STEPS * COLUMNS) values[t + 128u * c] = next_values[c];
    }
    if (t < STEPS) {
        betas[t] = next_beta;
        if (!SPREAD) gates[t] = X4(m_exp(next_gates[0].x));
    }
}

// y of the step numbered `at`.
void put(uint at, X sum) {
    if (lane == 0u && j < p.m) T_store(advance(y, at * p.heads + head, p.m * T_BYTES), j, X(p.scale) * sum);
}

void scan_registers(uvec2 state, uvec2 last) {
    X4 s[HELD == 0u ? 1u : HELD];
    [[unroll]] for (uint r = 0u; r < HELD; ++r) {
        s[r] = X4(0);
        [[unroll]] for (uint e = 0u; e < 4u; ++e) {
            uint i = 4u * (lane + LANES * r) + e;
            if (STATE && i < p.n && j < p.m) s[r][e] = T_load(advance(state, i, p.m * T_BYTES), j);
        }
    }
    next_beta = X(0);
    [[unroll]] for (uint c = 0u; c < OWN_VECTORS; ++c) next_keys[c] = next_queries[c] = next_gates[c] = X4(0);
    if (p.steps > 0u) read(batch * p.steps, min(STEPS, p.steps));
    for (uint s0 = 0u; s0 < p.steps; s0 += STEPS) {
        uint at = batch * p.steps + s0, count = min(STEPS, p.steps - s0);
        place();
        barrier();
        if (s0 + STEPS < p.steps) read(at + STEPS, min(STEPS, p.steps - s0 - STEPS));
        for (uint step = 0u; step < count; ++step) {
            X4 us = X4(0), ws = X4(0), ks = X4(0);
            [[unroll]] for (uint r = 0u; r < HELD; ++r) {
                uint i = step * VECTORS + lane + LANES * r;
                s[r] *= gates[SPREAD ? i : step];
                us += s[r] * keys[i];
                ws += s[r] * queries[i];
                ks += keys[i] * queries[i];
            }
            X u = (us.x + us.y) + (us.z + us.w), w = (ws.x + ws.y) + (ws.z + ws.w), kq = (ks.x + ks.y) + (ks.z + ks.w);
            sum_lanes(u, w, kq);
            X d = (values[step * COLUMNS + column] - u) * betas[step];
            [[unroll]] for (uint r = 0u; r < HELD; ++r) s[r] += keys[step * VECTORS + lane + LANES * r] * d;
            put(at + step, w + kq * d);
        }
        barrier();
    }
    [[unroll]] for (uint r = 0u; r < HELD; ++r) {
        [[unroll]] for (uint e = 0u; e < 4u; ++e) {
            uint i = 4u * (lane + LANES * r) + e;
            if (i < p.n && j < p.m) T_store(advance(last, i, p.m * T_BYTES), j, s[r][e]);
        }
    }
}

void scan_scratch(uvec2 state, uvec2 last, uvec2 scratch) {
    uint t = gl_LocalInvocationIndex, bytes = p.n * T_BYTES;
    for (uint i = lane, at = t; i < p.n; i += LANES, at += 128u) {
        X s = X(0);
        if (STATE && j < p.m) s = T_load(advance(state, i, p.m * T_BYTES), j);
        SUM_store(scratch, at, s);
    }
    for (uint step = batch * p.steps; step < (batch + 1u) * p.steps; ++step) {
        uint place = step * p.heads + head;
        uvec2 keys_at = advance(k, place, bytes), queries_at = advance(q, place, bytes), gates_at = advance(g, place, VECTOR ? bytes : T_BYTES);
        X gate = X(1), u = X(0), w = X(0), kq = X(0);
        if (!VECTOR) gate = m_exp(T_load(gates_at, 0u));
        for (uint i = lane, at = t; i < p.n; i += LANES, at += 128u) {
            if (VECTOR) gate = m_exp(T_load(gates_at, i));
            X s = SUM_load(scratch, at) * gate, key = T_load(keys_at, i), query = T_load(queries_at, i);
            SUM_store(scratch, at, s);
            u += s * key;
            w += s * query;
            kq += key * query;
        }
        sum_lanes(u, w, kq);
        X value = X(0);
        if (j < p.m) value = T_load(advance(v, place, p.m * T_BYTES), j);
        X d = (value - u) * T_load(beta, place);
        for (uint i = lane, at = t; i < p.n; i += LANES, at += 128u) {
            SUM_store(scratch, at, SUM_load(scratch, at) + T_load(keys_at, i) * d);
        }
        put(step, w + kq * d);
    }
    for (uint i = lane, at = t; i < p.n; i += LANES, at += 128u) {
        if (j < p.m) T_store(advance(last, i, p.m * T_BYTES), j, SUM_load(scratch, at));
    }
}

void main() {
    uint blocks = (p.m + COLUMNS - 1u) / COLUMNS, group = group_index(), rest = group / blocks, t = gl_LocalInvocationIndex;
    batch = rest / p.heads;
    if (batch >= p.batch) return;
    head = rest % p.heads;
    lane = t % LANES;
    column = t / LANES;
    j = group % blocks * COLUMNS + column;
    q = resolve(p.q);
    k = resolve(p.k);
    v = resolve(p.v);
    g = resolve(p.g);
    beta = resolve(p.beta);
    y = resolve(p.y);
    // [n, m] of this head.
    uvec2 state = advance(resolve(p.state), (batch * p.heads + head) * p.n, p.m * T_BYTES);
    uvec2 last = advance(resolve(p.last), (batch * p.heads + head) * p.n, p.m * T_BYTES);
    if (HELD > 0u) scan_registers(state, last);
    else scan_scratch(state, last, advance(p.scratch, group, (p.n + LANES - 1u) / LANES * 128u * SUM_BYTES));
}
