// Offsets in 64 bits, as two words (low, high).

// a * b in 64 bits.
uvec2 times(uint a, uint b) {
    uint high, low;
    umulExtended(a, b, high, low);
    return uvec2(low, high);
}

uvec2 plus(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

// base + elements << shift.
uvec2 move(uvec2 base, uvec2 elements, uint shift) {
    return plus(base, uvec2(elements.x << shift, (elements.y << shift) | (elements.x >> (32u - shift))));
}
