//! Builders of reductions, orders, and softmax.

use super::{one, several};
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// What `caldera_reduce` makes of the elements. In brackets: of no elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_reduce_kind {
    /// (0)
    CALDERA_REDUCE_SUM = 1,
    /// (NaN)
    CALDERA_REDUCE_MEAN = 2,
    /// NaN if one is NaN (-infinity; the lowest integer).
    CALDERA_REDUCE_MAX = 3,
    /// NaN if one is NaN (+infinity; the highest integer).
    CALDERA_REDUCE_MIN = 4,
    /// (1)
    CALDERA_REDUCE_PROD = 5,
    /// The sum of squares (0).
    CALDERA_REDUCE_SUM_SQUARE = 6,
    /// The sum of absolute values (0).
    CALDERA_REDUCE_L1 = 7,
    /// The square root of the sum of squares (0).
    CALDERA_REDUCE_L2 = 8,
    /// The logarithm of the sum (-infinity).
    CALDERA_REDUCE_LOG_SUM = 9,
    /// The logarithm of the sum of e^x, without overflow (-infinity).
    CALDERA_REDUCE_LOG_SUM_EXP = 10,
}

/// Their spelling in attributes, from 1 on.
const REDUCE_KINDS: &[&str] = &["Sum", "Mean", "Max", "Min", "Prod", "SumSquare", "L1", "L2", "LogSum", "LogSumExp"];

/// Reduces x over `axes`, in any order; none: over all. `kind` is a `caldera_reduce_kind`.
/// `keep_dims` 1: the axes stay, with extent 1. MEAN, L2, LOG_SUM and LOG_SUM_EXP take floats, the others integers too, which
/// wrap. Errors: INVALID_GRAPH for an axis that is out of range or named twice.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_reduce(
    graph: *mut caldera_graph,
    x: caldera_value,
    kind: u32,
    axes: *const i64,
    n_axes: u32,
    keep_dims: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "Reduce",
        graph,
        &[x],
        |a| a.chosen("kind", kind, REDUCE_KINDS).ints("axes", axes, n_axes).flag("keep_dims", keep_dims),
        out,
        error,
    )
}

/// Where the largest element along `axis` is: i64. Of equal ones the first, with `select_last` 1 the last. The first NaN wins
/// over all. Errors: INVALID_GRAPH if the axis has extent 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_argmax(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    keep_dims: u32,
    select_last: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("ArgMax", graph, &[x], |a| a.int("axis", axis).flag("keep_dims", keep_dims).flag("select_last", select_last), out, error)
}

/// Where the smallest element along `axis` is: i64. Of equal ones the first, with `select_last` 1 the last. The first NaN wins
/// over all. Errors: INVALID_GRAPH if the axis has extent 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_argmin(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    keep_dims: u32,
    select_last: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("ArgMin", graph, &[x], |a| a.int("axis", axis).flag("keep_dims", keep_dims).flag("select_last", select_last), out, error)
}

/// Running sums along `axis`: element i is the sum of elements 0 .. i. `exclusive` 1: without element i. `reverse` 1: from the
/// end. Integers wrap.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_cumsum(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    exclusive: u32,
    reverse: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Cumsum", graph, &[x], |a| a.int("axis", axis).flag("exclusive", exclusive).flag("reverse", reverse), out, error)
}

/// The k largest elements along `axis` (with `largest` 0: the smallest), in order, and their indices (i64). Of equal ones the
/// smaller index comes first; NaN counts as the largest. `sorted` 0 allows any order.
/// `values` and `indices` may each be NULL. Errors: INVALID_GRAPH if k is above the extent of the axis.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_topk(
    graph: *mut caldera_graph,
    x: caldera_value,
    k: i64,
    axis: i64,
    largest: u32,
    sorted: u32,
    values: *mut caldera_value,
    indices: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several(
        "TopK",
        graph,
        &[x],
        |a| a.int("k", k).int("axis", axis).flag("largest", largest).flag("sorted", sorted),
        &[values, indices],
        error,
    )
}

/// e^(x - max) / sum of e^(x - max) along `axis`. Floats. A row that is all -infinity gives zeros; a row with NaN gives NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_softmax(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Softmax", graph, &[x], |a| a.int("axis", axis), out, error)
}

/// The logarithm of the softmax along `axis`. Floats. A row that is all -infinity gives NaN.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_log_softmax(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("LogSoftmax", graph, &[x], |a| a.int("axis", axis), out, error)
}
