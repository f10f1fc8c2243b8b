// Indices of 32 or 64 bits. Include it after common/types.glsl and common/run_state.glsl.

layout(constant_id = 10) const bool WIDE_INDEX = false; // i64 instead of i32

// Index i as the two words of an i64.
uvec2 load_index(uvec2 base, uint i) {
    return WIDE_INDEX ? ref_u32x2(base).v[i] : widen(load_i32(base, i));
}
