// How a scatter combines two values. KIND: 0 add, 1 multiply, 2 largest, 3 smallest (NaN if either is NaN).

layout(constant_id = 1) const uint KIND = 0u;

// Segments of more updates than this are left to scatter_long.comp.
const uint LONG = 256u;

T_compute combine(T_compute a, T_compute b) {
    if (KIND == 0u) return a + b;
    if (KIND == 1u) return a * b;
#if defined(T_f32) || defined(T_f16) || defined(T_bf16) || defined(T_f64)
    if (is_nan(a)) return a;
    if (is_nan(b)) return b;
#endif
    return (KIND == 2u) == (a < b) ? b : a;
}
