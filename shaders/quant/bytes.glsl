// Bytes at any alignment: the aligned words around them, shifted together. No word is read that holds none of the wanted bytes.

// base + bytes, in 64 bits.
uvec2 at_byte(uvec2 base, uint bytes) {
    uint carry;
    uint low = uaddCarry(base.x, bytes, carry);
    return uvec2(low, base.y + carry);
}

// The 32 bits that start `shift` (0, 8, 16 or 24) bits into low.
uint join(uint low, uint high, uint shift) { return (low >> shift) | ((high << 1) << (31u - shift)); }

#define WORDS_AROUND(at) ref_u32(uvec2((at).x & ~3u, (at).y))
#define BITS_BEFORE(at) (((at).x & 3u) * 8u)

uint bytes1(uvec2 at) { return (WORDS_AROUND(at).v[0] >> BITS_BEFORE(at)) & 0xffu; }

// At an even address.
uint bytes2(uvec2 at) { return (WORDS_AROUND(at).v[0] >> BITS_BEFORE(at)) & 0xffffu; }

uint bytes4(uvec2 at) {
    ref_u32 words = WORDS_AROUND(at);
    uint shift = BITS_BEFORE(at), last = 0u;
    if (shift != 0u) last = words.v[1];
    return join(words.v[0], last, shift);
}

uvec2 bytes8(uvec2 at) {
    ref_u32 words = WORDS_AROUND(at);
    uint shift = BITS_BEFORE(at), a = words.v[0], b = words.v[1], last = 0u;
    if (shift != 0u) last = words.v[2];
    return uvec2(join(a, b, shift), join(b, last, shift));
}

uvec4 bytes16(uvec2 at) {
    ref_u32 words = WORDS_AROUND(at);
    uint shift = BITS_BEFORE(at), a = words.v[0], b = words.v[1], c = words.v[2], d = words.v[3], last = 0u;
    if (shift != 0u) last = words.v[4];
    return uvec4(join(a, b, shift), join(b, c, shift), join(c, d, shift), join(d, last, shift));
}

// v * 2^n of the bits, n of either sign.
uint shift_left(uint v, int n) { return n >= 0 ? v << n : v >> -n; }

// The fields of `width` bits (up to 8) that start at bits `bit`, `bit` + 8, + 16, + 24 of v, each as 2^width + field. A field
// becomes the top of a mantissa: two integer instructions, where a conversion would take a quarter of the rate.
vec4 fields(uint v, uint bit, uint width) {
    uint mask = ((1u << width) - 1u) << (23u - width), one = (127u + width) << 23;
    int left = 23 - int(width) - int(bit);
    uvec4 u = uvec4(shift_left(v, left), shift_left(v, left - 8), shift_left(v, left - 16), shift_left(v, left - 24));
    return uintBitsToFloat((u & mask) | one);
}

// Bits 0 to 3 of v as the lowest bits of four bytes.
uint spread(uint v) { return ((v & 15u) * 0x00204081u) & 0x01010101u; }

// Byte `i` of v, signed.
float signed_byte(uint v, uint i) { return float(bitfieldExtract(int(v), int(8u * i), 8)); }
