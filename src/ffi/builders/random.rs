//! Builders of random operators: Philox4x32-10, the same numbers on every device for the same seed, key and run number.

use super::{Given, one};
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{CALDERA_NO_VALUE, caldera_graph, caldera_value};

/// Draws one index a row: logits [B, V] to i64 [B].
/// In this order: logits / temperature; the `top_k` largest (0: all); softmax; the smallest set of the most likely that reaches
/// `top_p` (1: all, 0: one); those with at least `min_p` times the highest probability (0: all); the rest made to sum to 1; a
/// draw. `temperature` 0 takes the largest logit. Random operators with different keys draw independent numbers;
/// `caldera_set_rng` sets the seed. NaN is never chosen; a row with no logit above -infinity gives 0.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_sample(
    graph: *mut caldera_graph,
    logits: caldera_value,
    temperature: f64,
    top_k: i64,
    top_p: f64,
    min_p: f64,
    key: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "Sample",
        graph,
        &[logits],
        |a| a.float("temperature", temperature).int("top_k", top_k).float("top_p", top_p).float("min_p", min_p).int("key", key),
        out,
        error,
    )
}

/// Random numbers in [low, high), all of them multiples of (high - low) / 2^24 above low.
/// The shape is that of `like`, or, where that is CALDERA_NO_VALUE, `dims`. `type` is a `caldera_type` of floats; 0: that of
/// `like`, or f32. Operators with different keys draw independent numbers.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_rng_uniform(
    graph: *mut caldera_graph,
    like: caldera_value,
    r#type: u32,
    dims: *const i64,
    rank: u32,
    low: f64,
    high: f64,
    key: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "RngUniform",
        graph,
        &[like],
        |a| shaped(a, like, r#type, dims, rank).float("low", low).float("high", high).int("key", key),
        out,
        error,
    )
}

/// Normally distributed random numbers with this mean and standard deviation.
/// The shape is that of `like`, or, where that is CALDERA_NO_VALUE, `dims`. `type` is a `caldera_type` of floats; 0: that of
/// `like`, or f32. Operators with different keys draw independent numbers.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_rng_normal(
    graph: *mut caldera_graph,
    like: caldera_value,
    r#type: u32,
    dims: *const i64,
    rank: u32,
    mean: f64,
    std: f64,
    key: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "RngNormal",
        graph,
        &[like],
        |a| shaped(a, like, r#type, dims, rank).float("mean", mean).float("std", std).int("key", key),
        out,
        error,
    )
}

/// Type and shape of random numbers: given, unless they are those of `like`.
fn shaped(a: Given, like: caldera_value, r#type: u32, dims: *const i64, rank: u32) -> Given {
    let a = a.element_or_default("type", r#type);
    if like == CALDERA_NO_VALUE { a.ints("dims", dims, rank) } else { a }
}
