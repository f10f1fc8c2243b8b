// Types whose weights are looked up in vectors, and tq1_0: 256 weights a block. See decode.glsl.

#if defined(W_iq4_xs)
#define BLOCK 256u
#define BLOCK_BYTES 136u
#define RUN 16u
#define RUNS 2u
struct Raw { uvec4 qs; float scale; };

uint run_start(uint piece, uint run) { return 32u * piece + 16u * run; }
uvec3 find(uint g) { return uvec3(g >> 2, (g >> 1) & 1u, 2u * (g & 1u)); }

Raw fetch(uvec2 block, uint piece) {
    ref_u32x2 pairs = ref_u32x2(block);
    uvec2 head = pairs.v[0];
    uint scale = ((head.y >> (4u * piece)) & 15u) | ((head.x >> (16u + 2u * piece)) & 3u) << 4;
    return Raw(uvec4(pairs.v[1u + 2u * piece], pairs.v[2u + 2u * piece]), f16_to_f32(head.x & 0xffffu) * (float(scale) - 32.0));
}
vec4 unpack(Raw raw, uint run, uint t) { return look_up(raw.qs[t], 4u * run); }
float scale_of(Raw raw, uint run) { return raw.scale; }
#endif

#if defined(W_iq2_xxs)
#define CODEBOOK 128u
#define BLOCK_BYTES 66u
#elif defined(W_iq2_xs)
#define CODEBOOK 256u
#define BLOCK_BYTES 74u
#elif defined(W_iq2_s)
#define CODEBOOK 512u
#define BLOCK_BYTES 82u
#elif defined(W_iq3_xxs)
#define CODEBOOK 128u
#define BLOCK_BYTES 98u
#elif defined(W_iq3_s)
#define CODEBOOK 256u
#define BLOCK_BYTES 110u
#elif defined(W_iq1_s)
#define CODEBOOK 1024u
#define BLOCK_BYTES 50u
#elif defined(W_iq1_m)
#define CODEBOOK 1024u
#define BLOCK_BYTES 56u
#elif defined(W_tq1_0)
#define BLOCK_BYTES 54u
#endif

#if defined(CODEBOOK) || defined(W_tq1_0)
// A piece is one vector of 8, expanded when it is fetched.
#define BLOCK 256u
#define RUN 8u
#define RUNS 1u
#define ZERO 0.0
struct Raw { vec4 a, b; float scale; };

uint run_start(uint piece, uint run) { return 8u * piece; }
uvec3 find(uint g) { return uvec3(g, 0u, 0u); }
vec4 unpack(Raw raw, uint run, uint t) { return t == 0u ? raw.a : raw.b; }
float scale_of(Raw raw, uint run) { return raw.scale; }
#endif

#ifdef CODEBOOK
shared uint codebook_words[CODEBOOK];
uint codebook(uint i) { return (codebook_words[i >> 1] >> (16u * (i & 1u))) & 0xffffu; }

// v negated where the lowest four bits of `signs` are set.
vec4 negate(vec4 v, uint signs) {
    return uintBitsToFloat(floatBitsToUint(v) ^ ((uvec4(signs) << uvec4(31u, 30u, 29u, 28u)) & 0x80000000u));
}

// Seven signs, and an eighth that makes their number even.
uint even_signs(uint seven) { return seven | (bitCount(seven) & 1u) << 7; }
#endif

#if defined(W_iq2_xxs) || defined(W_iq2_xs) || defined(W_iq2_s)
// Fields 0, 1, 2 mean 8, 25, 43.
vec4 two_bits(uint entry) {
    uvec4 v = (uvec4(entry) >> uvec4(0u, 2u, 4u, 6u)) & 3u;
    return vec4(8u + 17u * v + (v >> 1));
}

Raw expand(uint entry, uint signs, float d, uint scale) {
    return Raw(negate(two_bits(entry), signs), negate(two_bits(entry >> 8), signs >> 4), d * (0.5 + float(scale)) * 0.25);
}
#endif

#if defined(W_iq2_xxs)
Raw fetch(uvec2 block, uint piece) {
    uvec2 part = bytes8(at_byte(block, 2u + 8u * (piece >> 2)));
    uint i = piece & 3u, entry = codebook((part.x >> (8u * i)) & 0xffu);
    return expand(entry, even_signs((part.y >> (7u * i)) & 127u), f16_to_f32(bytes2(block)), part.y >> 28);
}
#endif

#if defined(W_iq2_xs)
Raw fetch(uvec2 block, uint piece) {
    uint word = bytes2(at_byte(block, 2u + 2u * piece)), scales = bytes1(at_byte(block, 66u + (piece >> 2)));
    uint scale = (scales >> (2u * (piece & 2u))) & 15u;
    return expand(codebook(word & 511u), even_signs(word >> 9), f16_to_f32(bytes2(block)), scale);
}
#endif

#if defined(W_iq2_s)
Raw fetch(uvec2 block, uint piece) {
    uint high = (bytes1(at_byte(block, 66u + (piece >> 2))) >> (2u * (piece & 3u))) & 3u;
    uint entry = codebook(bytes1(at_byte(block, 2u + piece)) | high << 8);
    uint scale = (bytes1(at_byte(block, 74u + (piece >> 2))) >> (2u * (piece & 2u))) & 15u;
    return expand(entry, bytes1(at_byte(block, 34u + piece)), f16_to_f32(bytes2(block)), scale);
}
#endif

