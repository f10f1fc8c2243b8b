#version 460
// Reductions over any axes. KIND: 0 Sum, 1 Mean, 2 Max, 3 Min, 4 Prod, 5 SumSquare, 6 L1, 7 L2, 8 LogSum, 9 LogSumExp. y has `outputs` elements, each of
// `len` elements of x. GROUPED: a workgroup makes one output; else each invocation makes one (the kept inner axis is then dense, so that
// neighbours read neighbours). table, four words an axis, innermost first: size, multiplier, shift, stride; the kept axes, then the reduced.
// The order of additions is fixed. Offsets are below 2^31 elements.
#include "common/types.glsl"
#include "common/math.glsl"
#include "movement/unit.glsl"

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint KIND = 0u;
layout(constant_id = 1) const bool GROUPED = true;
layout(push_constant) uniform Push {
    uvec2 x, y, table;
    uint outputs, len, kept, reduced;
} p;

#define X T_compute
#if defined(T_f32) || defined(T_f16) || defined(T_bf16)
#define IS_FLOAT 1
#define LOWEST (-INF)
#define HIGHEST INF
#elif defined(T_f64)
#define IS_FLOAT 1
#define LOWEST (-INF64)
#define HIGHEST INF64
#elif defined(T_i8) || defined(T_i16) || defined(T_i32) || defined(T_i64)
#define IS_SIGNED 1
#define LOWEST (X(-1) << int(T_BYTES * 8u - 1u))
#define HIGHEST (~LOWEST)
#else
#define LOWEST X(0)
#define HIGHEST (T_BYTES >= 4u ? ~X(0) : (X(1) << int(T_BYTES * 8u & 31u)) - X(1))
#endif

shared X part[256];
uvec2 x;

uint offset_of(uint i, uint from, uint axes) {
    uint at = 0u;
    for (uint a = 0u; a < axes; ++a) {
        uvec4 axis = ref_u32x4(p.table).v[from + a];
        uint q = a + 1u < axes ? divide(i, axis.y, axis.z) : 0u;
        at += (i - q * axis.x) * axis.w;
        i = q;
    }
    return at;
}

X start() { return KIND == 2u || KIND == 9u ? X(LOWEST) : KIND == 3u ? X(HIGHEST) : KIND == 4u ? X(1) : X(0); }

X join(X a, X b) {
    if (KIND == 2u || KIND == 3u) {
#ifdef IS_FLOAT
        if (is_nan(a)) return a;
        if (is_nan(b)) return b;
#endif
        return KIND == 2u ? (a > b ? a : b) : (a < b ? a : b);
    }
    return KIND == 4u ? a * b : a + b;
}

X transformed(X v) {
    if (KIND == 5u || KIND == 7u) return v * v;
#if defined(IS_FLOAT) || defined(IS_SIGNED)
    if (KIND == 6u) return v < X(0) ? -v : v;
#endif
    return v;
}

// The result of all invocations of the workgroup (or of this one alone).
X combine(X v, bool by_max) {
    if (!GROUPED) return v;
    uint lane = gl_LocalInvocationID.x;
    barrier();
    part[lane] = v;
    barrier();
    for (uint step = 128u; step > 0u; step >>= 1) {
        if (lane < step) {
            X a = part[lane], b = part[lane + step];
#ifdef IS_FLOAT
            if (by_max) part[lane] = is_nan(a) ? a : is_nan(b) ? b : max(a, b);
            else
#endif
                part[lane] = KIND == 9u ? a + b : join(a, b);
        }
        barrier();
    }
    return part[0];
}

void main() {
    uint group = group_index(), lane = gl_LocalInvocationID.x;
    uint output_index = GROUPED ? group : group * 256u + lane;
    if (output_index >= p.outputs) return;
    x = resolve(p.x);
    uint base = offset_of(output_index, 0u, p.kept), first = GROUPED ? lane : 0u, step = GROUPED ? 256u : 1u;
    X v = start();
#ifdef IS_FLOAT
    if (KIND == 9u) {
        for (uint i = first; i < p.len; i += step) {
            X e = T_load(x, base + offset_of(i, p.kept, p.reduced));
            v = is_nan(v) ? v : is_nan(e) ? e : max(v, e);
        }
        X most = combine(v, true), total = X(0);
        if (is_nan(most) || is_inf(most)) {
            v = most;
        } else {
            for (uint i = first; i < p.len; i += step) total += m_exp(T_load(x, base + offset_of(i, p.kept, p.reduced)) - most);
            v = most + m_log(combine(total, false));
        }
    } else
#endif
    {
        for (uint i = first; i < p.len; i += step) v = join(v, transformed(T_load(x, base + offset_of(i, p.kept, p.reduced))));
        v = combine(v, false);
#ifdef IS_FLOAT
        if (KIND == 1u) v = v / X(p.len);
        if (KIND == 7u) v = sqrt(v);
        if (KIND == 8u) v = m_log(v);
#endif
    }
    if (!GROUPED || lane == 0u) T_store(resolve(p.y), output_index, v);
}
