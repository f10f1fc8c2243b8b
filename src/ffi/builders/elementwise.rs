//! Builders of the elementwise operators with attributes, or with three operands.

use super::{one, plain};
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// x as another element type, a `caldera_type`.
/// Float to integer truncates toward zero and stops at the type's limits, NaN gives 0. Integer to integer wraps. To bool: x is
/// not 0. To a narrower float: rounded to nearest even, overflow gives infinity.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_cast(
    graph: *mut caldera_graph,
    x: caldera_value,
    to: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Cast", graph, &[x], |a| a.element("to", to), out, error)
}

/// a where the condition (a bool) is true, b elsewhere. The three shapes broadcast.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_where(
    graph: *mut caldera_graph,
    condition: caldera_value,
    a: caldera_value,
    b: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Where", graph, &[condition, a, b], out, error)
}

/// a b + c. The three shapes broadcast.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_fma(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    c: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("Fma", graph, &[a, b, c], out, error)
}

/// x limited to [min, max]; -INFINITY and INFINITY leave a side open. NaN stays NaN; min above max gives max.
/// For integers min is rounded up and max down, and both are limited to the type's range. Errors: INVALID_GRAPH if min or max is NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_clip(
    graph: *mut caldera_graph,
    x: caldera_value,
    min: f64,
    max: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "Clip",
        graph,
        &[x],
        |a| {
            let a = if min == f64::NEG_INFINITY { a } else { a.float("min", min) };
            if max == f64::INFINITY { a } else { a.float("max", max) }
        },
        out,
        error,
    )
}

/// x where x >= 0, alpha x below. (ONNX takes alpha = 0.01 if it is not given.)
#[unsafe(no_mangle)]
pub extern "C" fn caldera_leaky_relu(
    graph: *mut caldera_graph,
    x: caldera_value,
    alpha: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("LeakyRelu", graph, &[x], |a| a.float("alpha", alpha), out, error)
}

/// x where x >= 0, alpha (e^x - 1) below. (ONNX takes alpha = 1 if it is not given.)
#[unsafe(no_mangle)]
pub extern "C" fn caldera_elu(
    graph: *mut caldera_graph,
    x: caldera_value,
    alpha: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Elu", graph, &[x], |a| a.float("alpha", alpha), out, error)
}

/// max(0, x) + min(0, alpha (e^(x / alpha) - 1)). (ONNX takes alpha = 1 if it is not given.)
#[unsafe(no_mangle)]
pub extern "C" fn caldera_celu(
    graph: *mut caldera_graph,
    x: caldera_value,
    alpha: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Celu", graph, &[x], |a| a.float("alpha", alpha), out, error)
}

/// gamma x where x > 0, gamma alpha (e^x - 1) elsewhere. (ONNX takes alpha = 1.6732632 and gamma = 1.050701 if they are
/// not given.)
#[unsafe(no_mangle)]
pub extern "C" fn caldera_selu(
    graph: *mut caldera_graph,
    x: caldera_value,
    alpha: f64,
    gamma: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Selu", graph, &[x], |a| a.float("alpha", alpha).float("gamma", gamma), out, error)
}

/// x where x > alpha, 0 elsewhere; NaN stays NaN. (ONNX takes alpha = 1 if it is not given.)
#[unsafe(no_mangle)]
pub extern "C" fn caldera_thresholded_relu(
    graph: *mut caldera_graph,
    x: caldera_value,
    alpha: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("ThresholdedRelu", graph, &[x], |a| a.float("alpha", alpha), out, error)
}

/// x where x >= 0, slope x below. The slope broadcasts to the shape of x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_prelu(
    graph: *mut caldera_graph,
    x: caldera_value,
    slope: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("PRelu", graph, &[x, slope], out, error)
}
