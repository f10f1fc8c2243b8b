// Element types in memory, 64-bit addresses, and the index of a workgroup. Include it first.
//
// A tensor is reached by its device address, a uvec2 (low word, high word). Push constants hold addresses; pass each through
// resolve() once at the start of main(): the host may have put there the place where the address is kept instead (bound
// handles). load_<type>(base, i) and store_<type>(base, i, v) read and write element i; i must stay below 2^31, so a kernel over
// larger tensors first moves the base with advance(). Narrow types are computed in float, int or uint.

#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_explicit_arithmetic_types_float64 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require

// SignedZeroInfNanPreserve for 32-bit floats: NaN, infinities and -0 mean something here.
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 32);

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer ref_u32 { uint v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer ref_i32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer ref_f32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_address { uvec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer ref_f32x4 { vec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer ref_u32x4 { uvec4 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_u32x2 { uvec2 v[]; };

// The address itself, or the address that is kept there (top bit set).
uvec2 resolve(uvec2 a) {
    return (a.y & 0x80000000u) != 0u ? ref_address(uvec2(a.x, a.y & 0x7fffffffu)).v[0] : a;
}

// base + count * stride in bytes, in 64 bits.
uvec2 advance(uvec2 base, uint count, uint stride) {
    uint high, low, carry;
    umulExtended(count, stride, high, low);
    low = uaddCarry(base.x, low, carry);
    return uvec2(low, base.y + high + carry);
}

// The number of this workgroup in a grid that the host has folded over x, y and z. Compare it with the real count.
uint group_index() {
    return gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
}

// Tests on the bits: a driver may assume that no NaN exists where the language's own functions are used.
bool is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bool is_inf(float x) { return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u; }
#define NAN uintBitsToFloat(0x7fc00000u)
#define INF uintBitsToFloat(0x7f800000u)

float f16_to_f32(uint h) { return unpackHalf2x16(h).x; }
float bf16_to_f32(uint b) { return uintBitsToFloat(b << 16); }

// Round to nearest even; written out because the built-in may round otherwise.
uint f32_to_f16(float x) {
    uint bits = floatBitsToUint(x), sign = (bits >> 16) & 0x8000u, m = bits & 0x7fffffffu;
    if (m >= 0x47800000u) return sign | (m > 0x7f800000u ? 0x7e00u : 0x7c00u);
    if (m < 0x38800000u) { // below the smallest normal f16: add a float that leaves the rounded bits at the bottom
        return sign | (floatBitsToUint(uintBitsToFloat(m) + 0.5) - 0x3f000000u);
    }
    return sign | ((m - 0x38000000u + 0xfffu + ((m >> 13) & 1u)) >> 13);
}

uint f32_to_bf16(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (bits >> 16) | 0x40u;
    return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
}

float load_f32(uvec2 base, uint i) { return ref_f32(base).v[i]; }
void store_f32(uvec2 base, uint i, float v) { ref_f32(base).v[i] = v; }
int load_i32(uvec2 base, uint i) { return ref_i32(base).v[i]; }
void store_i32(uvec2 base, uint i, int v) { ref_i32(base).v[i] = v; }
uint load_u32(uvec2 base, uint i) { return ref_u32(base).v[i]; }
void store_u32(uvec2 base, uint i, uint v) { ref_u32(base).v[i] = v; }

#include "common/narrow.glsl"
#ifdef USE_f64
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_f64 { double v[]; };
double load_f64(uvec2 base, uint i) { return ref_f64(base).v[i]; }
void store_f64(uvec2 base, uint i, double v) { ref_f64(base).v[i] = v; }
bool is_nan(double x) { uvec2 b = unpackDouble2x32(x); return (b.y & 0x7fffffffu) > 0x7ff00000u || ((b.y & 0x7fffffffu) == 0x7ff00000u && b.x != 0u); }
bool is_inf(double x) { uvec2 b = unpackDouble2x32(x); return (b.y & 0x7fffffffu) == 0x7ff00000u && b.x == 0u; }
#define NAN64 packDouble2x32(uvec2(0u, 0x7ff80000u))
#define INF64 packDouble2x32(uvec2(0u, 0x7ff00000u))
#endif
#ifdef USE_i64
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_i64 { int64_t v[]; };
int64_t load_i64(uvec2 base, uint i) { return ref_i64(base).v[i]; }
void store_i64(uvec2 base, uint i, int64_t v) { ref_i64(base).v[i] = v; }
#endif
#ifdef USE_u64
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_u64 { uint64_t v[]; };
uint64_t load_u64(uvec2 base, uint i) { return ref_u64(base).v[i]; }
void store_u64(uvec2 base, uint i, uint64_t v) { ref_u64(base).v[i] = v; }
#endif
#ifdef USE_c64
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer ref_c64 { vec2 v[]; };
vec2 load_c64(uvec2 base, uint i) { return ref_c64(base).v[i]; }
void store_c64(uvec2 base, uint i, vec2 v) { ref_c64(base).v[i] = v; }
#endif
