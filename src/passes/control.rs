//! Writes control flow out: both branches and a choice, or the branch that is taken where that is known; the steps of a loop one after the other,
//! each under the condition that the loop still goes on. What is known is computed on the way.

use std::collections::HashMap;
use std::sync::Arc;

use super::fold;
use crate::graph::{Graph, Source, ValueId};
use crate::ops::control::{If, Scan, While, fit, output_types, step_of};
use crate::ops::{Attribute, Attributes, Copy, OperatorRef, build, share};
use crate::tensor::{Tensor, TensorType};
use crate::{Result, bail, ensure};

/// All control flow of a graph becomes at most so many nodes and steps.
pub const MAX_NODES: usize = 1 << 16;

pub fn is_in(graph: &Graph) -> bool {
    graph.nodes().iter().any(|node| !node.operator.bodies().is_empty())
}

pub fn run(graph: &Graph) -> Result<Graph> {
    let (mut placed, mut left) = (HashMap::new(), MAX_NODES);
    graph.rewrite(|r, i| {
        let node = &r.old.nodes()[i];
        if node.operator.bodies().is_empty() {
            return r.keep(i);
        }
        let inputs = r.values(&node.inputs)?;
        let mut expander = Expander { new: &mut r.new, placed: &mut placed, left: &mut left };
        let outputs = expander.node(&node.operator, &node.name, &inputs, None).map_err(|e| e.within(node.title()))?;
        node.outputs.iter().zip(outputs).for_each(|(&old, new)| r.replace(old, new));
        Ok(())
    })
}

struct Expander<'a> {
    new: &'a mut Graph,
    /// Constants of bodies that are in the graph already, by their address.
    placed: &'a mut HashMap<*const Tensor, ValueId>,
    left: &'a mut usize,
}

type Values = Vec<Option<ValueId>>;

