//! Builders of operators that move data and change none of it. Any element type.

use super::{Given, add, many, one, plain};
use crate::ffi::boundary::{boundary, caldera_status, list_mut};
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// What `caldera_pad` puts around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_pad_mode {
    /// One value.
    CALDERA_PAD_CONSTANT = 0,
    /// The elements mirrored at the first and the last one, which are not repeated.
    CALDERA_PAD_REFLECT = 1,
    /// The first and the last element.
    CALDERA_PAD_EDGE = 2,
    /// The elements from the other end.
    CALDERA_PAD_WRAP = 3,
}

/// Their spelling in attributes, from 0 on.
const PAD_MODES: &[&str] = &["Constant", "Reflect", "Edge", "Wrap"];

/// The same elements in other dimensions. 0 takes the dimension of x, one -1 what is left. No data moves.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_reshape(
    graph: *mut caldera_graph,
    x: caldera_value,
    dims: *const i64,
    rank: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Reshape", graph, &[x], |a| a.ints("dims", dims, rank), out, error)
}

/// The bits of x as another element type of the same width, a `caldera_type`. No data moves.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_bit_cast(
    graph: *mut caldera_graph,
    x: caldera_value,
    to: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("BitCast", graph, &[x], |a| a.element("to", to), out, error)
}

/// x. No data moves.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_stop_gradient(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("StopGradient", graph, &[x], out, error)
}

/// Axis i of the result is axis perm[i] of x.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_transpose(
    graph: *mut caldera_graph,
    x: caldera_value,
    perm: *const i64,
    rank: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Transpose", graph, &[x], |a| a.ints("perm", perm, rank), out, error)
}

/// The elements start .. start + len - 1 of `axis`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_narrow(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    start: i64,
    len: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Narrow", graph, &[x], |a| a.int("axis", axis).int("start", start).int("len", len), out, error)
}

/// The elements from starts[i], by steps of steps[i], before ends[i], of axis axes[i], for each of `count` axes. As Slice of
/// ONNX: negative numbers count from the end, numbers beyond an end stop there, negative steps go backward.
/// `axes` NULL: the first `count` axes. `steps` NULL: 1.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_slice(
    graph: *mut caldera_graph,
    x: caldera_value,
    starts: *const i64,
    ends: *const i64,
    axes: *const i64,
    steps: *const i64,
    count: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    let optional = |a: Given, name, list: *const i64| if list.is_null() { a } else { a.ints(name, list, count) };
    let given =
        |a: Given| optional(optional(a.ints("starts", starts, count).ints("ends", ends, count), "axes", axes), "steps", steps);
    one("Slice", graph, &[x], given, out, error)
}

/// `count` tensors beside each other along `axis`; their other dimensions and their types are the same.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_concat(
    graph: *mut caldera_graph,
    xs: *const caldera_value,
    count: u32,
    axis: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    many("Concat", graph, (xs, count), |a| a.int("axis", axis), out, error)
}

/// x cut along `axis` into `count` parts of these sizes, which together are its extent. `outs` has room for `count` values.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_split(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    sizes: *const i64,
    count: u32,
    outs: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let outs = list_mut(outs, count as usize, "outs")?;
        let made = add("Split", graph, &[x], |a| a.int("axis", axis).ints("sizes", sizes, count))?;
        outs.copy_from_slice(&made);
        Ok(())
    })
}

/// x broadcast with these dimensions, as in NumPy.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_expand(
    graph: *mut caldera_graph,
    x: caldera_value,
    dims: *const i64,
    rank: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Expand", graph, &[x], |a| a.ints("dims", dims, rank), out, error)
}

/// x repeated repeats[i] times along axis i.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_tile(
    graph: *mut caldera_graph,
    x: caldera_value,
    repeats: *const i64,
    rank: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Tile", graph, &[x], |a| a.ints("repeats", repeats, rank), out, error)
}

/// x with pads[i] elements before and pads[rank + i] elements after axis i; negative ones crop. `count` is twice the rank.
/// `mode` is a `caldera_pad_mode`; `value` is for CALDERA_PAD_CONSTANT.
/// Errors: INVALID_GRAPH if CALDERA_PAD_REFLECT is to add more than the extent of the axis less one.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_pad(
    graph: *mut caldera_graph,
    x: caldera_value,
    pads: *const i64,
    count: u32,
    mode: u32,
    value: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Pad", graph, &[x], |a| a.ints("pads", pads, count).named("mode", mode, PAD_MODES).float("value", value), out, error)
}

/// x with the order of these axes turned round.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_reverse(
    graph: *mut caldera_graph,
    x: caldera_value,
    axes: *const i64,
    n_axes: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Reverse", graph, &[x], |a| a.ints("axes", axes, n_axes), out, error)
}
