//! Builders of transformer operators.

use super::{Given, one};
use crate::bail;
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{CALDERA_NO_VALUE, caldera_graph, caldera_value};
use crate::ffi::options::options;

/// The order of batch (B), sequence (S), heads (H) and head dimensions (D). 0 means "not given".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_layout {
    /// Heads and dimensions are one axis; for `caldera_rope` only.
    CALDERA_LAYOUT_BSH = 1,
    CALDERA_LAYOUT_BSHD = 2,
    CALDERA_LAYOUT_BHSD = 3,
}

/// Their spelling in attributes, from 1 on.
const LAYOUTS: &[&str] = &["BSH", "BSHD", "BHSD"];

/// Which keys a query sees. Its position is its index, plus the number of keys, minus the number of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_mask {
    /// All.
    CALDERA_MASK_NONE = 0,
    /// Those up to its own position.
    CALDERA_MASK_CAUSAL = 1,
    /// Those at its position and `window` before it.
    CALDERA_MASK_SLIDING_WINDOW = 2,
    /// Those where the mask is true, or a number of 0.5 or more.
    CALDERA_MASK_CUSTOM = 3,
    /// All; the mask is added to the scores, and -infinity hides.
    CALDERA_MASK_BIAS = 4,
}

/// Their spelling in attributes, from 0 on.
const MASKS: &[&str] = &["None", "Causal", "SlidingWindow", "Custom", "Bias"];

/// Which elements of a head are turned together. 0 means "not given".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_rope_style {
    /// i and i + n_rot / 2.
    CALDERA_ROPE_NEOX = 1,
    /// 2 i and 2 i + 1.
    CALDERA_ROPE_GPTJ = 2,
}

/// Their spelling in attributes, from 1 on.
const ROPE_STYLES: &[&str] = &["NeoX", "GptJ"];

/// The activation of the gate of `caldera_swiglu`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_glu_activation {
    CALDERA_GLU_SILU = 0,
    CALDERA_GLU_GELU = 1,
    CALDERA_GLU_GELU_TANH = 2,
}

/// Their spelling in attributes, from 0 on.
const GLU_ACTIVATIONS: &[&str] = &["Silu", "Gelu", "GeluTanh"];

/// Options of `caldera_attention`. Start from `CALDERA_ATTENTION_OPTIONS_INIT`. Zero means "not given".
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_attention_options {
    /// sizeof(caldera_attention_options).
    pub struct_size: u32,
    /// Query heads. Must be given.
    pub num_heads: u32,
    /// Key and value heads; 0: as many as query heads. Query head h uses head h / (num_heads / num_kv_heads).
    pub num_kv_heads: u32,
    /// Dimensions of a query and key head. Must be given; at most 512.
    pub head_dim: u32,
    /// Dimensions of a value head; 0: `head_dim`.
    pub v_head_dim: u32,
    /// A `caldera_layout`: BSHD or BHSD. Must be given.
    pub layout: u32,
    /// A `caldera_mask`.
    pub mask: u32,
    /// For CALDERA_MASK_SLIDING_WINDOW: how many keys before its own position a query sees.
    pub window: u32,
    /// What the products are multiplied with; 0: 1 / sqrt(head_dim).
    pub scale: f64,
    /// c: scores s become c tanh(s / c) before the mask; 0: they do not.
    pub softcap: f64,
}

/// softmax(scale q k^T + mask) v for each head: grouped-query attention. Floats.
/// q [B, S, heads, D], k [B, T, kv heads, D], v [B, T, kv heads, Dv] (layout BSHD; BHSD has heads before the sequence); the
/// result is [B, S, heads, Dv], in the same layout.
/// `mask`: for CALDERA_MASK_CUSTOM, of a shape that broadcasts to [B, 1, S, T], or [B, T]; for CALDERA_MASK_BIAS, to [B, heads,
/// S, T]; else CALDERA_NO_VALUE. `kv_len` i32 [1] or [B]: how many keys there are, in place of T; the rest of k and v is not
/// read. It counts the rows of k as they come to this operator: where k is the result of `caldera_kv_append`, those appended in
/// the same run too. The last query stands at the last key. `sinks` [heads]: one more logit of each query, which no value has.
/// All three may be CALDERA_NO_VALUE.
/// A query that sees no key gives zeros. A run fails with INDEX_OUT_OF_RANGE if kv_len is above T.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_attention(
    graph: *mut caldera_graph,
    q: caldera_value,
    k: caldera_value,
    v: caldera_value,
    mask: caldera_value,
    kv_len: caldera_value,
    sinks: caldera_value,
    options: *const caldera_attention_options,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Attention", graph, &[q, k, v, mask, kv_len, sinks], |a| attention(a, options), out, error)
}

