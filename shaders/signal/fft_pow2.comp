#version 460
// Transforms of n = 8 .. 4096 numbers, a power of two, by Stockham passes of radix 8 (the first of 2 or 4 where needed). An invocation
// holds 8 (ROOM e2: 16) numbers in registers; between passes they are exchanged through shared memory, real parts first, then
// imaginary parts. A workgroup has 2048 (e2: 4096) / n rows. ROWS_FIRST: neighbouring invocations work on neighbouring rows, for data
// whose rows lie beside each other.
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "signal/fft.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 5) const uint LOG_N = 3u;
layout(constant_id = 6) const bool ROWS_FIRST = false;

#ifdef ROOM_e2
#define POINTS 16u
#else
#define POINTS 8u
#endif

const uint N = 1u << LOG_N;
const uint ACROSS = N / POINTS; // invocations of a row
const uint ROWS = 256u / ACROSS;
const uint FIRST = LOG_N % 3u == 0u ? 8u : LOG_N % 3u == 1u ? 2u : 4u;

// 33 words for 32, so that steps of 8 spread over the banks.
shared float exchange[POINTS * 256u / 32u * 33u];

uint slot(uint i) { return i + (i >> 5u); }

vec2 v[POINTS];

// v times -sqrt(-1), for the sign -1.
vec2 quarter(vec2 a) { return p.sign < 0.0 ? vec2(a.y, -a.x) : vec2(-a.y, a.x); }
vec2 eighth(vec2 a) { return (a + quarter(a)) * 0.707106781; }

void radix2(uint b) {
    vec2 a = v[b];
    v[b] = a + v[b + 1u];
    v[b + 1u] = a - v[b + 1u];
}

void four(inout vec2 a, inout vec2 b, inout vec2 c, inout vec2 d) {
    vec2 s = a + c, t = a - c, u = b + d, w = quarter(b - d);
    a = s + u;
    b = t + w;
    c = s - u;
    d = t - w;
}

void radix4(uint b) { four(v[b], v[b + 1u], v[b + 2u], v[b + 3u]); }

void radix8(uint b) {
    vec2 e0 = v[b], e1 = v[b + 2u], e2 = v[b + 4u], e3 = v[b + 6u], o0 = v[b + 1u], o1 = v[b + 3u], o2 = v[b + 5u], o3 = v[b + 7u];
    four(e0, e1, e2, e3);
    four(o0, o1, o2, o3);
    vec2 q = quarter(o2);
    o1 = eighth(o1);
    o3 = eighth(quarter(o3));
    v[b] = e0 + o0;
    v[b + 1u] = e1 + o1;
    v[b + 2u] = e2 + q;
    v[b + 3u] = e3 + o3;
    v[b + 4u] = e0 - o0;
    v[b + 5u] = e1 - o1;
    v[b + 6u] = e2 - q;
    v[b + 7u] = e3 - o3;
}

// Where number m of butterfly j goes, after passes of `len` in all before this one of radix r.
uint place(uint j, uint len, uint r, uint m) {
    uint k = j & (len - 1u);
    return (j - k) * r + k + m * len;
}

// f(number in registers, its index) for all numbers of this invocation, before or after a pass of radix R.
#define BEFORE(R, f)                                                                                                             \
    [[unroll]] for (uint b = 0u; b < POINTS / R; ++b) {                                                                          \
        [[unroll]] for (uint m = 0u; m < R; ++m) f(b * R + m, t + b * ACROSS + m * (N / R))                                      \
    }
#define AFTER(R, len, f)                                                                                                         \
    [[unroll]] for (uint b = 0u; b < POINTS / R; ++b) {                                                                          \
        [[unroll]] for (uint m = 0u; m < R; ++m) f(b * R + m, place(t + b * ACROSS, len, R, m))                                  \
    }
#define LOAD_IT(at, i) v[at] = row_valid ? load_number(row, i) : vec2(0.0);
#define STORE_IT(at, i) store_number(row, i, v[at]);
#define PUT_X(at, i) exchange[slot(base + i)] = v[at].x;
#define PUT_Y(at, i) exchange[slot(base + i)] = v[at].y;
#define GET_X(at, i) v[at].x = exchange[slot(base + i)];
#define GET_Y(at, i) v[at].y = exchange[slot(base + i)];
// From after a pass of radix R to before one of radix 8.
#define SWAP(R, len)                                                                                                             \
    {                                                                                                                            \
        barrier();                                                                                                               \
        AFTER(R, len, PUT_X)                                                                                                     \
        barrier();                                                                                                               \
        BEFORE(8u, GET_X)                                                                                                        \
        barrier();                                                                                                               \
        AFTER(R, len, PUT_Y)                                                                                                     \
        barrier();                                                                                                               \
        BEFORE(8u, GET_Y)                                                                                                        \
    }

void twiddle(uint b, uint j, uint len) {
    uint step = (j & (len - 1u)) * (N / (8u * len));
    vec2 w1 = turned(table_at(p.roots, step)), w2 = turned(table_at(p.roots, 2u * step)), w4 = turned(table_at(p.roots, 4u * step));
    vec2 w3 = mul(w1, w2);
    v[b + 1u] = mul(v[b + 1u], w1);
    v[b + 2u] = mul(v[b + 2u], w2);
    v[b + 3u] = mul(v[b + 3u], w3);
    v[b + 4u] = mul(v[b + 4u], w4);
    v[b + 5u] = mul(v[b + 5u], mul(w1, w4));
    v[b + 6u] = mul(v[b + 6u], mul(w2, w4));
    v[b + 7u] = mul(v[b + 7u], mul(w3, w4));
}

void main() {
    uint lane = gl_LocalInvocationID.x;
    uint local = ROWS_FIRST ? lane % ROWS : lane / ACROSS, t = ROWS_FIRST ? lane / ROWS : lane % ACROSS;
    uint number = group_index() * ROWS + local, base = local * N;
    bool row_valid = number < p.rows;
    Row row = row_of(min(number, p.rows - 1u));

    if (FIRST == 8u) {
        BEFORE(8u, LOAD_IT)
        [[unroll]] for (uint b = 0u; b < POINTS; b += 8u) radix8(b);
    } else if (FIRST == 4u) {
        BEFORE(4u, LOAD_IT)
        [[unroll]] for (uint b = 0u; b < POINTS; b += 4u) radix4(b);
    } else {
        BEFORE(2u, LOAD_IT)
        [[unroll]] for (uint b = 0u; b < POINTS; b += 2u) radix2(b);
    }
    uint len = FIRST;
    for (uint before = 1u; len < N; len *= 8u) {
        if (before == 1u && FIRST == 2u) {
            SWAP(2u, 1u)
        } else if (before == 1u && FIRST == 4u) {
            SWAP(4u, 1u)
        } else {
            SWAP(8u, before)
        }
        before = len;
        [[unroll]] for (uint b = 0u; b < POINTS; b += 8u) {
            twiddle(b, t + b / 8u * ACROSS, len);
            radix8(b);
        }
    }
    if (!row_valid) return;
    AFTER(8u, N / 8u, STORE_IT)
}
