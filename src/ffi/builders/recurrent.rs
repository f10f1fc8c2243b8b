//! Builders of recurrent networks and state-space models. States are explicit: to carry one from run to run, bind one buffer to the input and the output.

use super::contraction::ACTIVATIONS;
use super::several;
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};

/// The activation of `caldera_rnn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_rnn_activation {
    CALDERA_RNN_TANH = 0,
    CALDERA_RNN_RELU = 1,
}

/// Their spelling in attributes, from 0 on.
const RNN_ACTIVATIONS: &[&str] = &["Tanh", "Relu"];

/// Long short-term memory: x [B, S, I] to y [B, S, D H] and the last states h and c [layers D, B, H], with D = 2 if
/// `bidirectional` is 1, else 1.
/// Gates are in the order input, forget, cell, output. w_ih, w_hh and bias hold one block for each layer and direction, layer
/// by layer: [4 H, I] (after the first layer [4 H, D H]), [4 H, H] and [4 H]. h0 and c0 [layers D, B, H] may be
/// CALDERA_NO_VALUE: zeros. `lengths` i32 [B]: how many steps of each item count; the result is 0 after them. The reverse
/// direction starts at the last step that counts. `peepholes` may be CALDERA_NO_VALUE; else it holds blocks [3 H] of the gates
/// input, forget and output: they add p c to the sums of the first two, and p times the new c to that of the output gate. y, h
/// and c may each be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_lstm(
    graph: *mut caldera_graph,
    x: caldera_value,
    w_ih: caldera_value,
    w_hh: caldera_value,
    bias: caldera_value,
    h0: caldera_value,
    c0: caldera_value,
    lengths: caldera_value,
    peepholes: caldera_value,
    hidden: u32,
    layers: u32,
    bidirectional: u32,
    y: *mut caldera_value,
    h: *mut caldera_value,
    c: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several(
        "Lstm",
        graph,
        &[x, w_ih, w_hh, bias, h0, c0, lengths, peepholes],
        |a| a.int("hidden", hidden).int("layers", layers).flag("bidirectional", bidirectional),
        &[y, h, c],
        error,
    )
}

/// Gated recurrent unit: x [B, S, I] to y [B, S, D H] and the last state h [layers D, B, H], with D = 2 if `bidirectional` is
/// 1, else 1.
/// Gates are in the order reset, update, new: h' = (1 - z) n + z h, with n = tanh(W x + b_in + r (W h + b_hn))
/// (`linear_before_reset` 1) or tanh(W x + b_in + W (r h) + b_hn) (0). Blocks as in `caldera_lstm`, with 3 H rows. h0 may be
/// CALDERA_NO_VALUE: zeros. `lengths` i32 [B]: how many steps of each item count; the result is 0 after them. y and h may each
/// be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gru(
    graph: *mut caldera_graph,
    x: caldera_value,
    w_ih: caldera_value,
    w_hh: caldera_value,
    b_ih: caldera_value,
    b_hh: caldera_value,
    h0: caldera_value,
    lengths: caldera_value,
    hidden: u32,
    layers: u32,
    bidirectional: u32,
    linear_before_reset: u32,
    y: *mut caldera_value,
    h: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several(
        "Gru",
        graph,
        &[x, w_ih, w_hh, b_ih, b_hh, h0, lengths],
        |a| {
            a.int("hidden", hidden)
                .int("layers", layers)
                .flag("bidirectional", bidirectional)
                .flag("linear_before_reset", linear_before_reset)
        },
        &[y, h],
        error,
    )
}

/// A plain recurrent network, h' = act(W x + W h + bias): x [B, S, I] to y [B, S, D H] and the last state h [layers D, B, H],
/// with D = 2 if `bidirectional` is 1, else 1. `act` is a `caldera_rnn_activation`.
/// Blocks as in `caldera_lstm`, with H rows. h0 may be CALDERA_NO_VALUE: zeros. `lengths` i32 [B]: how many steps of each item
/// count; the result is 0 after them. y and h may each be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_rnn(
    graph: *mut caldera_graph,
    x: caldera_value,
    w_ih: caldera_value,
    w_hh: caldera_value,
    bias: caldera_value,
    h0: caldera_value,
    lengths: caldera_value,
    hidden: u32,
    layers: u32,
    bidirectional: u32,
    act: u32,
    y: *mut caldera_value,
    h: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several(
        "Rnn",
        graph,
        &[x, w_ih, w_hh, bias, h0, lengths],
        |a| a.int("hidden", hidden).int("layers", layers).flag("bidirectional", bidirectional).named("act", act, RNN_ACTIVATIONS),
        &[y, h],
        error,
    )
}

/// The scan of a selective state-space model: h = e^(delta a) h + delta b x; y = sum over n of c h, plus d x.
/// x and delta [B, S, H], a [H, N], b and c [B, S, N], d [H], state [B, H, N]; y [B, S, H], the last state [B, H, N]. d and
/// state may be CALDERA_NO_VALUE, y and last NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_selective_scan(
    graph: *mut caldera_graph,
    x: caldera_value,
    delta: caldera_value,
    a: caldera_value,
    b: caldera_value,
    c: caldera_value,
    d: caldera_value,
    state: caldera_value,
    y: *mut caldera_value,
    last: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several("SelectiveScan", graph, &[x, delta, a, b, c, d, state], |a| a, &[y, last], error)
}

/// The scan of Mamba 2: S = e^(dt a) S + dt x b^T; y = S c.
/// x [B, S, H, P], dt [B, S, H], a [H], b and c [B, S, G, N] (head h uses group h / (H / G)), state [B, H, P, N]; y [B, S, H,
/// P], the last state [B, H, P, N]. state may be CALDERA_NO_VALUE, y and last NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_mamba2(
    graph: *mut caldera_graph,
    x: caldera_value,
    dt: caldera_value,
    a: caldera_value,
    b: caldera_value,
    c: caldera_value,
    state: caldera_value,
    y: *mut caldera_value,
    last: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several("Mamba2", graph, &[x, dt, a, b, c, state], |a| a, &[y, last], error)
}

/// The gated delta rule: S = e^g S; d = beta (v - S^T k); S = S + k d^T; y = scale S^T q.
/// q and k [B, S, H, N], v [B, S, H, M], g [B, S, H] or [B, S, H, N], beta [B, S, H], state [B, H, N, M]; y [B, S, H, M], the
/// last state [B, H, N, M]. `scale` 0: 1 / sqrt(N). state may be CALDERA_NO_VALUE, y and last NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_gated_delta_net(
    graph: *mut caldera_graph,
    q: caldera_value,
    k: caldera_value,
    v: caldera_value,
    g: caldera_value,
    beta: caldera_value,
    state: caldera_value,
    scale: f64,
    y: *mut caldera_value,
    last: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several(
        "GatedDeltaNet",
        graph,
        &[q, k, v, g, beta, state],
        |a| if scale == 0.0 { a } else { a.float("scale", scale) },
        &[y, last],
        error,
    )
}

/// A convolution of each channel with what came before: x [B, S, C], w [C, K], whose last column is for the present step, bias
/// [C], state [B, C, K - 1] with the inputs before the first step, the oldest first; y [B, S, C], the last state [B, C, K - 1].
/// `act`, a `caldera_activation`, is applied to y. bias and state may be CALDERA_NO_VALUE, y and last NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_causal_conv1d(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    bias: caldera_value,
    state: caldera_value,
    act: u32,
    y: *mut caldera_value,
    last: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    several("CausalConv1d", graph, &[x, w, bias, state], |a| a.named("act", act, ACTIVATIONS), &[y, last], error)
}
