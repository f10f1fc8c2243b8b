#version 460
// Pools over windows of up to 3 spatial axes: y = kind of what lies in the window and in x. kind 0 max, 1 min (NaN if any is), 2 sum,
// 3 mean, 4 the p-norm. count_pad: the mean counts padding too, but nothing beyond it.
// params, each as (z, y, x, -): extent of x, padding before, extent of y, stride, kernel, dilation, padding after. x and y are
// `planes` planes.
// Without WIDE, LANES invocations work on a plane, up to 4 results each; with it, a workgroup computes one result.
#include "common/types.glsl"
#include "movement/unit.glsl"

#ifdef USE_f64
#define ACC double
#define ACC_INF INF64
#define ACC_NAN NAN64
#else
#define ACC float
#define ACC_INF INF
#define ACC_NAN NAN
#endif

layout(local_size_x = 256) in;
layout(constant_id = 0) const uint LANES = 256u;
layout(constant_id = 1) const bool WIDE = false;
layout(push_constant) uniform Push {
    uvec2 x, y, params;
    uint planes, chunks, x_plane, y_plane, kind, count_pad, power;
} p;

const uint EACH = 4u;

shared ACC parts[256];

uvec3 parameter(uint i) { return ref_u32x4(p.params).v[i].xyz; }

// |v| to the power p.power, by squaring.
ACC raised(ACC v) {
    ACC product = ACC(1);
    for (uint e = p.power;;) {
        if ((e & 1u) != 0u) product *= v;
        e >>= 1u;
        if (e == 0u) return product;
        v *= v;
    }
}

ACC start_value(uint kind) {
    if (kind == 0u) return -ACC_INF;
    return kind == 1u ? ACC_INF : ACC(0);
}

// kind: that of the push constants, or 5 for the largest magnitude.
ACC combine(uint kind, ACC a, ACC b) {
    if (kind == 2u || kind == 3u || kind == 4u) return a + b;
    if (is_nan(a)) return a;
    if (is_nan(b)) return b;
    return (kind == 1u) == (b < a) ? b : a; // equal ones are alike
}

// Takes in element v: a sum keeps what its rounding lost, so that windows that nearly cancel stay right.
void take(uint kind, ACC v, ACC scale, inout ACC total, inout ACC lost) {
    if (kind == 4u) v = raised(abs(v) * scale);
    if (kind == 5u) v = abs(v);
    if (kind == 2u || kind == 3u) {
        precise ACC sum = total + v;
        precise ACC part = sum - total;
        precise ACC rest = (total - (sum - part)) + (v - part);
        total = sum;
        if (!is_nan(rest)) lost += rest; // infinities leave no rest
        return;
    }
    total = combine(kind, total, v);
}

// Over the window that starts at `at`, from tap `first` in steps of `step` where it is WIDE. scale: of the p-norm.
ACC gather(uint kind, uvec2 x, ivec3 at, uint first, uint step, ACC scale) {
    ivec3 extent = ivec3(parameter(0u)), dilation = ivec3(parameter(5u));
    // Taps that lie in x.
    ivec3 low = (max(-at, ivec3(0)) + dilation - 1) / dilation;
    ivec3 high = min(ivec3(parameter(4u)), (extent - at + dilation - 1) / dilation);
    ACC total = start_value(kind), lost = ACC(0);
    if (WIDE) {
        uvec3 count = uvec3(max(high - low, ivec3(0)));
        uint taps = count.x * count.y * count.z;
        for (uint t = first; t < taps; t += step) {
            uint row = t / count.z, plane = row / count.y;
            ivec3 tap = at + (low + ivec3(plane, row - plane * count.y, t - row * count.z)) * dilation;
            take(kind, T_load(x, uint((tap.x * extent.y + tap.y) * extent.z + tap.z)), scale, total, lost);
        }
        return total + lost;
    }
    [[dont_unroll]] for (int a = low.x; a < high.x; ++a) {
        [[dont_unroll]] for (int b = low.y; b < high.y; ++b) {
            int row = ((at.x + a * dilation.x) * extent.y + at.y + b * dilation.y) * extent.z + at.z;
            [[dont_unroll]] for (int c = low.z; c < high.z; ++c) take(kind, T_load(x, uint(row + c * dilation.z)), scale, total, lost);
        }
    }
    return total + lost;
}

