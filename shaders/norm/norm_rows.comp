#version 460
// Norms of rows of s = x (+ residual) (+ bias), unrounded:
//   y = (s - CENTER * mean(s)) / sqrt(mean of squares of that + eps) * gamma (+ beta), or with EUCLID y = s / max(sqrt(sum of squares), eps).
// With RESIDUAL s is stored too. x, residual, y, sum [rows, len]; bias, gamma, beta [len], or with CHANNELS gamma, beta [groups * per]: element i of
// row r takes number (r mod groups) * per + i / inner.
// LANES invocations (a power of two) work on a row, 256 / LANES rows a workgroup. An element is read once: an invocation keeps HELD steps of VEC elements
// in registers (VEC = PIECE, 16 bytes at once, or 1), and what a longer row has more is read again.
// Means are of two passes, the second of which corrects the first: a row of 1e4 and tiny differences keeps its digits. Rows whose squares leave
// the range of floats are scaled by a power of two first.
#include "common/types.glsl"
#include "common/subgroup.glsl"
#include "common/piece.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool CENTER = false;
layout(constant_id = 1) const bool RESIDUAL = false;
layout(constant_id = 2) const bool BIAS = false;
layout(constant_id = 3) const bool BETA = false;
layout(constant_id = 4) const uint HELD = 4u;
layout(constant_id = 5) const uint VEC = 1u;
layout(constant_id = 6) const uint LANES = 256u;
layout(constant_id = 7) const bool CHANNELS = false;
layout(constant_id = 8) const bool EUCLID = false;
layout(push_constant) uniform Push {
    uvec2 x, residual, bias, gamma, beta, y, sum;
    uint rows, len, groups, per, inner;
    float eps;
} p;

#define X T_compute

const uint KEPT = HELD * VEC;
X held[KEPT];
uvec2 x, residual, bias, sum;
uint lane;
X scale = X(1);

shared X part_a[256];
shared X part_b[256];

X join(bool maximum, X b, X c) { return maximum ? max(b, c) : b + c; }

// The sum of a and the maximum (or sum) of b over the row's invocations. All of the workgroup must call.
void over_row(bool maximum, inout X a, inout X b) {
    uint at = gl_LocalInvocationID.x;
    barrier();
    if (LANES == 256u) {
        a = subgroupAdd(a);
        b = maximum ? subgroupMax(b) : subgroupAdd(b);
        if (subgroupElect()) {
            part_a[gl_SubgroupID] = a;
            part_b[gl_SubgroupID] = b;
        }
        barrier();
        a = part_a[0];
        b = part_b[0];
        for (uint i = 1u; i < gl_NumSubgroups; ++i) {
            a += part_a[i];
            b = join(maximum, b, part_b[i]);
        }
        return;
    }
    part_a[at] = a;
    part_b[at] = b;
    barrier();
    for (uint reach = LANES / 2u; reach > 0u; reach /= 2u) {
        if (lane < reach) {
            part_a[at] += part_a[at + reach];
            part_b[at] = join(maximum, part_b[at], part_b[at + reach]);
        }
        barrier();
    }
    a = part_a[at - lane];
    b = part_b[at - lane];
}

// Elements step * VEC .. of s into piece[].
void fetch(uint step) {
    if (VEC == 1u) {
        piece[0] = T_load(x, step);
        if (RESIDUAL) piece[0] += T_load(residual, step);
        if (BIAS) piece[0] += T_load(bias, step);
        return;
    }
    load_piece(x, step);
    if (RESIDUAL) {
        X s[PIECE] = piece;
        load_piece(residual, step);
        [[unroll]] for (uint e = 0u; e < PIECE; ++e) piece[e] += s[e];
    }
    if (BIAS) {
        X s[PIECE] = piece;
        load_piece(bias, step);
        [[unroll]] for (uint e = 0u; e < PIECE; ++e) piece[e] += s[e];
    }
}

void put(uvec2 to, uint step) {
    if (VEC == 1u) T_store(to, step, piece[0]);
    else store_piece(to, step);
}

// Runs `body` for each element v of s times scale that this invocation has.
#define EACH(body)                                                                                                               \
    [[unroll]] for (uint k = 0u; k < HELD; ++k) {                                                                                \
        if (lane + k * LANES < steps) {                                                                                          \
            [[unroll]] for (uint e = 0u; e < VEC; ++e) {                                                                         \
                X v = held[k * VEC + e];                                                                                         \
                body                                                                                                             \
            }                                                                                                                    \
        }                                                                                                                        \
    }                                                                                                                            \
    for (uint step = lane + HELD * LANES; step < steps; step += LANES) {                                                         \
        fetch(step);                                                                                                             \
        [[unroll]] for (uint e = 0u; e < VEC; ++e) {                                                                             \
            X v = piece[e] * scale;                                                                                              \
            body                                                                                                                 \
        }                                                                                                                        \
    }

