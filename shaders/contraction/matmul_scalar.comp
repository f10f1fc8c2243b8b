#version 460
// The plain product: one invocation an element of y, k in order, every address in 64 bits. The oracle of the other kernels, and
// the kernel of tiny matrices, of K = 0, and of matrices whose offsets inside a tile would leave 31 bits.
// Push and specialization constants: product.glsl. A workgroup covers 256 elements of [batch, m, n].
#include "contraction/product.glsl"

layout(local_size_x = 256) in;

void main() {
    uint group = group_index(), per_batch = p.m * p.n;
    uint id = group * 256u + gl_LocalInvocationID.x;
    if (group >= (p.batch * per_batch + 255u) / 256u || id >= p.batch * per_batch) return;
    uint batch = id / per_batch, at = id % per_batch, i = at / p.n, j = at % p.n;
    uvec2 a = resolve(p.a), b = resolve(p.b);
    enter_batch(batch, a, b);
    a = move(a, times(i, p.a_row), T_SHIFT);
    b = move(b, times(j, p.b_n), T_SHIFT);
    uvec2 a_step = uvec2(p.a_k, 0u), b_step = uvec2(p.b_k, 0u);
    uint count = GROUPING == 1u && p.experts == 0u ? 0u : p.k;
    ACC sum = ACC(0);
    for (uint k = 0u; k < count; ++k) {
        sum = fma(T_load(a, 0u), T_load(b, 0u), sum);
        a = move(a, a_step, T_SHIFT);
        b = move(b, b_step, T_SHIFT);
    }
    put(target(batch, 0u, SWAP ? j : i), i, j, sum);
}
