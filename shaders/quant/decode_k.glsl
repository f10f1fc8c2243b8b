// The k types and tq2_0: 256 weights a block. See decode.glsl.

#if defined(W_q2_k) || defined(W_q3_k) || defined(W_q6_k) || defined(W_tq2_0)
// Fields of two bits: 8 bytes hold 8 weights of each of four parts of 32.
#define BLOCK 256u
#define RUN 8u
#define RUNS 4u
uint run_start(uint piece, uint run) { return 128u * (piece >> 2) + 32u * run + 8u * (piece & 3u); }
uvec3 find(uint g) { return uvec3((g >> 4) * 4u + (g & 3u), (g >> 2) & 3u, 0u); }
#endif

#if defined(W_q2_k)
#define BLOCK_BYTES 84u
#define ZERO 4.0
#define HAS_LOW
struct Raw { uvec2 qs; vec4 scale, low; };

Raw fetch(uvec2 block, uint piece) {
    ref_u32 words = ref_u32(block);
    uint half_block = piece >> 2, at = 4u + 8u * half_block + 2u * (piece & 3u);
    // Scales of the four runs: every second byte of eight.
    uvec2 parts = uvec2(words.v[2u * half_block], words.v[2u * half_block + 1u]) >> (8u * ((piece >> 1) & 1u));
    vec2 d = unpackHalf2x16(words.v[20]);
    uvec4 part = uvec4(parts.x, parts.x >> 16, parts.y, parts.y >> 16);
    return Raw(uvec2(words.v[at], words.v[at + 1u]), d.x * vec4(part & 15u), d.y * vec4((part >> 4) & 15u));
}
vec4 unpack(Raw raw, uint run, uint t) { return fields(raw.qs[t], 2u * run, 2u); }
float scale_of(Raw raw, uint run) { return raw.scale[run]; }
float low_of(Raw raw, uint run) { return raw.low[run]; }
#endif

#if defined(W_q3_k)
#define BLOCK_BYTES 110u
#define ZERO 12.0
// high: the third bits, of run r at bit r of each byte.
struct Raw { uvec2 qs, high; vec4 scale; };

Raw fetch(uvec2 block, uint piece) {
    uint half_block = piece >> 2, eighth = piece & 3u, odd = eighth >> 1;
    uvec2 qs = bytes8(at_byte(block, 32u + 32u * half_block + 8u * eighth));
    uvec2 high = bytes8(at_byte(block, 8u * eighth)) >> (4u * half_block);
    // Run r has part 8 half_block + 2r + odd: its low four bits in byte 2r + odd, its high two in byte 8 + (2r + odd) % 4.
    uvec2 low4 = bytes8(at_byte(block, 96u)) >> (4u * half_block + 8u * odd);
    uint high2 = bytes4(at_byte(block, 104u)) >> (4u * half_block + 8u * odd);
    uvec4 low = uvec4(low4.x, low4.x >> 16, low4.y, low4.y >> 16) & 15u;
    uvec4 top = uvec4(high2, high2 >> 16, high2 >> 2, high2 >> 18) & 3u;
    float d = f16_to_f32(bytes2(at_byte(block, 108u)));
    return Raw(qs, high, d * (vec4(low | top << 4) - 32.0));
}
vec4 unpack(Raw raw, uint run, uint t) {
    return fields(((raw.qs[t] >> (2u * run)) & 0x03030303u) | ((raw.high[t] >> run) & 0x01010101u) << 2, 0u, 3u);
}
float scale_of(Raw raw, uint run) { return raw.scale[run]; }
#endif

#if defined(W_q6_k)
#define BLOCK_BYTES 210u
#define ZERO 96.0
// low: 8 bytes for runs 0 and 2, then 8 for runs 1 and 3.
struct Raw { uvec4 low; uvec2 high; vec4 scale; };

