#version 460
// Copies bytes. Offsets and length are read from memory, so that they can change from run to run.
// block: from_offset, to_offset, bytes (u64 each; multiples of T's size). One workgroup copies 4096 bytes; those past the end do nothing.
#include "common/types.glsl"

layout(local_size_x = 256) in;
layout(push_constant) uniform Push {
    uvec2 from, to, block;
} p;

uvec2 add(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

void main() {
    ref_u32x2 block = ref_u32x2(resolve(p.block));
    uvec2 bytes = block.v[2], start;
    umulExtended(group_index(), 4096u, start.y, start.x);
    if (start.y > bytes.y || (start.y == bytes.y && start.x >= bytes.x)) return;
    uvec2 left = uvec2(bytes.x - start.x, bytes.y - start.y - (bytes.x < start.x ? 1u : 0u));
    uint count = (left.y > 0u ? 4096u : min(left.x, 4096u)) / T_BYTES;
    uvec2 from = add(add(resolve(p.from), block.v[0]), start), to = add(add(resolve(p.to), block.v[1]), start);
    for (uint i = gl_LocalInvocationID.x; i < count; i += gl_WorkGroupSize.x) T_store(to, i, T_load(from, i));
}
