//! The domain com.microsoft: the fused nodes that exports of transformers and quantized models use.

mod attention;
mod fused;
mod group_query;
mod quant;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::context::Context;
use super::read::Operand;
use super::standard::Convert;
use crate::{Result, bail};

const GROUPS: &[&[(&str, Convert)]] = &[fused::ROWS, attention::ROWS, group_query::ROWS, quant::ROWS];

pub use fused::simplified_layer as simplified_layer_normalization;

pub fn convert(cx: &mut Context) -> Result<Vec<Operand>> {
    static BY_NAME: LazyLock<HashMap<&str, Convert>> = LazyLock::new(|| GROUPS.iter().copied().flatten().copied().collect());
    match BY_NAME.get(cx.node.op_type.as_str()) {
        Some(convert) => convert(cx),
        None => bail!(Unsupported, "the domain com.microsoft has no such operator here"),
    }
}
