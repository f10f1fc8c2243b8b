#version 460
// Transforms of n <= 2048 numbers, n without prime factors above 7, by Stockham passes of radix 2, 3, 4, 5 and 7 (`passes`: the radices, 4
// bits each, the first lowest) between two buffers in shared memory. A workgroup has 2048 / n rows.
#include "common/types.glsl"
#include "movement/unit.glsl"
#include "signal/fft.glsl"

layout(local_size_x = 256) in;

shared vec2 numbers[2][2048];

// cos and sin of 2 pi k / r for r = 3, 5, 7 at (r - 3) / 2 * 4 + k.
const float COS[12] = float[12](1.0, -0.5, 0.0, 0.0, 1.0, 0.309016994, -0.809016994, 0.0, 1.0, 0.623489802, -0.222520934, -0.900968868);
const float SIN[12] = float[12](0.0, 0.866025404, 0.0, 0.0, 0.0, 0.951056516, 0.587785252, 0.0, 0.0, 0.781831482, 0.974927912, 0.433883739);

vec2 quarter(vec2 a) { return p.sign < 0.0 ? vec2(a.y, -a.x) : vec2(-a.y, a.x); }

// v[0 .. r] to their transform, r odd: pairs of conjugate roots together.
void odd(uint r, inout vec2 v[7]) {
    uint half_r = r / 2u, table = (r - 3u) / 2u * 4u;
    vec2 sum = v[0], s[3], d[3], u[7];
    for (uint m = 1u; m <= half_r; ++m) {
        s[m - 1u] = v[m] + v[r - m];
        d[m - 1u] = v[m] - v[r - m];
        sum += s[m - 1u];
    }
    u[0] = sum;
    for (uint k = 1u; k <= half_r; ++k) {
        vec2 even = v[0], rest = vec2(0.0);
        for (uint m = 1u; m <= half_r; ++m) {
            uint turn = m * k % r;
            bool back = turn > half_r;
            uint at = table + (back ? r - turn : turn);
            even += COS[at] * s[m - 1u];
            rest += (back ? -SIN[at] : SIN[at]) * d[m - 1u];
        }
        vec2 q = quarter(rest);
        u[k] = even + q;
        u[r - k] = even - q;
    }
    for (uint k = 0u; k < r; ++k) v[k] = u[k];
}

void butterfly(uint r, inout vec2 v[7]) {
    if (r == 2u) {
        vec2 a = v[0];
        v[0] = a + v[1];
        v[1] = a - v[1];
    } else if (r == 4u) {
        vec2 s = v[0] + v[2], t = v[0] - v[2], u = v[1] + v[3], w = quarter(v[1] - v[3]);
        v[0] = s + u;
        v[1] = t + w;
        v[2] = s - u;
        v[3] = t - w;
    } else {
        odd(r, v);
    }
}

void main() {
    uint lane = gl_LocalInvocationID.x, fit = 2048u / p.n, first = group_index() * fit;
    uint rows = min(fit, p.rows - min(first, p.rows)), points = rows * p.n;
    for (uint i = lane; i < points; i += 256u) {
        uint row = i / p.n;
        numbers[0][i] = load_number(row_of(first + row), i - row * p.n);
    }
    uint from = 0u, len = 1u;
    for (uint passes = p.passes; passes != 0u; passes >>= 4u) {
        uint r = passes & 15u, across = p.n / r, turn = across / len;
        barrier();
        for (uint q = lane; q < rows * across; q += 256u) {
            uint row = q / across, j = q - row * across, k = j % len;
            vec2 v[7];
            for (uint m = 0u; m < r; ++m) v[m] = numbers[from][row * p.n + j + m * across];
            for (uint m = 1u; m < r; ++m) v[m] = mul(v[m], turned(table_at(p.roots, k * m * turn)));
            butterfly(r, v);
            for (uint m = 0u; m < r; ++m) numbers[from ^ 1u][row * p.n + (j - k) * r + k + m * len] = v[m];
        }
        from ^= 1u;
        len *= r;
    }
    barrier();
    for (uint i = lane; i < points; i += 256u) {
        uint row = i / p.n;
        store_number(row_of(first + row), i - row * p.n, numbers[from][i]);
    }
}
