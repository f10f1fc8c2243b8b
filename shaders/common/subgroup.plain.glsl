// Subgroup arithmetic and shuffles for devices that have neither: the lanes of a subgroup exchange values through shared memory. build.rs sets
// INVOCATIONS to the size of the workgroup. All lanes must take part, and all subgroups of a workgroup equally often where barriers follow.

shared uvec2 lane_values[INVOCATIONS];

uint first_lane() { return gl_SubgroupID * gl_SubgroupSize; }

void show_lanes(uvec2 v) {
    subgroupBarrier(); // what was there has been read
    lane_values[(first_lane() + gl_SubgroupInvocationID) % INVOCATIONS] = v;
    subgroupMemoryBarrierShared();
    subgroupBarrier();
}

// The value of a lane, after show_lanes().
uvec2 lane_value(uint lane) { return lane_values[(first_lane() + lane) % INVOCATIONS]; }

uvec2 of_lane(uvec2 v, uint lane) {
    show_lanes(v);
    return lane_value(lane);
}
float of_lane(float v, uint lane) { return uintBitsToFloat(of_lane(uvec2(floatBitsToUint(v), 0u), lane).x); }
uint of_lane(uint v, uint lane) { return of_lane(uvec2(v, 0u), lane).x; }
int of_lane(int v, uint lane) { return int(of_lane(uvec2(uint(v), 0u), lane).x); }
vec2 of_lane(vec2 v, uint lane) { return uintBitsToFloat(of_lane(floatBitsToUint(v), lane)); }

#define LANE_BITS(v) uvec2(floatBitsToUint(v), 0u)
#define LANE_FLOAT(u) uintBitsToFloat((u).x)
#define LANE_WORD(u) (u).x
#define LANE_WORDS(v) uvec2(v, 0u)
#define PLUS(a, b) ((a) + (b))

// name(v): the values of all lanes joined, in the order of the lanes.
#define OVER_LANES(name, S, TO_BITS, FROM_BITS, JOIN)                                                                            \
    S name(S v) {                                                                                                                \
        show_lanes(TO_BITS(v));                                                                                                  \
        S joined = FROM_BITS(lane_value(0u));                                                                                    \
        for (uint lane = 1u; lane < min(gl_SubgroupSize, INVOCATIONS); ++lane) joined = JOIN(joined, FROM_BITS(lane_value(lane)));\
        return joined;                                                                                                           \
    }

OVER_LANES(add_lanes, float, LANE_BITS, LANE_FLOAT, PLUS)
OVER_LANES(max_lanes, float, LANE_BITS, LANE_FLOAT, max)
OVER_LANES(min_lanes, float, LANE_BITS, LANE_FLOAT, min)
OVER_LANES(add_lanes, uint, LANE_WORDS, LANE_WORD, PLUS)
OVER_LANES(max_lanes, uint, LANE_WORDS, LANE_WORD, max)
#ifdef USE_f64
double of_lane(double v, uint lane) { return packDouble2x32(of_lane(unpackDouble2x32(v), lane)); }
dvec2 of_lane(dvec2 v, uint lane) { return dvec2(of_lane(v.x, lane), of_lane(v.y, lane)); }
OVER_LANES(add_lanes, double, unpackDouble2x32, packDouble2x32, PLUS)
OVER_LANES(max_lanes, double, unpackDouble2x32, packDouble2x32, max)
OVER_LANES(min_lanes, double, unpackDouble2x32, packDouble2x32, min)
#endif

#define subgroupShuffle(v, lane) of_lane(v, lane)
#define subgroupShuffleXor(v, mask) of_lane(v, gl_SubgroupInvocationID ^ (mask))
#define subgroupAdd(v) add_lanes(v)
#define subgroupMax(v) max_lanes(v)
#define subgroupMin(v) min_lanes(v)