Raw fetch(uvec2 block, uint piece) {
    uint half_block = piece >> 2, at = 8u * (piece & 3u);
    uvec2 a = bytes8(at_byte(block, 64u * half_block + at)), b = bytes8(at_byte(block, 64u * half_block + 32u + at));
    uvec2 high = bytes8(at_byte(block, 128u + 32u * half_block + at));
    // Scales of the four runs: every second byte of eight.
    uvec2 parts = bytes8(at_byte(block, 192u + 8u * half_block)) >> (8u * ((piece >> 1) & 1u));
    float d = f16_to_f32(bytes2(at_byte(block, 208u)));
    vec4 scale = vec4(signed_byte(parts.x, 0u), signed_byte(parts.x, 2u), signed_byte(parts.y, 0u), signed_byte(parts.y, 2u));
    return Raw(uvec4(a, b), high, d * scale);
}
vec4 unpack(Raw raw, uint run, uint t) {
    uint low = raw.low[2u * (run & 1u) + t] >> (4u * (run >> 1));
    return fields((low & 0x0f0f0f0fu) | ((raw.high[t] >> (2u * run)) & 0x03030303u) << 4, 0u, 6u);
}
float scale_of(Raw raw, uint run) { return raw.scale[run]; }
#endif

#if defined(W_tq2_0)
#define BLOCK_BYTES 66u
#define ZERO 5.0
struct Raw { uvec2 qs; float scale; };

Raw fetch(uvec2 block, uint piece) {
    return Raw(bytes8(at_byte(block, 8u * piece)), f16_to_f32(bytes2(at_byte(block, 64u))));
}
vec4 unpack(Raw raw, uint run, uint t) { return fields(raw.qs[t], 2u * run, 2u); }
float scale_of(Raw raw, uint run) { return raw.scale; }
#endif

#if defined(W_q4_k) || defined(W_q5_k)
// Four bits: 16 bytes hold 16 weights of each of two parts of 32.
#define BLOCK 256u
#define RUN 16u
#define RUNS 2u
#define HAS_LOW
uint run_start(uint piece, uint run) { return 64u * (piece >> 1) + 32u * run + 16u * (piece & 1u); }
uvec3 find(uint g) { return uvec3((g >> 3) * 2u + ((g >> 1) & 1u), (g >> 2) & 1u, 2u * (g & 1u)); }

// Scales (x, y) and minimums (z, w) of the two runs, from the first 16 bytes of the block.
vec4 scales_and_minimums(uvec4 head, uint piece) {
    uint pair = piece >> 1, shift = 16u * (pair & 1u);
    uvec3 parts = head.yzw >> shift;
    uvec2 s = parts.xy & 0x3f3fu;
    if (pair >= 2u) s = (uvec2(parts.z, parts.z >> 4) & 0x0f0fu) | ((parts.xy >> 2) & 0x3030u);
    vec2 d = unpackHalf2x16(head.x);
    return vec4(d.xx, d.yy) * vec4(s.x & 0xffu, s.x >> 8, s.y & 0xffu, s.y >> 8);
}
#endif

#if defined(W_q4_k)
#define BLOCK_BYTES 144u
#define ZERO 16.0
struct Raw { uvec4 qs; vec4 scale; };

Raw fetch(uvec2 block, uint piece) {
    ref_u32x4 vectors = ref_u32x4(block);
    return Raw(vectors.v[1u + piece], scales_and_minimums(vectors.v[0], piece));
}
vec4 unpack(Raw raw, uint run, uint t) { return fields(raw.qs[t], 4u * run, 4u); }
float scale_of(Raw raw, uint run) { return raw.scale[run]; }
float low_of(Raw raw, uint run) { return raw.scale[2u + run]; }
#endif

#if defined(W_q5_k)
#define BLOCK_BYTES 176u
#define ZERO 32.0
// high: the fifth bits, of run r at bit r of each byte.
struct Raw { uvec4 qs, high; vec4 scale; };

Raw fetch(uvec2 block, uint piece) {
    ref_u32x4 vectors = ref_u32x4(block);
    uvec4 high = vectors.v[1u + (piece & 1u)] >> (piece & ~1u);
    return Raw(vectors.v[3u + piece], high, scales_and_minimums(vectors.v[0], piece));
}
vec4 unpack(Raw raw, uint run, uint t) {
    return fields(((raw.qs[t] >> (4u * run)) & 0x0f0f0f0fu) | ((raw.high[t] >> run) & 0x01010101u) << 4, 0u, 5u);
}
float scale_of(Raw raw, uint run) { return raw.scale[run]; }
float low_of(Raw raw, uint run) { return raw.scale[2u + run]; }
#endif
