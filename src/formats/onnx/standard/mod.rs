//! The standard domain, opset 11 to the newest: each node becomes one or a few operators.

mod binary;
mod contraction;
mod control;
mod deform;
mod det;
mod einsum;
mod elementwise;
mod image;
mod index;
mod interpolate;
mod leaves;
mod lookup;
mod loss;
mod movement;
mod norm;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod sequence;
mod shape;
mod signal;
mod state;
mod transformer;
mod unfold;
mod window;
mod words;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::context::Context;
use super::read::Operand;
use crate::{Result, bail, ensure};

pub use quant::{exact_type, quantize_to_range};
pub use shape::sizes as checked_sizes;

/// Reads one node.
pub type Convert = fn(&mut Context) -> Result<Vec<Operand>>;

/// The newest version of the operator set whose changes are known here.
const NEWEST: i64 = 28;

const GROUPS: &[&[(&str, Convert)]] = &[
    leaves::ROWS,
    elementwise::ROWS,
    binary::ROWS,
    contraction::ROWS,
    shape::ROWS,
    movement::ROWS,
    index::ROWS,
    reduce::ROWS,
    norm::ROWS,
    transformer::ROWS,
    einsum::ROWS,
    window::ROWS,
    unfold::ROWS,
    image::ROWS,
    deform::ROWS,
    det::ROWS,
    recurrent::ROWS,
    state::ROWS,
    quant::ROWS,
    signal::ROWS,
    random::ROWS,
    loss::ROWS,
    lookup::ROWS,
    words::ROWS,
    control::ROWS,
    sequence::ROWS,
];

pub fn convert(cx: &mut Context) -> Result<Vec<Operand>> {
    static BY_NAME: LazyLock<HashMap<&str, Convert>> = LazyLock::new(|| GROUPS.iter().copied().flatten().copied().collect());
    if cx.node.domain.is_empty() || cx.node.domain == "ai.onnx" {
        ensure!(cx.version <= NEWEST, Unsupported, "opset {}, newer than {NEWEST}", cx.version);
    }
    match BY_NAME.get(cx.node.op_type.as_str()) {
        Some(convert) => convert(cx),
        None => bail!(Unsupported, "opset {} has no such operator here", cx.version),
    }
}