impl Expander<'_> {
    fn spend(&mut self) -> Result<()> {
        ensure!(*self.left > 0, Unsupported, "written out, the control flow of the graph has more than {MAX_NODES} nodes");
        *self.left -= 1;
        Ok(())
    }

    /// A node of a body whose result is wanted only where `guard` is true.
    fn node(
        &mut self,
        operator: &OperatorRef,
        name: &str,
        inputs: &[Option<ValueId>],
        guard: Option<ValueId>,
    ) -> Result<Vec<ValueId>> {
        if let Some(op) = operator.downcast::<If>() {
            self.branch(op, name, inputs, guard)
        } else if let Some(op) = operator.downcast::<While>() {
            self.repeat(op, name, inputs, guard)
        } else if let Some(op) = operator.downcast::<Scan>() {
            self.scan(op, name, inputs, guard)
        } else {
            self.plain(operator, name, inputs, guard)
        }
    }

    fn plain(
        &mut self,
        operator: &OperatorRef,
        name: &str,
        inputs: &[Option<ValueId>],
        guard: Option<ValueId>,
    ) -> Result<Vec<ValueId>> {
        self.spend()?;
        let mut inputs = inputs.to_vec();
        // A body works on values: it never writes over what lies outside.
        for (_, k) in operator.updates() {
            if let Some(Some(id)) = inputs.get(k).copied() {
                inputs[k] = Some(self.new.add1(share(Copy), &format!("{name}.copy"), &[id])?);
            }
        }
        let checked = operator.checked_inputs();
        for (&k, guard) in checked.iter().filter_map(|k| Some((k, guard?))) {
            if let Some(Some(index)) = inputs.get(k).copied() {
                let element = self.new.ty(index)?.element;
                let zero = self.new.constant("", Arc::new(Tensor::zeros(TensorType::new(element, []))))?;
                inputs[k] = Some(self.emit("Where", &[], name, &[guard, index, zero])?);
            }
        }
        // What fails is left for the run: it may not come to it.
        if let Ok(Some(tensors)) = fold::known(self.new, &**operator, &inputs) {
            return tensors.into_iter().map(|t| self.new.constant(name, Arc::new(t))).collect();
        }
        self.new.add(operator.clone(), name, &inputs)
    }

    fn emit(&mut self, operator: &str, attributes: &[(&str, Attribute)], name: &str, inputs: &[ValueId]) -> Result<ValueId> {
        let attributes: Attributes = attributes.iter().map(|(k, v)| (k.to_string(), v.clone())).collect();
        let inputs: Values = inputs.iter().copied().map(Some).collect();
        let name = format!("{name}.{operator}");
        Ok(self.plain(&build(operator, &attributes)?, &name, &inputs, None)?[0])
    }

    /// Some if it is known.
    fn truth(&self, id: ValueId) -> Option<bool> {
        self.new.constant_of(id).map(|t| t.bytes()[0] != 0)
    }

    /// A condition of one element under no dimensions, so that a choice by it keeps every shape.
    fn condition(&mut self, id: ValueId, name: &str) -> Result<ValueId> {
        match self.new.ty(id)?.rank() {
            0 => Ok(id),
            _ => self.emit("Reshape", &[("dims", Attribute::Ints(Vec::new()))], name, &[id]),
        }
    }

    fn both(&mut self, a: Option<ValueId>, b: Option<ValueId>, name: &str) -> Result<Option<ValueId>> {
        match (a, b) {
            (Some(a), Some(b)) => self.emit("And", &[], name, &[a, b]).map(Some),
            (a, b) => Ok(a.or(b)),
        }
    }

    fn choose(&mut self, cond: ValueId, a: &[ValueId], b: &[ValueId], name: &str) -> Result<Vec<ValueId>> {
        let one = |(&a, &b): (&ValueId, &ValueId)| if a == b { Ok(a) } else { self.emit("Where", &[], name, &[cond, a, b]) };
        a.iter().zip(b).map(one).collect()
    }

    fn body(&mut self, body: &Graph, inputs: &[ValueId], name: &str, guard: Option<ValueId>) -> Result<Vec<ValueId>> {
        let types: Vec<TensorType> = inputs.iter().map(|&id| self.new.ty(id).cloned()).collect::<Result<_>>()?;
        let body = fit(body, name, &types.iter().collect::<Vec<_>>())?;
        let mut map: Values = vec![None; body.values().len()];
        for (id, &actual) in body.inputs().iter().zip(inputs) {
            map[id.index()] = Some(actual);
        }
        for (value, slot) in body.values().iter().zip(&mut map) {
            let Source::Constant(tensor) = &value.source else { continue };
            let address = Arc::as_ptr(tensor);
            if !self.placed.contains_key(&address) {
                let id = self.new.constant(&value.name, tensor.clone())?;
                self.placed.insert(address, id);
            }
            *slot = self.placed.get(&address).copied();
        }
        let live = body.live(|_| false);
        for (_, node) in body.nodes().iter().enumerate().filter(|(n, _)| live[*n]) {
            let inputs: Values = node.inputs.iter().map(|id| id.and_then(|id| map[id.index()])).collect();
            let outputs = self.node(&node.operator, &format!("{name}/{}", node.name), &inputs, guard)?;
            node.outputs.iter().zip(outputs).for_each(|(id, new)| map[id.index()] = Some(new));
        }
        let output = |(name, id): &(String, ValueId)| match map[id.index()] {
            Some(id) => Ok(id),
            None => bail!(Internal, "output \"{name}\" of a body was not made"),
        };
        body.outputs().iter().map(output).collect()
    }

    fn branch(&mut self, op: &If, name: &str, inputs: &[Option<ValueId>], guard: Option<ValueId>) -> Result<Vec<ValueId>> {
        let inputs = all(inputs)?;
        let (then, otherwise) = (format!("{name}/then"), format!("{name}/else"));
        match self.truth(inputs[0]) {
            Some(true) => return self.body(&op.then, &inputs[1..], &then, guard),
            Some(false) => return self.body(&op.otherwise, &inputs[1..], &otherwise, guard),
            None => {}
        }
        let pred = self.condition(inputs[0], name)?;
        let not = self.emit("Not", &[], name, &[pred])?;
        let (yes, no) = (self.both(guard, Some(pred), name)?, self.both(guard, Some(not), name)?);
        let a = self.body(&op.then, &inputs[1..], &then, yes)?;
        let b = self.body(&op.otherwise, &inputs[1..], &otherwise, no)?;
        self.choose(pred, &a, &b, name)
    }

    fn repeat(&mut self, op: &While, name: &str, inputs: &[Option<ValueId>], guard: Option<ValueId>) -> Result<Vec<ValueId>> {
        let mut values = all(inputs)?;
        let count = op.body.outputs().len();
        // None while it is known that the loop goes on.
        let mut going: Option<ValueId> = None;
        for step in 0..op.max_iter.map_or(u64::MAX, |n| n as u64) {
            self.spend()?;
            let name = format!("{name}/{step}");
            let within = self.both(guard, going, &name)?;
            let cond = self.body(&step_of(&op.cond, step), &values, &format!("{name}/cond"), within)?[0];
            match self.truth(cond) {
                Some(false) => break,
                Some(true) => {}
                None => {
                    ensure!(
                        op.max_iter.is_some(),
                        Unsupported,
                        "max_iter is not given: a device's loop is written out, {MAX_NODES} nodes at most"
                    );
                    let cond = self.condition(cond, &name)?;
                    going = self.both(going, Some(cond), &name)?;
                }
            }
            let within = self.both(guard, going, &name)?;
            let next = self.body(&step_of(&op.body, step), &values, &name, within)?;
            let next = going.map_or(Ok(next.clone()), |going| self.choose(going, &next, &values[..count], &name))?;
            values[..count].copy_from_slice(&next);
        }
        values.truncate(count);
        Ok(values)
    }

    fn scan(&mut self, op: &Scan, name: &str, inputs: &[Option<ValueId>], guard: Option<ValueId>) -> Result<Vec<ValueId>> {
        let inputs = all(inputs)?;
        let types: Vec<TensorType> = inputs.iter().map(|&id| self.new.ty(id).cloned()).collect::<Result<_>>()?;
        let of_step = op.step_types(&types.iter().collect::<Vec<_>>())?;
        let outs = output_types(&*fit(&op.body, "the body", &of_step.iter().collect::<Vec<_>>())?)?;
        let first = inputs.len() - op.scanned;
        let mut values = inputs.clone();
        let mut stacks: Vec<Vec<ValueId>> = vec![Vec::new(); outs.len()];
        for step in 0..op.length {
            self.spend()?;
            let name = format!("{name}/{step}");
            for k in first..inputs.len() {
                values[k] = self.slice(inputs[k], step, &of_step[k], &name)?;
            }
            let made = self.body(&step_of(&op.body, step as u64), &values, &name, guard)?;
            values[..op.carried()].copy_from_slice(&made[..op.carried()]);
            for (k, &id) in made.iter().enumerate().filter(|(k, _)| op.is_stacked(*k)) {
                stacks[k].push(self.under(id, &[&[1][..], &outs[k].dims].concat(), &name)?);
            }
        }
        let mut out = Vec::with_capacity(outs.len());
        for (k, (stack, ty)) in stacks.iter().zip(&outs).enumerate() {
            let empty = || Tensor::zeros(ty.with_dims([&[op.length][..], &ty.dims].concat()));
            out.push(match (op.is_stacked(k), &stack[..]) {
                (false, _) => values[k],
                (true, []) => self.new.constant("", Arc::new(empty()))?,
                (true, [one]) => *one,
                (true, all) => self.emit("Concat", &[("axis", Attribute::Int(0))], name, all)?,
            });
        }
        Ok(out)
    }

    /// Slice `step` of the first axis.
    fn slice(&mut self, x: ValueId, step: usize, ty: &TensorType, name: &str) -> Result<ValueId> {
        let int = |v: usize| Attribute::Int(v as i64);
        let row = self.emit("Narrow", &[("axis", int(0)), ("start", int(step)), ("len", int(1))], name, &[x])?;
        self.under(row, &ty.dims, name)
    }

    /// The same elements under other dimensions.
    fn under(&mut self, x: ValueId, dims: &[usize], name: &str) -> Result<ValueId> {
        let ty = self.new.ty(x)?;
        if ty.elements() == 0 {
            // In a Reshape a 0 stands for the size of x there; nothing is in the tensor anyhow.
            let empty = Tensor::zeros(ty.with_dims(dims));
            return self.new.constant("", Arc::new(empty));
        }
        self.emit("Reshape", &[("dims", Attribute::Ints(dims.iter().map(|&d| d as i64).collect()))], name, &[x])
    }
}

fn all(inputs: &[Option<ValueId>]) -> Result<Vec<ValueId>> {
    let Some(all) = inputs.iter().copied().collect() else { bail!(InvalidGraph, "an input is missing") };
    Ok(all)
}
