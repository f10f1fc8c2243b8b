// Elements of 16 and 8 bits for devices that store words of 32 bits only: an element is a part of the aligned word around it. An
// element lies at a multiple of its size, so it never crosses a word; every allocation ends with a whole word.
//
// Other invocations may write the rest of the word at the same time: a store first clears its own bits, then sets them, each
// atomically, and leaves the others alone.

uint bits_before(uvec2 at) { return (at.x & 3u) * 8u; }

uint load_bits(uvec2 at, int bits) { return bitfieldExtract(ref_u32(uvec2(at.x & ~3u, at.y)).v[0], int(bits_before(at)), bits); }

void store_bits(uvec2 at, int bits, uint v) {
    ref_u32 word = ref_u32(uvec2(at.x & ~3u, at.y));
    uint shift = bits_before(at), mask = ((1u << bits) - 1u) << shift;
    atomicAnd(word.v[0], ~mask);
    atomicOr(word.v[0], (v << shift) & mask);
}

uint load_u16(uvec2 base, uint i) { return load_bits(advance(base, i, 2u), 16); }
void store_u16(uvec2 base, uint i, uint v) { store_bits(advance(base, i, 2u), 16, v); }
int load_i16(uvec2 base, uint i) { return bitfieldExtract(int(load_u16(base, i)), 0, 16); }
void store_i16(uvec2 base, uint i, int v) { store_u16(base, i, uint(v)); }
uint load_u8(uvec2 base, uint i) { return load_bits(advance(base, i, 1u), 8); }
void store_u8(uvec2 base, uint i, uint v) { store_bits(advance(base, i, 1u), 8, v); }
int load_i8(uvec2 base, uint i) { return bitfieldExtract(int(load_u8(base, i)), 0, 8); }
void store_i8(uvec2 base, uint i, int v) { store_u8(base, i, uint(v)); }
#ifndef USE_u16
#define USE_u16 1
#endif
#ifndef USE_bool
#define USE_bool 1
#endif
#include "common/halves.glsl"
