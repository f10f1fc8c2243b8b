//! Builders of operators that move data by indices, or make it. Indices are i32 or i64; an index outside its range fails the run with INDEX_OUT_OF_RANGE.

use std::ffi::c_void;

use super::one;
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// How an update and what is there are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_scatter_reduction {
    /// The update replaces it; of several the last wins.
    CALDERA_SCATTER_NONE = 0,
    CALDERA_SCATTER_ADD = 1,
    CALDERA_SCATTER_MUL = 2,
    /// NaN if either is NaN.
    CALDERA_SCATTER_MAX = 3,
    /// NaN if either is NaN.
    CALDERA_SCATTER_MIN = 4,
}

/// Their spelling in attributes, from 0 on.
const SCATTER_REDUCTIONS: &[&str] = &["None", "Add", "Mul", "Max", "Min"];

/// The elements of data at the indices along `axis`: its dimensions before the axis, then those of idx, then its dimensions
/// after the axis. Negative indices count from the end. Rows of packed weights stay packed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gather(
    graph: *mut caldera_graph,
    data: caldera_value,
    idx: caldera_value,
    axis: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Gather", graph, &[data, idx], |a| a.int("axis", axis), out, error)
}

/// out[c] = data[c, but idx[c] along `axis`], for each place c of idx. Negative indices count from the end.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gather_elements(
    graph: *mut caldera_graph,
    data: caldera_value,
    idx: caldera_value,
    axis: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("GatherElements", graph, &[data, idx], |a| a.int("axis", axis), out, error)
}

/// The parts of data at the coordinates in the last axis of idx. The first `batch_dims` axes of both go together.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gather_nd(
    graph: *mut caldera_graph,
    data: caldera_value,
    idx: caldera_value,
    batch_dims: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("GatherND", graph, &[data, idx], |a| a.int("batch_dims", batch_dims), out, error)
}

/// `rows` rows of zeros, to which row i of the updates [U, ..] is added at idx[i], for each i of idx [U]. The same bits at
/// every run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_scatter_add(
    graph: *mut caldera_graph,
    updates: caldera_value,
    idx: caldera_value,
    rows: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("ScatterAdd", graph, &[updates, idx], |a| a.int("rows", rows), out, error)
}

/// data, where the element at c, but idx[c] along `axis`, is combined with updates[c], for each place c of idx. `reduction` is
/// a `caldera_scatter_reduction`. The same bits at every run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_scatter_elements(
    graph: *mut caldera_graph,
    data: caldera_value,
    idx: caldera_value,
    updates: caldera_value,
    axis: i64,
    reduction: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "ScatterElements",
        graph,
        &[data, idx, updates],
        |a| a.int("axis", axis).named("reduction", reduction, SCATTER_REDUCTIONS),
        out,
        error,
    )
}

/// data, where the part at the coordinates in the last axis of idx is combined with that of the updates. `reduction` is a
/// `caldera_scatter_reduction`. The same bits at every run.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_scatter_nd(
    graph: *mut caldera_graph,
    data: caldera_value,
    idx: caldera_value,
    updates: caldera_value,
    reduction: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("ScatterND", graph, &[data, idx, updates], |a| a.named("reduction", reduction, SCATTER_REDUCTIONS), out, error)
}

/// A new axis of `depth` elements at `axis`: values[1] where the coordinate is the index, values[0] elsewhere. Negative indices
/// count from the end; one outside -depth .. depth - 1 gives values[0] only.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_one_hot(
    graph: *mut caldera_graph,
    idx: caldera_value,
    values: caldera_value,
    depth: i64,
    axis: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("OneHot", graph, &[idx, values], |a| a.int("depth", depth).int("axis", axis), out, error)
}

/// The upper (`upper` 1) or lower triangle of the matrices in the last two axes, zeros elsewhere. The triangle ends at the
/// diagonal that is k right of the main one.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_trilu(
    graph: *mut caldera_graph,
    x: caldera_value,
    k: i64,
    upper: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Trilu", graph, &[x], |a| a.int("k", k).flag("upper", upper), out, error)
}

/// Ones on the diagonal that is k right of the main one, zeros elsewhere, in the dimensions of the matrix x. `dtype` is a
/// `caldera_type`; 0: that of x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_eye_like(
    graph: *mut caldera_graph,
    x: caldera_value,
    k: i64,
    dtype: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("EyeLike", graph, &[x], |a| a.int("k", k).element_or_default("dtype", dtype), out, error)
}

/// start, start + delta, .. before limit: [max(0, ceil((limit - start) / delta))]. The three point to one number each, of the
/// `caldera_type` `type`. Errors: INVALID_GRAPH if delta is 0, one of them is NaN, or there are 2e9 numbers or more.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_range(
    graph: *mut caldera_graph,
    r#type: u32,
    start: *const c_void,
    limit: *const c_void,
    delta: *const c_void,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "Range",
        graph,
        &[],
        |a| a.scalar("start", r#type, start).scalar("limit", r#type, limit).scalar("delta", r#type, delta),
        out,
        error,
    )
}