fn attention(a: Given, pointer: *const caldera_attention_options) -> Given {
    a.and_then(|a| {
        let Some(o) = options(pointer, "options")? else { bail!(InvalidArgument, "options is NULL") };
        let a = a.int("num_heads", o.num_heads).unless_zero("num_kv_heads", o.num_kv_heads);
        let a = a.int("head_dim", o.head_dim).unless_zero("v_head_dim", o.v_head_dim);
        let a = a.chosen("layout", o.layout, LAYOUTS).named("mask", o.mask, MASKS);
        let a = if o.mask == caldera_mask::CALDERA_MASK_SLIDING_WINDOW as u32 { a.int("window", o.window) } else { a };
        let a = if o.scale == 0.0 { a } else { a.float("scale", o.scale) };
        Ok(if o.softcap == 0.0 { a } else { a.float("softcap", o.softcap) })
    })
}

/// Turns pairs (x1, x2) of each head to (x1 c - x2 s, x2 c + x1 s): rotary positions. Floats.
/// x [B, S, H D], [B, S, H, D] or [B, H, S, D], as `layout`, a `caldera_layout`, says (0: BSH); rank 2 is B = 1. `style` is a
/// `caldera_rope_style`. `n_rot` (0: `head_dim`) is how many dimensions of a head turn; the others are copied. cos and sin
/// [rows, n_rot / 2] or [rows, D / 2].
/// The row is `positions` (i32 or i64, [S] or [B, S]), or, where that is CALDERA_NO_VALUE, the index in the sequence (the index
/// of the token where there are B S rows). A position outside the rows fails the run with INDEX_OUT_OF_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_rope(
    graph: *mut caldera_graph,
    x: caldera_value,
    cos: caldera_value,
    sin: caldera_value,
    positions: caldera_value,
    head_dim: u32,
    n_rot: u32,
    style: u32,
    layout: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "Rope",
        graph,
        &[x, cos, sin, positions],
        |a| {
            a.int("head_dim", head_dim)
                .unless_zero("n_rot", n_rot)
                .chosen("style", style, ROPE_STYLES)
                .chosen("layout", layout, LAYOUTS)
        },
        out,
        error,
    )
}

/// A whole attention layer: one product for q, k and v, rotary positions (NeoX), attention with a custom mask, and the product
/// at the end.
/// hidden [B, S, H], qkv_w [H, 3 heads D], out_w [heads D, H]. `qkv_b` with `out_b`, and `cos` with `sin`, may be
/// CALDERA_NO_VALUE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_fused_attention_block(
    graph: *mut caldera_graph,
    hidden: caldera_value,
    qkv_w: caldera_value,
    out_w: caldera_value,
    mask: caldera_value,
    qkv_b: caldera_value,
    out_b: caldera_value,
    cos: caldera_value,
    sin: caldera_value,
    num_heads: u32,
    head_dim: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    let (has_bias, has_rope) = (qkv_b != CALDERA_NO_VALUE, cos != CALDERA_NO_VALUE);
    let inputs = [hidden, qkv_w, out_w, mask, qkv_b, out_b, cos, sin];
    let given =
        |a: Given| a.int("num_heads", num_heads).int("head_dim", head_dim).int("has_bias", has_bias).int("has_rope", has_rope);
    one("FusedAttentionBlock", graph, &inputs, given, out, error)
}

/// The cache [B, C, ..] with `rows` [B, n, ..] written at positions at .. at + n - 1; at is i32 [1] or [B].
/// Bind a buffer to the input that the cache is, and to the output that this result is: the rows are then written in place, and
/// nothing else is copied. `ring` 1: positions are taken modulo C. Otherwise a row past the end fails the run with
/// INDEX_OUT_OF_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_kv_append(
    graph: *mut caldera_graph,
    cache: caldera_value,
    rows: caldera_value,
    at: caldera_value,
    ring: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("KvAppend", graph, &[cache, rows, at], |a| a.flag("ring", ring), out, error)
}

/// act(gate) up. `act` is a `caldera_glu_activation`.
/// With `up` CALDERA_NO_VALUE, `gate` holds both halves in its last axis: the gate first if `gate_first` is 1, last if it is 0.
/// With two operands `gate_first` must be 1.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_swiglu(
    graph: *mut caldera_graph,
    gate: caldera_value,
    up: caldera_value,
    act: u32,
    gate_first: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("SwiGlu", graph, &[gate, up], |a| a.named("act", act, GLU_ACTIVATIONS).flag("gate_first", gate_first), out, error)
}
