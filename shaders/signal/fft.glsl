// What the Fourier kernels share: where rows lie, and what happens to numbers on their way in and out.
//
// A row of a dispatch is one transform of n numbers: Y[K] = scale * post[K] * twist * sum over i of pre[I] X[I] exp(sign 2 pi sqrt(-1) i k / n)
// with I = i_base + i * i_step, K = k_base + k * k_step. The number of a row is split over axes; `params` holds axis_count, in_count (numbers
// I that there are: the rest is 0), out_count (numbers K to keep), total, bins, i_step, k_step, -, then for each axis, the innermost
// first: size, bytes between rows of x (2 words), of y (2 words), its parts of i_base and k_base.
// LOAD, STORE: 0 c64; 1 `total` reals, then as many imaginaries, of type T; 2 reals of type T; LOAD 3: c64 of which only the first
// half, `bins` numbers, is there: the second half of `total` is its mirrored conjugate.
// TWIST: the result is multiplied by exp(sign 2 pi sqrt(-1) c k / N), c being the coordinate along the innermost axis, N a length whose
// tables are twist_low (steps 0..1023) and twist_high (steps of 1024).

layout(constant_id = 0) const uint LOAD = 0u;
layout(constant_id = 1) const uint STORE = 0u;
layout(constant_id = 2) const bool TWIST = false;
layout(constant_id = 3) const bool PRE = false;
layout(constant_id = 4) const bool POST = false;

layout(push_constant) uniform Push {
    uvec2 x, y, params, roots, pre, post, twist_low, twist_high;
    uint rows, n, x_stride, y_stride, passes;
    float sign, scale;
} p;

// exp(-2 pi sqrt(-1) i / length) is element i of a table.
vec2 table_at(uvec2 table, uint i) { return uintBitsToFloat(ref_u32x2(table).v[i]); }

// The root for the sign of this transform.
vec2 turned(vec2 root) { return vec2(root.x, -p.sign * root.y); }

vec2 mul(vec2 a, vec2 b) { return vec2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }

struct Row {
    uvec2 x, y;
    uint i_base, k_base, inner;
};

Row row_of(uint number) {
    Row row = Row(resolve(p.x), resolve(p.y), 0u, 0u, 0u);
    uint axes = load_u32(p.params, 0u);
    for (uint a = 0u; a < axes; ++a) {
        uint at = 8u + 7u * a, size = load_u32(p.params, at), rest = number / size, c = number - rest * size;
        if (a == 0u) row.inner = c;
        row.x = add64(row.x, times64(c, uvec2(load_u32(p.params, at + 1u), load_u32(p.params, at + 2u))));
        row.y = add64(row.y, times64(c, uvec2(load_u32(p.params, at + 3u), load_u32(p.params, at + 4u))));
        row.i_base += c * load_u32(p.params, at + 5u);
        row.k_base += c * load_u32(p.params, at + 6u);
        number = rest;
    }
    return row;
}

vec2 load_number(Row row, uint i) {
    uint at = row.i_base + i * load_u32(p.params, 5u), total = load_u32(p.params, 3u);
    if (at >= load_u32(p.params, 1u)) return vec2(0.0);
    vec2 v;
    if (LOAD == 0u) {
        v = table_at(row.x, at * p.x_stride);
    } else if (LOAD == 1u) {
        v = vec2(T_load(row.x, at * p.x_stride), T_load(row.x, (total + at) * p.x_stride));
    } else if (LOAD == 2u) {
        v = vec2(T_load(row.x, at * p.x_stride), 0.0);
    } else {
        bool mirrored = at > total / 2u;
        uint bin = mirrored ? total - at : at;
        v = bin < load_u32(p.params, 4u) ? table_at(row.x, bin * p.x_stride) : vec2(0.0);
        if (mirrored) v.y = -v.y;
        if (bin == 0u || 2u * bin == total) v.y = 0.0;
    }
    if (PRE) v = mul(v, table_at(p.pre, at));
    return v;
}

void store_number(Row row, uint k, vec2 v) {
    uint at = row.k_base + k * load_u32(p.params, 6u);
    if (at >= load_u32(p.params, 2u)) return;
    if (TWIST) {
        uint step = row.inner * k;
        v = mul(v, turned(mul(table_at(p.twist_low, step & 1023u), table_at(p.twist_high, step >> 10u))));
    }
    if (POST) v = mul(v, table_at(p.post, at));
    v *= p.scale;
    if (STORE == 0u) {
        ref_u32x2(row.y).v[at * p.y_stride] = floatBitsToUint(v);
    } else {
        T_store(row.y, at * p.y_stride, v.x);
        if (STORE == 1u) T_store(row.y, (load_u32(p.params, 3u) + at) * p.y_stride, v.y);
    }
}
