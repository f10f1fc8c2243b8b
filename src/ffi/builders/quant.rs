//! Builders of operators on packed weights.

use super::{Given, one, plain};
use crate::ffi::boundary::{caldera_status, object};
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};
use crate::tensor::ElementType;
use crate::{Result, bail, ensure};

/// How the weights of `caldera_dequant_matmul` are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_scheme {
    /// As the block type of w says.
    CALDERA_SCHEME_BLOCK = 0,
    /// i8 [K, N]: q s.
    CALDERA_SCHEME_INT8_BLOCK = 1,
    /// i8 [K, N]: (q - z) s.
    CALDERA_SCHEME_INT8_BLOCK_ASYM = 2,
    /// u8 [K, N / 2], two a byte along N, the low nibble first: (q - z) s; z may be left out.
    CALDERA_SCHEME_INT4_BLOCK = 3,
    /// u8 [K, N], largest finite 448; a scale for each column.
    CALDERA_SCHEME_FP8_E4M3 = 4,
    /// u8 [K, N]; a scale for each column.
    CALDERA_SCHEME_FP8_E5M2 = 5,
    /// u8 [K, N / 2], two E2M1 a byte along N; E4M3 scales u8 [ceil(K / 16), N] and one f32 [1] in place of zero.
    CALDERA_SCHEME_NVFP4 = 6,
}

/// Their spelling in attributes, from 0 on.
const SCHEMES: &[&str] = &["block", "int8_block", "int8_block_asym", "int4_block", "fp8_e4m3", "fp8_e5m2", "nvfp4"];

/// x [.., K] times packed weights, which are never expanded in memory: [.., N]. `scheme` is a `caldera_scheme`.
/// CALDERA_SCHEME_BLOCK: w is a param [N, K] of a block type (CALDERA_Q4_K and so on), and the result is x w^T; `scale` and
/// `zero` are CALDERA_NO_VALUE, `block` is 0. The other schemes: w is row-major over K; `scale` and `zero` are [ceil(K /
/// block), N] of the type of x ([N] for the fp8 schemes), `block` is how many rows share one (0 where the scheme says it).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_dequant_matmul(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    scale: caldera_value,
    zero: caldera_value,
    scheme: u32,
    block: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("DequantMatMul", graph, &[x, w, scale, zero], |a| packed(a, graph, w, scheme).unless_zero("block", block), out, error)
}

/// The scheme's name: for a block type its own.
fn packed(a: Given, graph: *const caldera_graph, w: caldera_value, scheme: u32) -> Given {
    if scheme != caldera_scheme::CALDERA_SCHEME_BLOCK as u32 {
        return a.named("scheme", scheme, SCHEMES);
    }
    a.and_then(|a| Ok(a.text("scheme", block_type(graph, w)?.name())))
}

fn block_type(graph: *const caldera_graph, w: caldera_value) -> Result<ElementType> {
    let graph = object(graph, "graph")?.0.read()?;
    let element = graph.graph()?.value(graph.check(w)?).element;
    match element {
        Some(element) => {
            ensure!(element.is_block(), InvalidArgument, "CALDERA_SCHEME_BLOCK needs weights of a block type, these are {element}");
            Ok(element)
        }
        None => bail!(InvalidArgument, "the element type of the weights is not known yet"),
    }
}

/// Row i of the result is row i of x [M, K] times the transpose of the packed matrix w[idx[i]]: w is a param [E, N, K] of a
/// block type, idx [M] of integers; the result is [M, N].
/// A run whose idx is outside 0 .. E - 1 fails with INDEX_OUT_OF_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_dequant_grouped_matmul(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    idx: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("DequantGroupedMatMul", graph, &[x, w, idx], out, error)
}

/// Packed weights [.., N, K] expanded: floats of the type `to`, a `caldera_type` (0: f32). `transpose` 1: [.., K, N].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_dequantize(
    graph: *mut caldera_graph,
    w: caldera_value,
    to: u32,
    transpose: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Dequantize", graph, &[w], |a| a.element_or_default("to", to).flag("transpose", transpose), out, error)
}

/// `caldera_dequantize` for the packed weights of experts: [E, N, K].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_dequant_moe_weights(
    graph: *mut caldera_graph,
    w: caldera_value,
    to: u32,
    transpose: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("DequantMoEWeights", graph, &[w], |a| a.element_or_default("to", to).flag("transpose", transpose), out, error)
}

/// Rows of the packed matrix w [N, K] at the indices, expanded: the dimensions of idx, then K, of the float type `to`, a
/// `caldera_type` (0: f32). idx is i32, i64, u32 or u64; negative indices count from the end. The embedding of tokens.
/// A run whose idx is outside -N .. N - 1 fails with INDEX_OUT_OF_RANGE.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_dequant_gather(
    graph: *mut caldera_graph,
    w: caldera_value,
    idx: caldera_value,
    to: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("DequantGather", graph, &[w, idx], |a| a.element_or_default("to", to), out, error)
}
