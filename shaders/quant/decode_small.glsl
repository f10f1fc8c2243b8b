// Types with 32 weights a block. See decode.glsl.

#if defined(W_q4_0) || defined(W_q4_1) || defined(W_q5_0) || defined(W_q5_1) || defined(W_iq4_nl) || defined(W_mxfp4)
#define BLOCK 32u
#define RUN 8u
#define RUNS 2u
uint run_start(uint piece, uint run) { return 16u * run + 8u * piece; }
uvec3 find(uint g) { return uvec3(g & 1u, g >> 1, 0u); }
#endif

#if defined(W_q4_0)
#define BLOCK_BYTES 18u
#define ZERO 24.0
struct Raw { uvec2 qs; float scale; };

Raw fetch(uvec2 block, uint piece) {
    return Raw(bytes8(at_byte(block, 2u + 8u * piece)), f16_to_f32(bytes2(block)));
}
vec4 unpack(Raw raw, uint run, uint t) { return fields(raw.qs[t], 4u * run, 4u); }
float scale_of(Raw raw, uint run) { return raw.scale; }
#endif

#if defined(W_q4_1)
#define BLOCK_BYTES 20u
#define ZERO 16.0
#define HAS_LOW
struct Raw { uvec2 qs; vec2 scale; };

Raw fetch(uvec2 block, uint piece) {
    ref_u32 words = ref_u32(block);
    return Raw(uvec2(words.v[1u + 2u * piece], words.v[2u + 2u * piece]), unpackHalf2x16(words.v[0]));
}
vec4 unpack(Raw raw, uint run, uint t) { return fields(raw.qs[t], 4u * run, 4u); }
float scale_of(Raw raw, uint run) { return raw.scale.x; }
float low_of(Raw raw, uint run) { return -raw.scale.y; }
#endif

#if defined(W_q5_0) || defined(W_q5_1)
// high: the fifth bits, of run 0 from bit 0 and of run 1 from bit 16.
struct Raw { uvec2 qs; uint high; vec2 scale; };

vec4 unpack(Raw raw, uint run, uint t) {
    return fields(((raw.qs[t] >> (4u * run)) & 0x0f0f0f0fu) | spread(raw.high >> (16u * run + 4u * t)) << 4, 0u, 5u);
}
float scale_of(Raw raw, uint run) { return raw.scale.x; }
#endif

#if defined(W_q5_0)
#define BLOCK_BYTES 22u
#define ZERO 48.0

Raw fetch(uvec2 block, uint piece) {
    float scale = f16_to_f32(bytes2(block));
    return Raw(bytes8(at_byte(block, 6u + 8u * piece)), bytes4(at_byte(block, 2u)) >> (8u * piece), vec2(scale, 0.0));
}
#endif

#if defined(W_q5_1)
#define BLOCK_BYTES 24u
#define ZERO 32.0
#define HAS_LOW

Raw fetch(uvec2 block, uint piece) {
    ref_u32 words = ref_u32(block);
    uvec2 qs = uvec2(words.v[2u + 2u * piece], words.v[3u + 2u * piece]);
    return Raw(qs, words.v[1] >> (8u * piece), unpackHalf2x16(words.v[0]));
}
float low_of(Raw raw, uint run) { return -raw.scale.y; }
#endif

#if defined(W_q8_0) || defined(W_q8_k)
#define RUN 16u
#define RUNS 1u
#define ZERO 384.0
struct Raw { uvec4 qs; float scale; };

uint run_start(uint piece, uint run) { return 16u * piece; }
uvec3 find(uint g) { return uvec3(g >> 1, 0u, 2u * (g & 1u)); }
vec4 unpack(Raw raw, uint run, uint t) { return fields(raw.qs[t], 0u, 8u); }
float scale_of(Raw raw, uint run) { return raw.scale; }
#endif

#if defined(W_q8_0)
#define BLOCK 32u
#define BLOCK_BYTES 34u

Raw fetch(uvec2 block, uint piece) {
    return Raw(bytes16(at_byte(block, 2u + 16u * piece)) ^ 0x80808080u, f16_to_f32(bytes2(block)));
}
#endif

#if defined(W_q8_k)
#define BLOCK 256u
#define BLOCK_BYTES 292u

Raw fetch(uvec2 block, uint piece) {
    ref_u32 words = ref_u32(block);
    uint at = 1u + 4u * piece;
    uvec4 qs = uvec4(words.v[at], words.v[at + 1u], words.v[at + 2u], words.v[at + 3u]);
    return Raw(qs ^ 0x80808080u, uintBitsToFloat(words.v[0]));
}
#endif

#if defined(W_iq4_nl) || defined(W_iq4_xs)
#define VALUES16 float[](-127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0)
#elif defined(W_mxfp4)
#define VALUES16 float[](0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, -0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0)
#endif

#ifdef VALUES16
#define ZERO 0.0
shared float values16[16];

// The values of four bits at bits `bit`, + 8, + 16, + 24.
vec4 look_up(uint v, uint bit) {
    uvec4 i = (uvec4(v >> bit) >> uvec4(0u, 8u, 16u, 24u)) & 15u;
    return vec4(values16[i.x], values16[i.y], values16[i.z], values16[i.w]);
}
#endif

#if defined(W_iq4_nl)
#define BLOCK_BYTES 18u
struct Raw { uvec2 qs; float scale; };

Raw fetch(uvec2 block, uint piece) {
    return Raw(bytes8(at_byte(block, 2u + 8u * piece)), f16_to_f32(bytes2(block)));
}
vec4 unpack(Raw raw, uint run, uint t) { return look_up(raw.qs[t], 4u * run); }
float scale_of(Raw raw, uint run) { return raw.scale; }
#endif

#if defined(W_mxfp4)
#define BLOCK_BYTES 17u
// The scale 2^(e-128) in two factors within 2^-64..2^63: together they can be subnormal, which a device may take for zero.
struct Raw { uvec2 qs; vec2 scale; };

Raw fetch(uvec2 block, uint piece) {
    uint e = bytes1(block), half_e = e / 2u;
    vec2 scale = uintBitsToFloat((uvec2(half_e, e - half_e) + 63u) << 23);
    return Raw(bytes8(at_byte(block, 1u + 8u * piece)), scale);
}
vec4 unpack(Raw raw, uint run, uint t) { return look_up(raw.qs[t], 4u * run) * raw.scale.x; }
float scale_of(Raw raw, uint run) { return raw.scale.y; }
#endif
