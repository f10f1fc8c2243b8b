//! The domain caldera: a node is the operator of its name, with the same inputs and attributes.

use std::collections::HashMap;
use std::sync::Arc;

use super::context::Context;
use super::read::Operand;
use super::{DOMAIN, attributes, proto};
use crate::ops::{Attribute, Attributes, build};
use crate::tensor::ElementType;
use crate::{Result, ensure};

/// The newest version of the operator set.
pub const VERSION: i64 = 1;

/// Inputs of nodes that are attributes of the operators, since shapes follow from them: operator, input, attribute.
const KNOWN_INPUTS: &[(&str, usize, &str)] =
    &[("OneHot", 1, "depth"), ("Trilu", 1, "k"), ("Range", 0, "start"), ("Range", 1, "limit"), ("Range", 2, "delta")];

/// Moves the inputs that must be known to the attributes. A node that has the attributes already is left as it is.
fn take_known_inputs(cx: &mut Context, given: &mut Attributes, inputs: &mut Vec<Option<Operand>>) -> Result<()> {
    let name = cx.node.op_type.as_str();
    for &(_, i, attribute) in
        KNOWN_INPUTS.iter().rev().filter(|row| row.0 == name && !given.contains_key(row.2)).collect::<Vec<_>>()
    {
        if inputs.get(i).is_none_or(Option::is_none) {
            continue;
        }
        let value = cx.constant(i)?;
        let whole = value.element().is_integer() && value.ty().elements() == 1 && name != "Range";
        let value = match whole.then(|| i64::try_from(value.to_i128()[0]).ok()).flatten() {
            Some(number) => Attribute::Int(number),
            None => Attribute::Tensor((*value).clone()),
        };
        given.insert(attribute.into(), value);
        inputs.remove(i);
    }
    Ok(())
}

/// Which input of an operator holds packed weights.
pub fn weight_input(operator: &str) -> usize {
    match operator {
        "Dequantize" | "DequantMoEWeights" | "DequantGather" => 0,
        _ => 1,
    }
}

/// The packed type of a node's weights: it says so, or its scheme is a block type.
fn weight_type(node: &proto::Node) -> Result<Option<ElementType>> {
    let text = |name: &str| {
        let attribute = node.attributes.iter().find(|a| a.name == name);
        attribute.and_then(|a| std::str::from_utf8(a.s.as_deref()?).ok())
    };
    let scheme = text("scheme").and_then(|s| ElementType::from_name(s).ok()).filter(|t| t.is_block());
    let Some(name) = text("weight_type") else { return Ok(scheme) };
    let ty = ElementType::from_name(name)?;
    ensure!(ty.is_block(), InvalidGraph, "weight_type {ty} is no packed type");
    ensure!(
        text("scheme").is_none_or(|s| s == name),
        InvalidGraph,
        "weight_type is {ty}, scheme is {}",
        text("scheme").unwrap_or("")
    );
    Ok(Some(ty))
}

/// Notes which names hold packed weights, in the nodes and the graphs within them.
pub fn packed_names(nodes: &[proto::Node], packed: &mut HashMap<String, ElementType>) -> Result<()> {
    for node in nodes {
        for graph in node.attributes.iter().filter_map(|a| a.g.as_ref()) {
            match node.domain == DOMAIN {
                true => packed_in_body(node, graph, packed)?,
                false => packed_names(&graph.nodes, packed)?,
            }
        }
        if node.domain != DOMAIN {
            continue;
        }
        let Some(ty) = weight_type(node)? else { continue };
        note_packed(node, weight_input(&node.op_type), ty, packed)?;
    }
    Ok(())
}

fn note_packed(node: &proto::Node, input: usize, ty: ElementType, packed: &mut HashMap<String, ElementType>) -> Result<()> {
    let Some(name) = node.inputs.get(input).filter(|n| !n.is_empty()) else { return Ok(()) };
    let before = *packed.entry(name.clone()).or_insert(ty);
    ensure!(before == ty, InvalidGraph, "\"{name}\" holds {before} weights for one node and {ty} weights for another");
    Ok(())
}

/// The input of a node that is the first of its bodies.
fn first_of_bodies(node: &proto::Node) -> usize {
    usize::from(node.op_type == "If")
}

/// What a body reads as packed weights is packed where it comes from: its names are its own, its inputs those of the node.
fn packed_in_body(node: &proto::Node, body: &proto::Graph, packed: &mut HashMap<String, ElementType>) -> Result<()> {
    let mut within = HashMap::new();
    packed_names(&body.nodes, &mut within)?;
    let first = first_of_bodies(node);
    for (k, input) in body.inputs.iter().enumerate() {
        if let Some(&ty) = within.get(&input.name) {
            note_packed(node, first + k, ty, packed)?;
        }
    }
    Ok(())
}

pub fn convert(cx: &mut Context) -> Result<Vec<Operand>> {
    ensure!(cx.version <= VERSION, Unsupported, "version {} of the operator set, newer than {VERSION}", cx.version);
    let mut given = Attributes::new();
    for attribute in &cx.node.attributes {
        cx.attributes.ignore(&[&attribute.name]);
        let value = match &attribute.g {
            Some(body) => {
                Attribute::Graph(Arc::new(cx.reader.body(body, &cx.inputs[first_of_bodies(cx.node).min(cx.inputs.len())..])?))
            }
            None if attribute.name == "weight_type" => continue,
            None => attributes::native(attribute, &cx.reader.model.external)?,
        };
        given.insert(attribute.name.clone(), value);
    }
    if let Some(ty) = weight_type(cx.node)? {
        let k = weight_input(&cx.node.op_type);
        let weights = cx.input_type(k)?;
        ensure!(weights.element == ty, InvalidGraph, "input {k} is {weights}, weight_type says {ty}");
    }
    let mut inputs = cx.inputs.clone();
    take_known_inputs(cx, &mut given, &mut inputs)?;
    let operator = build(&cx.node.op_type, &given)?;
    cx.add(operator, &inputs)
}
