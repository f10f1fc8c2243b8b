// A sum over taps that slide over up to 3 spatial axes: convolutions, and transposed ones in phases.
//
//   y[n, g * rows + m, start + j * out_step] = act(bias[g * rows + m] +
//       sum over channels c and taps t of w[g * w_group + m * w_row + c * w_channel + tap_t.w] * x[n, g * channels + c, j * step + tap_t.at])
//
// where x is 0 outside. Each phase has its own taps, number of positions j and start. `params` holds Sweep, then the phases, then the
// taps (8 words each: weight offset, offset in x, z, y, x of `at`). Offsets inside a batch item of x, inside one of y and inside the
// weights are below 2^31 elements.

#ifdef USE_f64
#define ACC double
#define ACC4 dvec4
#define ACC_load load_f64
#define ACC_store store_f64
#define ACC_BYTES 8u
#else
#define ACC float
#define ACC4 vec4
#define ACC_load load_f32
#define ACC_store store_f32
#define ACC_BYTES 4u
#endif

layout(constant_id = 0) const uint ACT = 0u;
layout(constant_id = 1) const bool BIAS = false;

struct Sweep {
    uint rows, channels, groups, batch;
    uvec3 extent;      // of x: z, y, x
    uint x_plane;      // elements of one channel of x
    uvec3 step;
    uint y_plane;
    uvec3 y_extent;
    uint w_row;
    uvec3 out_step;
    uint w_channel;
    uvec2 w_group;     // in elements, 64 bits
    uint first_tap;    // place of the taps in `params`, in units of 16 bytes
    uint phases;
};

struct Phase {
    uint first, taps;  // its taps
    uvec3 counts;      // positions j
    uvec3 start;
};

layout(buffer_reference, scalar, buffer_reference_align = 16) buffer ref_sweep { Sweep s; Phase phases[]; };

struct Tap {
    uint w, x;
    ivec3 at;
};

Tap load_tap(uvec2 params, uint first_tap, uint t) {
    uvec4 a = ref_u32x4(params).v[first_tap + 2u * t];
    return Tap(a.x, a.y, ivec3(a.zw, ref_u32x4(params).v[first_tap + 2u * t + 1u].x));
}

bool inside(ivec3 at, uvec3 extent) { return all(lessThan(uvec3(at), extent)); }

// Coordinates (z, y, x) of element i of a box.
uvec3 unravel(uint i, uvec3 extent) {
    uint row = i / extent.z, plane = row / extent.y;
    return uvec3(plane, row - plane * extent.y, i - row * extent.z);
}

uint ravel(uvec3 at, uvec3 extent) { return (at.x * extent.y + at.y) * extent.z + at.z; }
