//! Builders of the operators that combine two tensors, element by element. Shapes broadcast as in NumPy; both types must be the same.

use super::plain;
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// a + b. Integers wrap.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_add(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Add", graph, &[a, b], out, error)
}

/// a - b. Integers wrap.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_sub(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Sub", graph, &[a, b], out, error)
}

/// a b. Integers wrap.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_mul(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Mul", graph, &[a, b], out, error)
}

/// a / b. Integers truncate toward zero, and give 0 where b is 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_div(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Div", graph, &[a, b], out, error)
}

/// The larger of a and b; NaN if either is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_max(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Max", graph, &[a, b], out, error)
}

/// The smaller of a and b; NaN if either is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_min(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Min", graph, &[a, b], out, error)
}

/// a to the power of b, as pow() of C: (-2)^3 = -8, (-2)^0.5 = NaN. Integers are exact and wrap; a negative exponent gives the
/// exact value truncated, 0 for base 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_pow(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Pow", graph, &[a, b], out, error)
}

/// The rest of a / b with the sign of b (floored division). Integers: 0 where b is 0; floats: NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_mod(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Mod", graph, &[a, b], out, error)
}

/// The exact rest of a / b with the sign of a, as fmod() of C. Integers: 0 where b is 0; floats: NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_fmod(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("FMod", graph, &[a, b], out, error)
}

/// The angle of the point (b, a), in [-pi, pi], as atan2(a, b) of C.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_atan2(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Atan2", graph, &[a, b], out, error)
}

/// Bits that are set in a and in b. Integers.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bit_and(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("BitAnd", graph, &[a, b], out, error)
}

/// Bits that are set in a or in b. Integers.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bit_or(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("BitOr", graph, &[a, b], out, error)
}

/// Bits that are set in one of a and b. Integers.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bit_xor(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("BitXor", graph, &[a, b], out, error)
}

/// a shifted left by b bits. Integers. An amount below 0, or of the width or more, gives 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_shl(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Shl", graph, &[a, b], out, error)
}

/// a shifted right by b bits; signed values keep their sign. Integers. An amount below 0, or of the width or more, gives 0, and
/// -1 for negative a.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_shr(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Shr", graph, &[a, b], out, error)
}

/// a = b: a bool. NaN compares as in IEEE 754: only "differs" is true of it.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_eq(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Eq", graph, &[a, b], out, error)
}

/// a differs from b: a bool.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_ne(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Ne", graph, &[a, b], out, error)
}

/// a < b: a bool.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_lt(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Lt", graph, &[a, b], out, error)
}

/// a <= b: a bool.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_le(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Le", graph, &[a, b], out, error)
}

/// a > b: a bool.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gt(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Gt", graph, &[a, b], out, error)
}

/// a >= b: a bool.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_ge(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Ge", graph, &[a, b], out, error)
}

/// a and b, of bools.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_and(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("And", graph, &[a, b], out, error)
}

/// a or b, of bools.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_or(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Or", graph, &[a, b], out, error)
}

/// either a or b, but not both, of bools.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_xor(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Xor", graph, &[a, b], out, error)
}
