//! Builders of the operators that map one tensor, element by element. The result has the shape of x, and its type unless said.

use super::plain;
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// -x. Integers wrap.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_neg(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Neg", graph, &[x], out, error)
}

/// |x|. Integers wrap: the lowest one stays.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_abs(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Abs", graph, &[x], out, error)
}

/// -1, 0 or 1; NaN stays NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_sign(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Sign", graph, &[x], out, error)
}

/// The largest integer that is not above x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_floor(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Floor", graph, &[x], out, error)
}

/// The smallest integer that is not below x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_ceil(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Ceil", graph, &[x], out, error)
}

/// The nearest integer, ties to the even one.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_round(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Round", graph, &[x], out, error)
}

/// x without its fraction.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_trunc(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Trunc", graph, &[x], out, error)
}

/// 1 / x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_recip(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Recip", graph, &[x], out, error)
}

/// The square root; NaN below 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_sqrt(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Sqrt", graph, &[x], out, error)
}

/// 1 / sqrt(x).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_rsqrt(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Rsqrt", graph, &[x], out, error)
}

/// e^x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_exp(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Exp", graph, &[x], out, error)
}

/// e^x - 1, accurate near 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_expm1(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Expm1", graph, &[x], out, error)
}

/// The natural logarithm; -infinity at 0, NaN below.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_log(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Log", graph, &[x], out, error)
}

/// log(1 + x), accurate near 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_log1p(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Log1p", graph, &[x], out, error)
}

/// The sine of x in radians.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_sin(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Sin", graph, &[x], out, error)
}

/// The cosine of x in radians.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_cos(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Cos", graph, &[x], out, error)
}

/// The tangent of x in radians.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_tan(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Tan", graph, &[x], out, error)
}

/// The arc sine; NaN outside [-1, 1].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_asin(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Asin", graph, &[x], out, error)
}

/// The arc cosine; NaN outside [-1, 1].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_acos(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Acos", graph, &[x], out, error)
}

/// The arc tangent.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_atan(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Atan", graph, &[x], out, error)
}

/// The hyperbolic sine.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_sinh(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Sinh", graph, &[x], out, error)
}

/// The hyperbolic cosine.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_cosh(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Cosh", graph, &[x], out, error)
}

/// The hyperbolic tangent.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_tanh(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Tanh", graph, &[x], out, error)
}

/// The inverse hyperbolic sine.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_asinh(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Asinh", graph, &[x], out, error)
}

/// The inverse hyperbolic cosine; NaN below 1.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_acosh(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Acosh", graph, &[x], out, error)
}

/// The inverse hyperbolic tangent; NaN outside [-1, 1].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_atanh(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Atanh", graph, &[x], out, error)
}

/// The error function.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_erf(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Erf", graph, &[x], out, error)
}

/// 1 / (1 + e^-x).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_sigmoid(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Sigmoid", graph, &[x], out, error)
}

/// max(x, 0); NaN stays NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_relu(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Relu", graph, &[x], out, error)
}

/// 0.5 x erfc(-x / sqrt(2)): the exact form, accurate in the negative tail too. NaN at -infinity.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gelu(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Gelu", graph, &[x], out, error)
}

/// 0.5 x (1 + tanh(u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), accurate in the negative tail too. NaN at -infinity.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gelu_tanh(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("GeluTanh", graph, &[x], out, error)
}

/// x sigmoid(1.702 x). NaN at -infinity.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gelu_quick(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("GeluQuick", graph, &[x], out, error)
}

/// x sigmoid(x). NaN at -infinity.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_silu(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Silu", graph, &[x], out, error)
}

/// log(1 + e^x), without overflow.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_softplus(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Softplus", graph, &[x], out, error)
}

/// x tanh(softplus(x)). NaN at -infinity.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_mish(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Mish", graph, &[x], out, error)
}

/// x / 6 + 1/2 limited to [0, 1].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_hard_sigmoid(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("HardSigmoid", graph, &[x], out, error)
}

/// x times its hard sigmoid. NaN at -infinity.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_hard_swish(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("HardSwish", graph, &[x], out, error)
}

/// x / (1 + |x|).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_softsign(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Softsign", graph, &[x], out, error)
}

/// log(sigmoid(x)), without underflow.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_log_sigmoid(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("LogSigmoid", graph, &[x], out, error)
}

/// The opposite of a bool.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_not(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Not", graph, &[x], out, error)
}

/// Every bit of an integer turned.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bit_not(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("BitNot", graph, &[x], out, error)
}

/// true where x is NaN: a bool of the shape of x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_is_nan(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("IsNan", graph, &[x], out, error)
}

/// true where x is +infinity or -infinity: a bool of the shape of x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_is_inf(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("IsInf", graph, &[x], out, error)
}
