// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, 2011).

uvec4 philox(uvec4 counter, uvec2 key) {
    for (uint round = 0u; round < 10u; ++round) {
        uint h0, l0, h1, l1;
        umulExtended(0xD2511F53u, counter.x, h0, l0);
        umulExtended(0xCD9E8D57u, counter.z, h1, l1);
        counter = uvec4(h1 ^ counter.y ^ key.x, l1, h0 ^ counter.w ^ key.y, l0);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

// The upper 24 bits as a number in 0..1.
float unit_of(uint word) { return float(word >> 8) * 5.9604644775390625e-8; }
