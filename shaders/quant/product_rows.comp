#version 460
// y = x @ dequant(w)^T for few rows of x: w [n,k] of packed blocks is read once for COLS rows of x [m,k]; y [m,n].
// GROUPED: row i of x is multiplied by w[idx[i]] of w [experts,n,k]; idx is checked.
//
// A team of LANES invocations computes ROWS rows of w: an invocation takes every LANES-th piece of a row (decode.glsl), expands a
// few weights at a time and multiplies them with all rows of x. Scale and minimum are applied once a run of weights:
// sum(w x) = scale * sum(q x) - (low + ZERO * scale) * sum(x), q being what unpack() gives.
// Infinite or NaN scales and values of x do not survive that exchange, so results that are not finite are computed again from
// rounded weights. Sums are f32 (f64 for T f64).
// A workgroup covers 128 / LANES teams. LANES is at least the subgroup's size. Limits: n < 2^28, bytes of a row of w < 2^32.
#include "quant/real.glsl"
#include "common/subgroup.glsl"
#include "common/run_state.glsl"
#include "quant/decode.glsl"
#include "quant/index.glsl"

layout(local_size_x = 128) in;
// Not specialization constants: what is indexed by them must be registers, so their loops must be unrolled when this is compiled.
#ifdef COLS_1
const uint COLS = 1u;
#else
const uint COLS = 4u;
#endif
#ifdef T_f64
const uint ROWS = 1u;
#else
const uint ROWS = 2u;
#endif
layout(constant_id = 2) const uint LANES = 128u;
layout(constant_id = 3) const bool GROUPED = false;
layout(push_constant) uniform Push {
    uvec2 x, w, y, idx, state;
#ifdef CODEBOOK
    uvec2 codebook;
#endif
    uint m, n, k, experts, node;
} p;

shared REAL part[128u * ROWS * COLS / 4u]; // one a subgroup, row and column; a subgroup has at least 4 invocations
shared uint lost;

bool finite(REAL v) { return !is_nan(v) && !is_inf(v); }

uvec2 row_address(uint row) { return advance(resolve(p.w), row, p.k / BLOCK * BLOCK_BYTES); }
uvec2 x_address(uint i) { return advance(resolve(p.x), min(i, p.m - 1u), p.k * REAL_BYTES); }

void store(uint i, uint row, REAL v) {
    if (i < p.m && row < p.n) store_real(advance(resolve(p.y), i, p.n * REAL_BYTES), row, v);
}

// The partial sums of a team for one row and column, added up. All invocations must call.
REAL team_sum(REAL v, uint team) {
    v = subgroupAdd(v);
    barrier();
    if (subgroupElect()) part[gl_SubgroupID] = v;
    barrier();
    uint count = LANES / gl_SubgroupSize;
    REAL total = part[team * count];
    for (uint s = 1u; s < count; ++s) total += part[team * count + s];
    return total;
}