// A sum over the workgroup, in order.
ACC together(uint kind, ACC v) {
    barrier();
    parts[gl_LocalInvocationID.x] = v;
    for (uint reach = 128u; reach > 0u; reach /= 2u) {
        barrier();
        if (gl_LocalInvocationID.x < reach) {
            parts[gl_LocalInvocationID.x] = combine(kind, parts[gl_LocalInvocationID.x], parts[gl_LocalInvocationID.x + reach]);
        }
    }
    barrier();
    return parts[0];
}

ACC over(uint kind, uvec2 x, ivec3 at, ACC scale) {
    if (WIDE) return together(kind, gather(kind, x, at, gl_LocalInvocationID.x, 256u, scale));
    return gather(kind, x, at, 0u, 1u, scale);
}

// What the mean divides by.
uint counted(ivec3 at) {
    ivec3 extent = ivec3(parameter(0u)), dilation = ivec3(parameter(5u)), kernel = ivec3(parameter(4u));
    ivec3 low = ivec3(0), end = extent;
    if (p.count_pad != 0u) {
        end += ivec3(parameter(6u));
    } else {
        low = (max(-at, ivec3(0)) + dilation - 1) / dilation;
    }
    ivec3 count = max(min(kernel, (end - at + dilation - 1) / dilation) - low, ivec3(0));
    return uint(count.x * count.y * count.z);
}

ACC pooled(uvec2 x, uint i) {
    uvec3 extent = parameter(2u);
    uint row = i / extent.z, plane = row / extent.y;
    ivec3 at = ivec3(uvec3(plane, row - plane * extent.y, i - row * extent.z) * parameter(3u)) - ivec3(parameter(1u));
    if (p.kind == 3u) return over(p.kind, x, at, ACC(1)) / ACC(counted(at));
    if (p.kind != 4u || p.power == 1u) return over(p.kind, x, at, ACC(1));
    // Scaled by about the largest, so that no power overflows. By a power of two: a driver may turn a division into a product with the
    // reciprocal, which is flushed to zero for large numbers.
    ACC most = over(5u, x, at, ACC(1));
    if (is_nan(most) || is_inf(most) || most <= ACC(0)) return most > ACC(0) || is_nan(most) ? most : ACC(0);
    uint exponent = clamp(floatBitsToUint(float(most)) >> 23, 1u, 252u);
    ACC sum = over(4u, x, at, ACC(uintBitsToFloat((254u - exponent) << 23)));
    return ACC(uintBitsToFloat(exponent << 23)) * (p.power == 2u ? sqrt(sum) : ACC(pow(float(sum), 1.0 / float(p.power))));
}

void main() {
    uint group = group_index();
    if (WIDE) {
        uint plane = group / p.y_plane, i = group - plane * p.y_plane;
        if (plane >= p.planes) return;
        uvec2 x = add64(resolve(p.x), times64(plane, times64(T_BYTES, uvec2(p.x_plane, 0u))));
        ACC v = pooled(x, i);
        uvec2 y = add64(resolve(p.y), times64(plane, times64(T_BYTES, uvec2(p.y_plane, 0u))));
        if (gl_LocalInvocationID.x == 0u) T_store(y, i, v);
        return;
    }
    uint block = group / p.chunks, plane = block * (256u / LANES) + gl_LocalInvocationID.x / LANES;
    if (plane >= p.planes) return;
    uvec2 x = add64(resolve(p.x), times64(plane, times64(T_BYTES, uvec2(p.x_plane, 0u))));
    uvec2 y = add64(resolve(p.y), times64(plane, times64(T_BYTES, uvec2(p.y_plane, 0u))));
    uint first = (group - block * p.chunks) * (LANES * EACH) + gl_LocalInvocationID.x % LANES;
    [[dont_unroll]] for (uint k = 0u; k < EACH; ++k) {
        uint i = first + k * LANES;
        if (i < p.y_plane) T_store(y, i, pooled(x, i));
    }
}
