// Reductions over a workgroup of any size and any subgroup size. Every invocation gets the result. All must call.
//
// The order of the additions depends only on the subgroup size: the same device gives the same bits each time.

#include "common/subgroup.glsl"

shared float reduce_partial[256];

#define REDUCE(name, type, partial, subgroup_op, combine)                                                                        \
    type name(type v) {                                                                                                          \
        v = subgroup_op(v);                                                                                                      \
        barrier();                                                                                                               \
        if (subgroupElect()) partial[gl_SubgroupID] = v;                                                                         \
        barrier();                                                                                                               \
        type total = partial[0];                                                                                                 \
        for (uint i = 1u; i < gl_NumSubgroups; ++i) total = combine(total, partial[i]);                                          \
        return total;                                                                                                            \
    }

#define REDUCE_PLUS(a, b) ((a) + (b))
REDUCE(group_sum, float, reduce_partial, subgroupAdd, REDUCE_PLUS)
// NaN may be lost in these two: test for it apart where it matters.
REDUCE(group_max, float, reduce_partial, subgroupMax, max)
REDUCE(group_min, float, reduce_partial, subgroupMin, min)
#ifdef USE_f64
shared double reduce_partial64[256];
REDUCE(group_sum, double, reduce_partial64, subgroupAdd, REDUCE_PLUS)
REDUCE(group_max, double, reduce_partial64, subgroupMax, max)
REDUCE(group_min, double, reduce_partial64, subgroupMin, min)
#endif

shared uint reduce_partial_u32[256];
REDUCE(group_sum, uint, reduce_partial_u32, subgroupAdd, REDUCE_PLUS)
REDUCE(group_max, uint, reduce_partial_u32, subgroupMax, max)

bool group_any(bool v) { return group_max(v ? 1u : 0u) != 0u; }
