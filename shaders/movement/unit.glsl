// Units of bytes that are moved as they are (UNIT_b1, UNIT_b2, UNIT_b4, UNIT_b8 or UNIT_b16 is defined), offsets of 64 bits, and
// division by numbers known at compile. Include it after common/types.glsl.

#if defined(UNIT_b1)
#define UNIT uint
#define UNIT_BYTES 1u
#define load_unit load_u8
#define store_unit store_u8
#elif defined(UNIT_b2)
#define UNIT uint
#define UNIT_BYTES 2u
#define load_unit load_u16
#define store_unit store_u16
#elif defined(UNIT_b4)
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer ref_unit { uint v[]; };
#define UNIT uint
#define UNIT_BYTES 4u
#elif defined(UNIT_b8)
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_unit { uvec2 v[]; };
#define UNIT uvec2
#define UNIT_BYTES 8u
#elif defined(UNIT_b16)
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer ref_unit { uvec4 v[]; };
#define UNIT uvec4
#define UNIT_BYTES 16u
#endif

#if defined(UNIT) && !defined(load_unit)
UNIT load_unit(uvec2 base, uint i) { return ref_unit(base).v[i]; }
void store_unit(uvec2 base, uint i, UNIT v) { ref_unit(base).v[i] = v; }
#endif

// a + b in 64 bits; b may be negative.
uvec2 add64(uvec2 a, uvec2 b) {
    uint carry, low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

// count * stride in 64 bits; the stride may be negative.
uvec2 times64(uint count, uvec2 stride) {
    uint high, low;
    umulExtended(count, stride.x, high, low);
    return uvec2(low, high + count * stride.y);
}

// n / d for n below 2^31, with the multiplier and the shift that the host made for d.
uint divide(uint n, uint multiplier, uint shift) {
    uint high, low;
    umulExtended(n, multiplier, high, low);
    return (high + n) >> shift;
}
