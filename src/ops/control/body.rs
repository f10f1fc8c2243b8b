//! What the operators of control flow do with their graphs: fitting them to the types of the inputs, running them.

use std::borrow::Cow;
use std::sync::Arc;

use crate::graph::{Dim, Graph, Source, ValueId};
use crate::ops::{Inputs, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, bail, ensure};

/// The body for inputs of these types: the same, or if it has symbolic dimensions that are not bound one where they are.
pub fn fit<'g>(body: &'g Graph, what: &str, types: &[&TensorType]) -> Result<Cow<'g, Graph>> {
    let formal = body.inputs();
    ensure!(formal.len() == types.len(), InvalidGraph, "{what} takes {} inputs, not {}", formal.len(), types.len());
    if let Some(&id) = body.params().first() {
        bail!(InvalidGraph, "{what} has a param \"{}\" of its own: it must capture it", body.value(id).name);
    }
    let mut fitted = Cow::Borrowed(body);
    for (&id, ty) in formal.iter().zip(types) {
        let Source::Input(dims) = &body.value(id).source else { continue };
        for (dim, &size) in dims.iter().zip(&ty.dims) {
            if let Dim::Symbol(name) = dim
                && !fitted.bindings.contains_key(name)
            {
                fitted.to_mut().bind_dim(name, size).map_err(|e| e.within(what))?;
            }
        }
    }
    for (&id, &ty) in formal.iter().zip(types) {
        let want = fitted.ty(id)?;
        ensure!(want == ty, InvalidGraph, "input \"{}\" of {what} is {want}, it is given {ty}", body.value(id).name);
    }
    Ok(fitted)
}

pub fn output_types(body: &Graph) -> Result<Vec<TensorType>> {
    body.outputs().iter().map(|(_, id)| body.ty(*id).cloned()).collect()
}

/// The types of inputs that must all be there.
pub fn given<'a>(ins: &Inputs<'a, TensorType>) -> Result<Vec<&'a TensorType>> {
    (0..ins.len()).map(|i| ins.get(i)).collect()
}

pub fn check_condition(what: &str, ty: &TensorType) -> Result<()> {
    let right = ty.element == ElementType::Bool && ty.elements() == 1;
    ensure!(right, InvalidGraph, "{what} is {ty}, not bool of one element");
    Ok(())
}

/// Carried values keep their types.
pub fn check_carries(body: &Graph, begin: &[&TensorType], end: &[TensorType]) -> Result<()> {
    for (k, (begin, end)) in begin.iter().zip(end).enumerate() {
        let name = &body.outputs()[k].0;
        ensure!(*begin == end, InvalidGraph, "carried value {k} begins as {begin}, the body gives {end} (\"{name}\")");
    }
    Ok(())
}

pub fn is_pure(body: &Graph) -> bool {
    body.nodes().iter().all(|node| node.operator.is_pure())
}

/// The body for one step of a loop: random operators draw other numbers in every step.
pub fn step_of(body: &Graph, step: u64) -> Cow<'_, Graph> {
    if step == 0 || is_pure(body) {
        return Cow::Borrowed(body);
    }
    let mut body = body.clone();
    for node in &mut body.nodes {
        if let Some(operator) = node.operator.at_step(step as u32) {
            node.operator = operator;
        }
    }
    Cow::Owned(body)
}

/// All bodies of an operator for one step of a loop around it.
pub fn bodies_of_step(operator: &dyn Operator, step: u32) -> Option<crate::ops::OperatorRef> {
    if operator.is_pure() {
        return None;
    }
    let bodies = operator.bodies().into_iter().map(|(_, body)| Arc::new(step_of(body, step.into()).into_owned()));
    operator.with_bodies(bodies.collect())
}

/// The most terms that an operator of the body sums, for these inputs.
pub fn terms(body: &Graph) -> usize {
    let of_node = |node: &crate::graph::Node| {
        let types: Vec<Option<&TensorType>> = node.inputs.iter().map(|id| id.and_then(|id| body.ty(id).ok())).collect();
        node.operator.terms(&Inputs(&types))
    };
    body.nodes().iter().map(of_node).max().unwrap_or(1)
}

/// The outputs of a body that fits the inputs, by the references of its operators. Values are dropped after their last use.
pub fn run(body: &Graph, inputs: &[&Tensor], at: &Reference) -> Result<Vec<Tensor>> {
    let live = body.live(|_| false);
    let mut values: Vec<Option<Cow<Tensor>>> = vec![None; body.values().len()];
    for (id, &tensor) in body.inputs().iter().zip(inputs) {
        values[id.index()] = Some(Cow::Borrowed(tensor));
    }
    for (value, slot) in body.values().iter().zip(&mut values) {
        if let Source::Constant(tensor) = &value.source {
            *slot = Some(Cow::Borrowed(tensor));
        }
    }
    let last = last_uses(body);
    for (n, node) in body.nodes().iter().enumerate().filter(|(n, _)| live[*n]) {
        let types = node.outputs.iter().map(|&id| body.ty(id).cloned()).collect::<Result<Vec<_>>>()?;
        let inputs: Vec<Option<&Tensor>> = node.inputs.iter().map(|id| id.and_then(|id| values[id.index()].as_deref())).collect();
        let inner = Reference { inputs: Inputs(&inputs), outputs: &types, run: at.run, unchecked_indices: at.unchecked_indices };
        let results = node.operator.reference(&inner).map_err(|e| e.within(node.title()))?;
        for (id, tensor) in node.outputs.iter().zip(results) {
            values[id.index()] = Some(Cow::Owned(tensor));
        }
        for id in node.inputs.iter().flatten().filter(|id| last[id.index()] == n) {
            values[id.index()] = None;
        }
    }
    let output = |id: ValueId| match &values[id.index()] {
        Some(tensor) => Ok(tensor.clone().into_owned()),
        None => bail!(Internal, "output \"{}\" of a body was not made", body.value(id).name),
    };
    body.outputs().iter().map(|(_, id)| output(*id)).collect()
}

/// The last node that reads each value; outputs are read at the end.
fn last_uses(body: &Graph) -> Vec<usize> {
    let mut last = vec![usize::MAX; body.values().len()];
    for (n, node) in body.nodes().iter().enumerate() {
        node.inputs.iter().flatten().for_each(|id| last[id.index()] = n);
    }
    body.outputs().iter().for_each(|(_, id)| last[id.index()] = usize::MAX);
    last
}