void main() {
    uint lane_of_all = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
    uint team = lane_of_all / LANES, lane = lane_of_all % LANES, teams = 128u / LANES;
    uint row_groups = (p.n + teams * ROWS - 1u) / (teams * ROWS), x_groups = (p.m + COLS - 1u) / COLS;
    uint group = group_index();
    if (group >= row_groups * x_groups) return;
#ifdef CODEBOOK
    decode_begin(resolve(p.codebook));
#else
    decode_begin(uvec2(0u));
#endif
    uint first_x = group % x_groups * COLS, first_row = (group / x_groups * teams + team) * ROWS, expert_row = 0u;
    if (GROUPED) expert_row = checked_index(resolve(p.idx), resolve(p.state), p.node, first_x, p.experts, false) * p.n;

    uvec2 at[ROWS], xs[COLS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) at[r] = row_address(expert_row + min(first_row + r, p.n - 1u));
    [[unroll]] for (uint c = 0u; c < COLS; ++c) xs[c] = x_address(first_x + c);
    REAL sums[ROWS * COLS];
    [[unroll]] for (uint i = 0u; i < ROWS * COLS; ++i) sums[i] = REAL(0);

    uint pieces = p.k / PIECE;
    for (uint i = lane; i < pieces; i += LANES) {
        uint block = i / PIECES, piece = i % PIECES;
        Raw raw[ROWS];
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) raw[r] = fetch(at_byte(at[r], block * BLOCK_BYTES), piece);
        [[unroll]] for (uint run = 0u; run < RUNS; ++run) {
            uint start = block * BLOCK + run_start(piece, run);
            REAL products[ROWS * COLS], total[COLS];
            [[unroll]] for (uint j = 0u; j < ROWS * COLS; ++j) products[j] = REAL(0);
            [[unroll]] for (uint c = 0u; c < COLS; ++c) total[c] = REAL(0);
            [[unroll]] for (uint t = 0u; t < RUN / 4u; ++t) {
                REAL4 q[ROWS];
                [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
#ifdef HAS_LOW
                    q[r] = REAL4(unpack(raw[r], run, t));
#else
                    q[r] = REAL4(unpack(raw[r], run, t) - ZERO);
#endif
                }
                [[unroll]] for (uint c = 0u; c < COLS; ++c) {
                    REAL4 v = load_real4(xs[c], start + 4u * t);
                    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                        uint j = r * COLS + c;
                        products[j] = fma(q[r].x, v.x, fma(q[r].y, v.y, fma(q[r].z, v.z, fma(q[r].w, v.w, products[j]))));
                    }
#ifdef HAS_LOW
                    total[c] += (v.x + v.y) + (v.z + v.w);
#endif
                }
            }
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                REAL scale = REAL(scale_of(raw[r], run));
#ifdef HAS_LOW
                REAL low = REAL(low_of(raw[r], run)) + REAL(ZERO) * scale;
#endif
                [[unroll]] for (uint c = 0u; c < COLS; ++c) {
                    uint j = r * COLS + c;
                    sums[j] = fma(scale, products[j], sums[j]);
#ifdef HAS_LOW
                    sums[j] = fma(-low, total[c], sums[j]);
#endif
                }
            }
        }
    }

    if (lane_of_all == 0u) lost = 0u;
    [[unroll]] for (uint j = 0u; j < ROWS * COLS; ++j) {
        REAL v = subgroupAdd(sums[j]);
        if (subgroupElect()) part[gl_SubgroupID * (ROWS * COLS) + j] = v;
    }
    barrier();
    uint per_team = LANES / gl_SubgroupSize;
    for (uint o = lane_of_all; o < teams * ROWS * COLS; o += 128u) {
        uint t = o / (ROWS * COLS), j = o % (ROWS * COLS);
        REAL v = REAL(0);
        for (uint s = 0u; s < per_team; ++s) v += part[(t * per_team + s) * (ROWS * COLS) + j];
        if (!finite(v)) atomicOr(lost, 1u);
        store(first_x + j % COLS, (group / x_groups * teams + t) * ROWS + j / COLS, v);
    }
    barrier();
    if (lost == 0u) return;

    [[dont_unroll]] for (uint j = 0u; j < ROWS * COLS; ++j) {
        uint row = first_row + j / COLS;
        uvec2 w = row_address(expert_row + min(row, p.n - 1u)), x = x_address(first_x + j % COLS);
        REAL sum = REAL(0);
        [[dont_unroll]] for (uint i = lane; i < pieces; i += LANES) {
            Raw raw = fetch(at_byte(w, i / PIECES * BLOCK_BYTES), i % PIECES);
            [[dont_unroll]] for (uint run = 0u; run < RUNS; ++run) {
                uint start = i / PIECES * BLOCK + run_start(i % PIECES, run);
                [[dont_unroll]] for (uint t = 0u; t < RUN / 4u; ++t) {
                    REAL4 q = REAL4(weights(raw, run, t)), v = load_real4(x, start + 4u * t);
                    sum = fma(q.x, v.x, fma(q.y, v.y, fma(q.z, v.z, fma(q.w, v.w, sum))));
                }
            }
        }
        sum = team_sum(sum, team);
        if (lane == 0u) store(first_x + j % COLS, row, sum);
    }
}
