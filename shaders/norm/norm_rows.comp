#version 460
// Norms of rows: y = (s - CENTER * mean(s)) / sqrt(mean of squares of that + eps) * gamma (+ beta), where s = x (+ residual) (+ bias), unrounded.
// With RESIDUAL s is stored too. x, residual, y, sum [rows, len]; bias, gamma, beta [len]. One workgroup a row. HELD elements an invocation are
// kept in registers, so that rows of up to 256 * HELD are read once; longer ones are read again.
// Means are of two passes, the second of which corrects the first: a row of 1e4 and tiny differences keeps its digits. Rows whose squares leave
// the range of floats are scaled by their largest value first.
#include "common/types.glsl"
#include "common/reduce.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const bool CENTER = false;
layout(constant_id = 1) const bool RESIDUAL = false;
layout(constant_id = 2) const bool BIAS = false;
layout(constant_id = 3) const bool BETA = false;
layout(constant_id = 4) const uint HELD = 4u;
layout(push_constant) uniform Push {
    uvec2 x, residual, bias, gamma, beta, y, sum;
    uint rows, len;
    float eps;
} p;

#define X T_compute

X held[HELD];
uvec2 x, residual, bias;

X element(uint i) {
    X v = T_load(x, i);
    if (RESIDUAL) v += T_load(residual, i);
    if (BIAS) v += T_load(bias, i);
    return v;
}
X at(uint k, uint i) { return k < HELD ? held[k] : element(i); }

void main() {
    uint row = group_index();
    if (row >= p.rows) return;
    uint bytes = p.len * T_BYTES, lane = gl_LocalInvocationID.x;
    x = advance(resolve(p.x), row, bytes);
    residual = advance(resolve(p.residual), row, bytes);
    bias = resolve(p.bias);
    uvec2 y = advance(resolve(p.y), row, bytes), sum = advance(resolve(p.sum), row, bytes), gamma = resolve(p.gamma), beta = resolve(p.beta);

    X total = X(0), squares = X(0);
    [[unroll]] for (uint k = 0u; k < HELD; ++k) {
        uint i = lane + k * 256u;
        if (i < p.len) {
            held[k] = element(i);
            total += held[k];
            squares += held[k] * held[k];
        }
    }
    for (uint i = lane + HELD * 256u; i < p.len; i += 256u) {
        X v = element(i);
        total += v;
        squares += v * v;
    }
    X n = X(p.len), mean = X(0), shift = X(0), scale = X(1), eps = X(p.eps);
    if (CENTER) {
        mean = group_sum(total) / n;
        X first = X(0), second = X(0);
        for (uint i = lane, k = 0u; i < p.len; i += 256u, ++k) {
            X d = at(k, i) - mean;
            first += d;
            second += d * d;
        }
        first = group_sum(first) / n;
        squares = group_sum(second) / n - first * first;
        shift = first; // apart: added to a large mean it would be rounded away
    } else {
        squares = group_sum(squares) / n;
        if (!(squares < X(1e37)) || squares < X(1e-30)) {
            X most = X(0);
            for (uint i = lane, k = 0u; i < p.len; i += 256u, ++k) most = max(most, abs(at(k, i)));
            most = group_max(most);
            if (most > X(0) && !is_inf(most)) {
                scale = X(1) / most;
                squares = X(0);
                for (uint i = lane, k = 0u; i < p.len; i += 256u, ++k) {
                    X v = at(k, i) * scale;
                    squares += v * v;
                }
                squares = group_sum(squares) / n;
                eps *= scale;
                eps *= scale;
            }
        }
    }
    X factor = X(1) / sqrt(max(squares, X(0)) + eps);
    if (is_nan(squares)) factor = squares;
    for (uint i = lane, k = 0u; i < p.len; i += 256u, ++k) {
        X v = at(k, i);
        if (RESIDUAL) T_store(sum, i, v);
        X r = ((v - mean) - shift) * scale * factor * T_load(gamma, i);
        if (BETA) r += T_load(beta, i);
        T_store(y, i, r);
    }
}
