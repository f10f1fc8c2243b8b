//! Builders of matrix products.

use super::one;
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// What is applied to the result of a product or a convolution, before it is rounded to its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_activation {
    CALDERA_ACTIVATION_NONE = 0,
    CALDERA_ACTIVATION_RELU = 1,
    CALDERA_ACTIVATION_GELU = 2,
    CALDERA_ACTIVATION_GELU_TANH = 3,
    CALDERA_ACTIVATION_SILU = 4,
}

/// Their spelling in attributes, from 0 on.
pub(super) const ACTIVATIONS: &[&str] = &["None", "Relu", "Gelu", "GeluTanh", "Silu"];

/// The matrix product of a [.., M, K] and b [.., K, N]: [.., M, N]. Floats.
/// The leading axes broadcast; an operand of rank 1 is a row (a) or a column (b), whose axis the result does not have.
/// `transpose_a` 1: a is [.., K, M]. `transpose_b` 1: b is [.., N, K], as weights are stored on disk. Transposing needs rank 2
/// or more. K = 0 gives zeros.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_matmul(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    transpose_a: u32,
    transpose_b: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("MatMul", graph, &[a, b], |a| a.flag("transpose_a", transpose_a).flag("transpose_b", transpose_b), out, error)
}

/// Sums of products over the axes `a_contract` of a and `b_contract` of b, pair by pair, for each index of the axes `a_batch`
/// and `b_batch`, pair by pair. Floats.
/// The axes of the result: the batch axes, then those of a that are left, then those of b.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_dot_general(
    graph: *mut caldera_graph,
    a: caldera_value,
    b: caldera_value,
    a_contract: *const i64,
    b_contract: *const i64,
    n_contract: u32,
    a_batch: *const i64,
    b_batch: *const i64,
    n_batch: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "DotGeneral",
        graph,
        &[a, b],
        |a| {
            a.ints("a_contract", a_contract, n_contract)
                .ints("b_contract", b_contract, n_contract)
                .ints("a_batch", a_batch, n_batch)
                .ints("b_batch", b_batch, n_batch)
        },
        out,
        error,
    )
}

/// act(x w + bias) in one kernel: x [.., K], w [K, N] (with `transpose_b` 1: [N, K]), bias [N]; the result is [.., N]. Floats.
/// `act` is a `caldera_activation`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_matmul_bias_act(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    bias: caldera_value,
    transpose_b: u32,
    act: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("MatMulBiasAct", graph, &[x, w, bias], |a| a.flag("transpose_b", transpose_b).named("act", act, ACTIVATIONS), out, error)
}

/// x w + scale (x a) b: x [.., K], w [K, N], a [K, R], b [R, N]; the result is [.., N]. Floats.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_lora_matmul(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    a: caldera_value,
    b: caldera_value,
    scale: f64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("LoraMatMul", graph, &[x, w, a, b], |a| a.float("scale", scale), out, error)
}

/// Row i of the result is row i of x times the matrix w[idx[i]]: x [M, K], w [E, K, N] (with `transpose_b` 1: [E, N, K]), idx
/// [M] of integers; the result is [M, N].
/// A run whose idx is outside 0 .. E - 1 fails with INDEX_OUT_OF_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_grouped_matmul(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    idx: caldera_value,
    transpose_b: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("GroupedMatMul", graph, &[x, w, idx], |a| a.flag("transpose_b", transpose_b), out, error)
}