X gamma_of(uvec2 gamma, uint row, uint i) { return T_load(gamma, CHANNELS ? (row % p.groups) * p.per + i / p.inner : i); }

// piece[] times gamma plus beta.
void affine(uvec2 gamma, uvec2 beta, uint row, uint step) {
    X r[PIECE] = piece;
    if (!CHANNELS && VEC > 1u) {
        load_piece(gamma, step);
        [[unroll]] for (uint e = 0u; e < PIECE; ++e) r[e] *= piece[e];
        if (BETA) {
            load_piece(beta, step);
            [[unroll]] for (uint e = 0u; e < PIECE; ++e) r[e] += piece[e];
        }
    } else {
        [[unroll]] for (uint e = 0u; e < VEC; ++e) {
            r[e] *= gamma_of(gamma, row, step * VEC + e);
            if (BETA) r[e] += gamma_of(beta, row, step * VEC + e);
        }
    }
    piece = r;
}

void main() {
    uint row = group_index() * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    lane = gl_LocalInvocationID.x % LANES;
    uint bytes = p.len * T_BYTES, steps = row < p.rows ? p.len / VEC : 0u;
    x = advance(resolve(p.x), row, bytes);
    residual = advance(resolve(p.residual), row, bytes);
    bias = resolve(p.bias);
    sum = advance(resolve(p.sum), row, bytes);

    X total = X(0), most = X(0);
    [[unroll]] for (uint k = 0u; k < HELD; ++k) {
        uint step = lane + k * LANES;
        if (step < steps) {
            fetch(step);
            if (RESIDUAL) put(sum, step);
            [[unroll]] for (uint e = 0u; e < VEC; ++e) held[k * VEC + e] = piece[e];
        }
    }
    if (RESIDUAL) {
        for (uint step = lane + HELD * LANES; step < steps; step += LANES) {
            fetch(step);
            put(sum, step);
        }
    }
    EACH({
        total += v;
        most = max(most, abs(v));
    })
    over_row(true, total, most);

    X eps = X(p.eps), largest = max(most, EUCLID ? eps : sqrt(eps));
    if ((largest > X(1e15) || largest < X(1e-10)) && largest > X(0) && !is_inf(most)) {
        // The exponents of f32 will do: what is outside of them is scaled to their ends.
        uint exponent = clamp(floatBitsToUint(float(largest)) >> 23, 1u, 253u);
        scale = X(uintBitsToFloat((254u - exponent) << 23));
        // Not eps * scale * scale: a driver may multiply the scales first, and their product may be infinite.
        X root = sqrt(eps) * scale;
        eps = EUCLID ? eps * scale : root * root;
        [[unroll]] for (uint k = 0u; k < KEPT; ++k) held[k] *= scale;
    }
    X n = X(p.len), mean = CENTER ? total / n * scale : X(0), first = X(0), second = X(0);
    EACH({
        X d = v - mean;
        first += d;
        second += d * d;
    })
    over_row(false, first, second);
    // The correction stays apart: added to a large mean it would be rounded away.
    X shift = CENTER ? first / n : X(0);
    X factor = X(1) / (EUCLID ? max(sqrt(second), eps) : sqrt(max(second / n - shift * shift, X(0)) + eps));
    if (is_nan(second)) factor = second;

    uvec2 y = advance(resolve(p.y), row, bytes), gamma = resolve(p.gamma), beta = resolve(p.beta);
    [[unroll]] for (uint k = 0u; k < HELD; ++k) {
        uint step = lane + k * LANES;
        if (step < steps) {
            [[unroll]] for (uint e = 0u; e < VEC; ++e) piece[e] = ((held[k * VEC + e] - mean) - shift) * factor;
            if (!EUCLID) affine(gamma, beta, row, step);
            put(y, step);
        }
    }
    for (uint step = lane + HELD * LANES; step < steps; step += LANES) {
        fetch(step);
        [[unroll]] for (uint e = 0u; e < VEC; ++e) piece[e] = ((piece[e] * scale - mean) - shift) * factor;
        if (!EUCLID) affine(gamma, beta, row, step);
        put(y, step);
    }
}
