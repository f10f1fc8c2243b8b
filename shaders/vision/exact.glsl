// Places in a picture as a whole number and a part in 0..1, which keeps the part accurate where the whole is large. ACC is the float
// type that is computed in.

#ifdef USE_f64
#define ACC double
#define ACC_NAN NAN64
#else
#define ACC float
#define ACC_NAN NAN
#endif

struct Spot {
    int whole;
    ACC part;
};

// hi + lo, unevaluated: twice the digits.
struct Pair {
    ACC hi, lo;
};

Pair sum_of(ACC a, ACC b) {
    precise ACC s = a + b;
    precise ACC part = s - a;
    precise ACC rest = (a - (s - part)) + (b - part);
    return Pair(s, rest);
}

// Half of the digits of a (Veltkamp).
ACC upper(ACC a) {
#ifdef USE_f64
    precise ACC t = a * ACC(134217729.0);
#else
    precise ACC t = a * ACC(4097.0);
#endif
    precise ACC high = t - (t - a);
    return high;
}

// By halves (Dekker), since a driver may round twice in fma().
Pair product_of(ACC a, ACC b) {
    precise ACC m = a * b;
    precise ACC a1 = upper(a), b1 = upper(b), a2 = a - a1, b2 = b - b1;
    precise ACC rest = ((a1 * b1 - m) + a1 * b2 + a2 * b1) + a2 * b2;
    return Pair(m, is_nan(rest) || is_inf(rest) ? ACC(0) : rest);
}

Pair plus(Pair a, Pair b) {
    Pair s = sum_of(a.hi, b.hi);
    precise ACC rest = s.lo + (a.lo + b.lo);
    return sum_of(s.hi, rest);
}

Pair times(Pair a, ACC b) {
    Pair m = product_of(a.hi, b);
    precise ACC rest = a.lo * b + m.lo;
    return sum_of(m.hi, rest);
}

Pair over(Pair a, ACC b) {
    precise ACC q = a.hi / b;
    Pair m = product_of(q, b);
    precise ACC rest = (((a.hi - m.hi) - m.lo) + a.lo) / b;
    return sum_of(q, rest);
}

// Places beyond any picture are alike.
const float FAR = 1073741824.0; // 2^30

Spot spot_of(Pair v) {
    ACC near = clamp(v.hi, ACC(-FAR), ACC(FAR));
    ACC whole = floor(near);
    precise ACC part = (near - whole) + (near == v.hi ? v.lo : ACC(0));
    ACC more = floor(part);
    return Spot(int(whole) + int(more), part - more);
}
