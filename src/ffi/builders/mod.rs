//! The builders: one function an operator, one file a family. `caldera_graph_node` makes any operator by its name.
//!
//! A builder reads its attributes, makes the operator by its row in the operator table, and adds a node. cbindgen reads these
//! files as they are, so every function is written out; what they share is here.

mod attributes;
mod binary;
mod contraction;
mod control;
mod elementwise;
mod index;
mod movement;
mod node;
mod norm;
mod quant;
mod random;
mod recurrent;
mod reduce;
mod signal;
mod transformer;
mod unary;
mod vision;

pub use contraction::caldera_activation;
pub use index::caldera_scatter_reduction;
pub use movement::caldera_pad_mode;
pub use node::{caldera_attribute, caldera_attribute_kind};
pub use quant::caldera_scheme;
pub use recurrent::caldera_rnn_activation;
pub use reduce::caldera_reduce_kind;
pub use signal::caldera_fft_norm;
pub use transformer::{caldera_attention_options, caldera_glu_activation, caldera_layout, caldera_mask, caldera_rope_style};
pub use vision::{
    caldera_border, caldera_conv_options, caldera_coordinate_mode, caldera_interpolation, caldera_nearest_mode, caldera_pool_kind,
    caldera_pool_options, caldera_resize_options, caldera_roi_align_options,
};

use super::boundary::{boundary, caldera_status, give, list, object, wanted};
use super::error::caldera_error;
use super::graph::{CALDERA_NO_VALUE, caldera_graph, caldera_value};
use crate::{Result, ops};
use attributes::Given;

/// Adds a node and gives its results. Absent inputs at the end are left out, as files do.
fn add(
    operator: &str,
    graph: *mut caldera_graph,
    inputs: &[caldera_value],
    attributes: impl FnOnce(Given) -> Given,
) -> Result<Vec<caldera_value>> {
    let graph = object(graph, "graph")?;
    let attributes = attributes(Given::default()).done().map_err(|e| e.within(operator))?;
    let operator = ops::build(operator, &attributes)?;
    let count = inputs.iter().rposition(|&v| v != CALDERA_NO_VALUE).map_or(0, |last| last + 1);
    graph.0.write()?.add(operator, "", &inputs[..count])
}

/// A builder of one result.
fn one(
    operator: &str,
    graph: *mut caldera_graph,
    inputs: &[caldera_value],
    attributes: impl FnOnce(Given) -> Given,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        wanted(out, "out")?;
        give(out, add(operator, graph, inputs, attributes)?[0]);
        Ok(())
    })
}

/// A builder of one result without attributes.
fn plain(
    operator: &str,
    graph: *mut caldera_graph,
    inputs: &[caldera_value],
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(operator, graph, inputs, |a| a, out, error)
}

/// A builder of one result from a list of inputs.
fn many(
    operator: &str,
    graph: *mut caldera_graph,
    (inputs, count): (*const caldera_value, u32),
    attributes: impl FnOnce(Given) -> Given,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        wanted(out, "out")?;
        give(out, add(operator, graph, list(inputs, count as usize, "the list of inputs")?, attributes)?[0]);
        Ok(())
    })
}

/// A builder of several results, of which each may be unwanted.
fn several(
    operator: &str,
    graph: *mut caldera_graph,
    inputs: &[caldera_value],
    attributes: impl FnOnce(Given) -> Given,
    outs: &[*mut caldera_value],
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let made = add(operator, graph, inputs, attributes)?;
        outs.iter().zip(made).for_each(|(&out, value)| give(out, value));
        Ok(())
    })
}
