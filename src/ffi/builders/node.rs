//! Any operator by its name, for what has no builder of its own in an older header, and for other languages.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::control::params_of;
use crate::ffi::boundary::{boundary, bytes, caldera_status, give, list, list_mut, object, opt_text, tensor_type, text, wanted};
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};
use crate::ops::{self, Attribute, Attributes};
use crate::tensor::Tensor;
use crate::{Result, bail, ensure};

/// Which field of a `caldera_attribute` holds the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_attribute_kind {
    /// `i`. For flags 0 or 1.
    CALDERA_ATTRIBUTE_INT = 1,
    /// `f`.
    CALDERA_ATTRIBUTE_FLOAT = 2,
    /// `s`. Element types and enums are text: "f16", "NeoX".
    CALDERA_ATTRIBUTE_TEXT = 3,
    /// `ints`, `count` of them.
    CALDERA_ATTRIBUTE_INTS = 4,
    /// `floats`, `count` of them.
    CALDERA_ATTRIBUTE_FLOATS = 5,
    /// `data`, `count` bytes, of element type `i` and dimensions `ints`, `rank` of them.
    CALDERA_ATTRIBUTE_TENSOR = 6,
    /// `data`, a `caldera_graph *`, which is copied. `caldera_if` says what a graph within a graph may hold.
    CALDERA_ATTRIBUTE_GRAPH = 7,
}

/// An attribute of `caldera_graph_node`. Zero what is not used.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_attribute {
    /// As `caldera_graph_print` shows it, such as "axis".
    pub name: *const c_char,
    /// A `caldera_attribute_kind`.
    pub kind: u32,
    pub rank: u32,
    pub i: i64,
    pub f: f64,
    pub s: *const c_char,
    pub ints: *const i64,
    pub floats: *const f64,
    pub data: *const c_void,
    pub count: usize,
}

fn read(a: &caldera_attribute) -> Result<Attribute> {
    Ok(match a.kind {
        1 => Attribute::Int(a.i),
        2 => Attribute::Float(a.f),
        3 => Attribute::Text(text(a.s, "s")?.into()),
        4 => Attribute::Ints(list(a.ints, a.count, "ints")?.to_vec()),
        5 => Attribute::Floats(list(a.floats, a.count, "floats")?.to_vec()),
        6 => {
            let number = u32::try_from(a.i).unwrap_or(u32::MAX);
            let ty = tensor_type(number, a.ints, a.rank)?;
            Attribute::Tensor(Tensor::from_bytes(ty, bytes(a.data, a.count, "data")?)?)
        }
        7 => {
            let body = object(a.data.cast::<caldera_graph>(), "data")?;
            Attribute::Graph(Arc::new(body.0.read()?.graph()?.clone()))
        }
        other => bail!(InvalidArgument, "there is no attribute kind {other}"),
    })
}

/// Adds a node of any operator. `operator_name` is spelled as `caldera_graph_print` shows it ("RmsNorm" is what `caldera_rms_norm` adds);
/// `node_name`, for messages, may be NULL.
///
/// Inputs are those of the operator's builder, in its order, one that is left out is CALDERA_NO_VALUE; attributes have the names, kinds and spellings that
/// are printed, and those that are not given their defaults. `*n_outputs` is the room in `outputs`
/// on the way in and the number of results on the way out; with `outputs` NULL nothing is added, and the number says what room is needed. Errors:
/// UNSUPPORTED (no such operator), INVALID_GRAPH (an attribute or input that is wrong, missing or unknown), INVALID_ARGUMENT (NULL, too little room:
/// nothing is added then).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_node(
    graph: *mut caldera_graph,
    operator_name: *const c_char,
    node_name: *const c_char,
    inputs: *const caldera_value,
    n_inputs: usize,
    attributes: *const caldera_attribute,
    n_attributes: usize,
    outputs: *mut caldera_value,
    n_outputs: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (graph, operator_name) = (object(graph, "graph")?, text(operator_name, "operator_name")?);
        let node_name = opt_text(node_name, "node_name")?.unwrap_or_default();
        let inputs = list(inputs, n_inputs, "inputs")?;
        wanted(n_outputs, "n_outputs")?;
        let (mut given, mut bodies) = (Attributes::new(), Vec::new());
        for a in list(attributes, n_attributes, "attributes")? {
            let name = text(a.name, "the name of an attribute")?;
            bodies.extend((a.kind == 7).then_some(a.data.cast::<caldera_graph>()));
            let value = read(a).map_err(|e| e.within(format!("{operator_name}: attribute \"{name}\"")))?;
            ensure!(
                given.insert(name.into(), value).is_none(),
                InvalidArgument,
                "{operator_name}: attribute \"{name}\" is there twice"
            );
        }
        let operator = ops::build(operator_name, &given)?;
        // SAFETY: `n_outputs` was checked.
        let (room, count) = (unsafe { *n_outputs }, operator.output_count(inputs.len()));
        if outputs.is_null() {
            give(n_outputs, count);
            return Ok(());
        }
        ensure!(room >= count, InvalidArgument, "{operator_name} has {count} results, there is room for {room}");
        let outputs = list_mut(outputs, count, "outputs")?;
        let params = params_of(&bodies)?;
        let made = graph.0.write()?.add_with(operator, node_name, inputs, params)?;
        outputs.copy_from_slice(&made);
        // SAFETY: as above.
        unsafe { *n_outputs = made.len() };
        Ok(())
    })
}
