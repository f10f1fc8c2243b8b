//! Builders of normalisations. Floats; sums are in f32 at least. `eps` keeps the divisor above 0.

use super::{one, several};
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// (x - mean) / sqrt(variance + eps) gamma + beta over the axes `axis` .. last, with the biased variance, in two passes: right
/// also where the mean is far above the spread.
/// gamma and beta have the shape of those axes; beta may be CALDERA_NO_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_layer_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    axis: i64,
    eps: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("LayerNorm", graph, &[x, gamma, beta], |a| a.int("axis", axis).float("eps", eps), out, error)
}

/// x / sqrt(mean of x^2 + eps) gamma + beta over the axes `axis` .. last. Right also where x^2 leaves the range of f32.
/// gamma and beta have the shape of those axes; beta may be CALDERA_NO_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_rms_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    axis: i64,
    eps: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("RmsNorm", graph, &[x, gamma, beta], |a| a.int("axis", axis).float("eps", eps), out, error)
}

/// Layer normalisation of each of `groups` groups of channels: x [N, C, ..], gamma [C], beta [C]. C must be a multiple of
/// `groups`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_group_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    groups: u32,
    eps: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("GroupNorm", graph, &[x, gamma, beta], |a| a.int("groups", groups).float("eps", eps), out, error)
}

/// Layer normalisation over the channels at each place: x [N, C, H, W], gamma [C], beta [C].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_layer_norm2d(
    graph: *mut caldera_graph,
    x: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    eps: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("LayerNorm2d", graph, &[x, gamma, beta], |a| a.float("eps", eps), out, error)
}

/// (x - mean) / sqrt(variance + eps) gamma + beta for each channel: x [N, C, ..], the others [C].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_batch_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    mean: caldera_value,
    variance: caldera_value,
    eps: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("BatchNorm", graph, &[x, gamma, beta, mean, variance], |a| a.float("eps", eps), out, error)
}

/// Layer normalisation of each channel of each item by itself: x [N, C, ..], gamma [C], beta [C].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_instance_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    eps: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("InstanceNorm", graph, &[x, gamma, beta], |a| a.float("eps", eps), out, error)
}

/// x / max(sqrt(sum of x^2), eps) along `axis`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_l2_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    eps: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("L2Norm", graph, &[x], |a| a.int("axis", axis).float("eps", eps), out, error)
}

/// sum = x + residual + bias; out = the layer normalisation of the sum over the last axis, times gamma, plus beta. `bias`
/// (added to the sum), `beta` and both results may be left out: CALDERA_NO_VALUE, NULL. The normalisation takes the sum before
/// it is rounded.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_residual_layer_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    residual: caldera_value,
    bias: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    eps: f64,
    out: *mut caldera_value,
    sum: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several("ResidualLayerNorm", graph, &[x, residual, bias, gamma, beta], |a| a.float("eps", eps), &[out, sum], error)
}

/// sum = x + residual + bias; out = sum / sqrt(mean of sum^2 + eps) gamma + beta over the last axis. `bias` (added to the sum),
/// `beta` and both results may be left out: CALDERA_NO_VALUE, NULL. The normalisation takes the sum before it is rounded.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_residual_rms_norm(
    graph: *mut caldera_graph,
    x: caldera_value,
    residual: caldera_value,
    bias: caldera_value,
    gamma: caldera_value,
    beta: caldera_value,
    eps: f64,
    out: *mut caldera_value,
    sum: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several("ResidualRmsNorm", graph, &[x, residual, bias, gamma, beta], |a| a.float("eps", eps), &[out, sum], error)
}
