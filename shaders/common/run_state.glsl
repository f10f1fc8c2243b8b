// The numbers that change from run to run, and the place where a kernel reports a bad index (host side: plan/run_state.rs).

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer ref_run_state {
    uint status;    // 0, or 1 once a kernel has reported
    uint node;      // of the first report
    uint position;  // flat position of the bad index in its tensor
    uint reserved;
    uvec2 value;    // the index, i64
    uvec2 limit;    // it had to be below this, i64
    uvec2 seed;
    uint run;       // runs since compile or since the seed was set
    uint unchecked; // 1: bad indices are clamped without a report
    uint extents[16];
};

// Reports index `value` (i64 as two words). The kernel goes on with a clamped index: no stray access happens.
void report_index(uvec2 state, uint node, uint position, uvec2 value, uint limit) {
    ref_run_state s = ref_run_state(state);
    if (s.unchecked == 0u && atomicCompSwap(s.status, 0u, 1u) == 0u) {
        s.node = node;
        s.position = position;
        s.value = value;
        s.limit = uvec2(limit, 0u);
    }
}

// Sign-extends an i32 to the two words of an i64.
uvec2 widen(int v) { return uvec2(uint(v), v < 0 ? 0xffffffffu : 0u); }

// Checks an index (i64 as two words) against `extent`, counting negative ones from the end where `wrap` is set.
uint check_index(uvec2 state, uint node, uint position, uvec2 value, uint extent, bool wrap) {
    if (value.y == 0u && value.x < extent) return value.x;
    if (wrap && value.y == 0xffffffffu && uint(-int(value.x)) <= extent && value.x >= 0x80000000u) return value.x + extent;
    report_index(state, node, position, value, extent);
    return (value.y & 0x80000000u) != 0u || extent == 0u ? 0u : extent - 1u;
}
