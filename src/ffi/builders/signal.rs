//! Builders of Fourier transforms.

use super::one;
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// How a Fourier transform of n elements is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_fft_norm {
    /// 1 / n in the inverse.
    CALDERA_FFT_BACKWARD = 0,
    /// 1 / n forward.
    CALDERA_FFT_FORWARD = 1,
    /// 1 / sqrt(n) both ways.
    CALDERA_FFT_ORTHO = 2,
    /// Not at all.
    CALDERA_FFT_NONE = 3,
}

/// Their spelling in attributes, from 0 on.
const FFT_NORMS: &[&str] = &["Backward", "Forward", "Ortho", "None"];

/// The discrete Fourier transform along `axis`, of any length from 1 on; `inverse` 1: the inverse one. `norm` is a
/// `caldera_fft_norm`.
/// x is c64, or f32 with a last axis of n real parts, then n imaginary parts; the result has its type and shape.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_fft(
    graph: *mut caldera_graph,
    x: caldera_value,
    axis: i64,
    inverse: u32,
    norm: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Fft", graph, &[x], |a| a.int("axis", axis).flag("inverse", inverse).named("norm", norm, FFT_NORMS), out, error)
}

/// The Fourier transform of n real numbers along the last axis: f32 [.., L] to c64 [.., n / 2 + 1]. L is cropped, or padded
/// with zeros, to n.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_rfft(
    graph: *mut caldera_graph,
    x: caldera_value,
    n: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Rfft", graph, &[x], |a| a.int("n", n), out, error)
}

/// The inverse of `caldera_rfft`, scaled by 1 / n: c64 [.., L] to f32 [.., n]. L is cropped, or padded with zeros, to n / 2 +
/// 1; the imaginary parts of bins 0 and n / 2 are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_irfft(
    graph: *mut caldera_graph,
    x: caldera_value,
    n: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Irfft", graph, &[x], |a| a.int("n", n), out, error)
}
