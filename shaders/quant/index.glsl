// Checked elements of idx. Include common/run_state.glsl first.
layout(constant_id = 14) const uint INDEX = 0u; // idx holds 0: i32, 1: u32, 2: i64 or u64

// Element i, below `extent`; wrap: negative ones count from the end.
uint checked_index(uvec2 idx, uvec2 state, uint node, uint i, uint extent, bool wrap) {
    uvec2 value;
    if (INDEX == 2u) {
        value = ref_u32x2(idx).v[i];
    } else {
        uint v = ref_u32(idx).v[i];
        value = INDEX == 1u ? uvec2(v, 0u) : widen(int(v));
    }
    return check_index(state, node, i, value, extent, wrap);
}
