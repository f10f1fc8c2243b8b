// The tile of a product on matrix units, and loops over its registers written out: drivers leave some loops rolled and then keep the matrices in
// memory, where they are 10 times slower (H200: 34 TFLOP/s with loops, 228 without, f16 4096x4096x4096).
//
// BM x BN results by 4 subgroups of 32 in a square, PARTS x PARTS matrices of 16x16 each; slices of 32 along k, of which an invocation fetches PARTS
// pieces of 8 halves of each operand.
// ALL(f) is f(0) .. f(PARTS - 1); OVER_M(f, j) is f(i, j) for all i, OVER_N(f, i) for all j (a macro cannot be used inside itself).
#ifdef TILE_medium
#define BM 128u
#define BN 128u
#define PARTS 4u
#define ALL(f) f(0) f(1) f(2) f(3)
#define OVER_M(f, j) f(0, j) f(1, j) f(2, j) f(3, j)
#define OVER_N(f, i) f(i, 0) f(i, 1) f(i, 2) f(i, 3)
#else
#define BM 64u
#define BN 64u
#define PARTS 2u
#define ALL(f) f(0) f(1)
#define OVER_M(f, j) f(0, j) f(1, j)
#define OVER_N(f, i) f(i, 0) f(i, 1)
#endif
#define BK 32u
#define WM (16u * PARTS)
#define WN (16u * PARTS)
#define THREADS 128u
