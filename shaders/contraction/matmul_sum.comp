#version 460
// Adds the parts of a product that was split along k, in their order, and applies the epilogue. a holds the parts as ACC:
// [splits, batch, m, n]; y is as the product's. Push and specialization constants: product.glsl. A workgroup covers 256 elements.
#include "contraction/product.glsl"

layout(local_size_x = 256) in;

void main() {
    uint count = p.batch * p.m * p.n, group = group_index(), id = group * 256u + gl_LocalInvocationID.x;
    if (group >= (count + 255u) / 256u || id >= count) return;
    uvec2 part = move(resolve(p.a), uvec2(id, 0u), ACC_SHIFT);
    ACC sum = ACC(0);
    for (uint s = 0u; s < p.splits; ++s) {
        sum += ACC_load(part, 0u);
        part = move(part, uvec2(count, 0u), ACC_SHIFT);
    }
    uint per_batch = p.m * p.n, at = id % per_batch;
    put(target(id / per_batch, 0u, at / p.n), at / p.n, at % p.n, sum);
}