#if defined(W_iq3_xxs)
// Fields mean 4, 12, .., 52, 62.
vec4 three_bits(uint entry) {
    uvec4 v = (uvec4(entry) >> uvec4(0u, 4u, 8u, 12u)) & 7u;
    return vec4(4u + 8u * v + 2u * ((v + 1u) >> 3));
}

Raw fetch(uvec2 block, uint piece) {
    uint pair = bytes2(at_byte(block, 2u + 2u * piece)), word = bytes4(at_byte(block, 66u + 4u * (piece >> 2)));
    uint signs = even_signs((word >> (7u * (piece & 3u))) & 127u);
    float scale = f16_to_f32(bytes2(block)) * (0.5 + float(word >> 28)) * 0.5;
    return Raw(negate(three_bits(codebook(pair & 0xffu)), signs), negate(three_bits(codebook(pair >> 8)), signs >> 4), scale);
}
#endif

#if defined(W_iq3_s)
// Fields mean 1, 3, .., 15.
vec4 three_bits(uint entry) {
    uvec4 v = (uvec4(entry) >> uvec4(0u, 4u, 8u, 12u)) & 7u;
    return vec4(2u * v + 1u);
}

Raw fetch(uvec2 block, uint piece) {
    uint pair = bytes2(at_byte(block, 2u + 2u * piece)), signs = bytes1(at_byte(block, 74u + piece));
    uint high = bytes1(at_byte(block, 66u + (piece >> 2))) >> (2u * (piece & 3u));
    uint a = codebook((pair & 0xffu) | (high & 1u) << 8), b = codebook((pair >> 8) | (high & 2u) << 7);
    uint scale = (bytes1(at_byte(block, 106u + (piece >> 3))) >> (piece & 4u)) & 15u;
    float d = f16_to_f32(bytes2(block)) * (1.0 + 2.0 * float(scale));
    return Raw(negate(three_bits(a), signs), negate(three_bits(b), signs >> 4), d);
}
#endif

#if defined(W_iq1_s) || defined(W_iq1_m)
// Fields 0, 1, 2 mean -1, 0, 1, all moved by 1/8 up or down.
Raw expand(uint entry, bool down, float scale) {
    float delta = down ? -1.125 : -0.875;
    uvec4 a = (uvec4(entry) >> uvec4(0u, 2u, 4u, 6u)) & 3u, b = (uvec4(entry) >> uvec4(8u, 10u, 12u, 14u)) & 3u;
    return Raw(vec4(a) + delta, vec4(b) + delta, scale);
}
#endif

#if defined(W_iq1_s)
Raw fetch(uvec2 block, uint piece) {
    uint word = bytes2(at_byte(block, 34u + 2u * (piece >> 2)));
    uint entry = codebook(bytes1(at_byte(block, 2u + piece)) | ((word >> (3u * (piece & 3u))) & 7u) << 8);
    float scale = f16_to_f32(bytes2(block)) * float(2u * ((word >> 12) & 7u) + 1u);
    return expand(entry, (word & 0x8000u) != 0u, scale);
}
#endif

#if defined(W_iq1_m)
Raw fetch(uvec2 block, uint piece) {
    ref_u32x2 pairs = ref_u32x2(block);
    uvec2 words = pairs.v[6];
    uint high = bytes1(at_byte(block, 32u + (piece >> 1))) >> (4u * (piece & 1u));
    uint entry = codebook(bytes1(at_byte(block, piece)) | (high & 7u) << 8);
    uint d = ((words.x >> 12) & 15u) | ((words.x >> 24) & 0xf0u) | ((words.y >> 4) & 0xf00u) | ((words.y >> 16) & 0xf000u);
    // Three bits for 16 weights, four such fields in 16 bits.
    uint scale = (words[piece >> 4] >> (16u * ((piece >> 3) & 1u) + 3u * ((piece >> 1) & 3u))) & 7u;
    return expand(entry, (high & 8u) != 0u, f16_to_f32(d) * float(2u * scale + 1u));
}
#endif

#if defined(W_tq1_0)
// Digit n, most significant first, of four bytes that hold fractions b / 256 in base 3.
vec4 digits(uint four, uint n) {
    uint power = n == 0u ? 1u : n == 1u ? 3u : n == 2u ? 9u : n == 3u ? 27u : 81u;
    uvec4 b = (uvec4(four) >> uvec4(0u, 8u, 16u, 24u)) & 0xffu;
    return vec4((((b * power) & 0xffu) * 3u) >> 8) - 1.0;
}

Raw fetch(uvec2 block, uint piece) {
    float scale = f16_to_f32(bytes2(at_byte(block, 52u)));
    if (piece >= 30u) {
        uint four = bytes4(at_byte(block, 48u)), n = 2u * (piece - 30u);
        return Raw(digits(four, n), digits(four, n + 1u), scale);
    }
    uint at = piece < 20u ? 8u * (piece & 3u) : 32u + 8u * (piece & 1u), n = piece < 20u ? piece >> 2 : (piece - 20u) >> 1;
    uvec2 eight = bytes8(at_byte(block, at));
    return Raw(digits(eight.x, n), digits(eight.y, n), scale);
}
#endif
