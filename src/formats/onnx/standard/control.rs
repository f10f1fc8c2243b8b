//! Branches and loops. What is known while the file is read is followed at once: the branch taken, the steps of a loop of known
//! length.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::scalar;
use crate::formats::onnx::proto;
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, normalize_axis};
use crate::{Result, bail, ensure, error};

pub const ROWS: &[(&str, Convert)] = &[("If", branch), ("Loop", repeat), ("Scan", scan)];

/// A loop of more steps is not written out.
const MAX_STEPS: i64 = 4096;

/// Nor is one of more steps whose end is not known.
const MAX_GUARDED: i64 = 256;

fn graph<'c>(cx: &Context<'c, '_>, name: &str) -> Result<&'c proto::Graph> {
    cx.attributes.graph(name)?.ok_or_else(|| error!(InvalidGraph, "there is no {name}"))
}

fn truth(tensor: &Tensor) -> Result<bool> {
    ensure!(tensor.ty().elements() == 1, InvalidGraph, "a condition is one element, not {}", tensor.ty());
    Ok(tensor.to_i128()[0] != 0)
}

/// Of a condition that is not known both branches are computed, and one is chosen.
fn branch(cx: &mut Context) -> Result<Vec<Operand>> {
    let (then_branch, else_branch) = (graph(cx, "then_branch")?, graph(cx, "else_branch")?);
    let condition = cx.input(0)?;
    if cx.reader.is_within_reach(&condition)? {
        let taken = if truth(&*cx.constant(0)?)? { then_branch } else { else_branch };
        return cx.reader.subgraph(taken, &[]);
    }
    let a = cx.reader.subgraph(then_branch, &[])?;
    let b = cx.reader.subgraph(else_branch, &[])?;
    ensure!(a.len() == b.len(), File, "the branches have {} and {} outputs", a.len(), b.len());
    let condition = cx.reshape(&condition, &[])?;
    let mut outputs = Vec::with_capacity(a.len());
    for (a, b) in a.iter().zip(&b) {
        match chosen(cx, &condition, a, b)? {
            Some(y) => outputs.push(y),
            // Shapes depend on the branch: the condition must be known.
            None => return cx.constant(0).and(Err(error!(Internal, "the condition is known after all"))),
        }
    }
    Ok(outputs)
}

/// a or b, if they are of one type.
fn chosen(cx: &mut Context, condition: &Operand, a: &Operand, b: &Operand) -> Result<Option<Operand>> {
    if cx.ty(a)? != cx.ty(b)? {
        return Ok(None);
    }
    cx.select(condition, a, b).map(Some)
}

/// The values that a loop carries, and what its steps give.
struct Steps<'c> {
    body: &'c proto::Graph,
    carried: Vec<Operand>,
    /// For each collected output, the value of each step.
    collected: Vec<Vec<Operand>>,
}

impl Steps<'_> {
    /// Reads the body once more. Gives its condition; the carried values are in `next`.
    fn step(&mut self, cx: &mut Context, step: i64) -> Result<(Operand, Vec<Operand>)> {
        let mut inputs = vec![Operand::constant(Tensor::from_slice(&[], &[step])), scalar(ElementType::Bool, 1.0)];
        inputs.extend(self.carried.iter().cloned());
        let mut outputs = cx.reader.subgraph(self.body, &inputs)?.into_iter();
        let condition = outputs.next().ok_or_else(|| error!(File, "the body has no outputs"))?;
        let next = outputs.by_ref().take(self.carried.len()).collect();
        self.collected.iter_mut().zip(outputs).for_each(|(list, part)| list.push(part));
        Ok((condition, next))
    }
}

/// Inputs: the most steps, the condition, the carried values. The body gives the condition, the carried values, and what is
/// collected of each step.
fn repeat(cx: &mut Context) -> Result<Vec<Operand>> {
    let body = graph(cx, "body")?;
    let most = match cx.opt_constant(0)? {
        Some(count) => count.to_i128().first().map_or(0, |&n| i64::try_from(n).unwrap_or(i64::MAX)),
        None => i64::MAX,
    };
    let carried: Vec<Operand> = (2..cx.inputs.len()).map(|i| cx.input(i)).collect::<Result<_>>()?;
    let Some(collected) = body.outputs.len().checked_sub(1 + carried.len()) else {
        bail!(File, "the body has {} outputs for {} carried values", body.outputs.len(), carried.len())
    };
    let mut steps = Steps { body, carried, collected: vec![Vec::new(); collected] };
    let mut going = cx.opt(1).unwrap_or_else(|| scalar(ElementType::Bool, 1.0));
    let mut step = 0;
    while step < most {
        if !cx.reader.is_within_reach(&going)? {
            guarded(cx, &mut steps, step, most, going)?;
            break;
        }
        let known = cx.reader.known(&going)?;
        if !truth(&known)? {
            break;
        }
        ensure!(step < MAX_STEPS, Unsupported, "more than {MAX_STEPS} steps of known number");
        (going, steps.carried) = steps.step(cx, step)?;
        step += 1;
    }
    let mut outputs = steps.carried;
    for list in &steps.collected {
        outputs.push(stacked(cx, list, 0, false)?);
    }
    Ok(outputs)
}

/// Steps under a condition that is computed: each is done, and its values are kept where the condition still holds.
fn guarded(cx: &mut Context, steps: &mut Steps, first: i64, most: i64, mut going: Operand) -> Result<()> {
    let can = most <= MAX_GUARDED && steps.collected.is_empty();
    if !can {
        // A longer one, or one whose result has as many rows as it had steps, must have a condition that is known.
        cx.reader.known(&going)?;
    }
    for step in first..most {
        let (condition, next) = steps.step(cx, step)?;
        going = cx.reshape(&going, &[])?;
        for (old, new) in steps.carried.iter_mut().zip(next) {
            let Some(kept) = chosen(cx, &going, &new, old)? else {
                bail!(Unsupported, "a carried value whose shape changes under a condition that is computed")
            };
            *old = kept;
        }
        let condition = cx.reshape(&condition, &[])?;
        going = cx.binary("And", &going, &condition)?;
    }
    Ok(())
}

/// Values of the steps along a new axis.
fn stacked(cx: &mut Context, parts: &[Operand], axis: usize, reversed: bool) -> Result<Operand> {
    ensure!(!parts.is_empty(), Unsupported, "a loop of no steps that collects values");
    let mut rows = Vec::with_capacity(parts.len());
    for part in parts {
        let mut dims = cx.ty(part)?.dims;
        dims.insert(axis.min(dims.len()), 1);
        rows.push(cx.reshape(part, &dims)?);
    }
    if reversed {
        rows.reverse();
    }
    cx.concat(&rows, axis)
}

/// Since opset 9: inputs are the carried values and the scanned ones.
fn scan(cx: &mut Context) -> Result<Vec<Operand>> {
    ensure!(cx.version >= 9, Unsupported, "Scan of opset {}", cx.version);
    let body = graph(cx, "body")?;
    let scanned = cx.attributes.int("num_scan_inputs")?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let carries = cx.inputs.len().checked_sub(scanned).filter(|_| scanned > 0);
    let Some(carries) = carries else { bail!(InvalidGraph, "{scanned} scanned of {} inputs", cx.inputs.len()) };
    ensure!(body.outputs.len() >= carries, File, "the body has {} outputs for {carries} carried values", body.outputs.len());
    let list = |name: &str| Ok::<Vec<i64>, crate::Error>(cx.attributes.ints(name)?.unwrap_or_default().to_vec());
    let (in_axes, in_reversed) = (list("scan_input_axes")?, list("scan_input_directions")?);
    let (out_axes, out_reversed) = (list("scan_output_axes")?, list("scan_output_directions")?);
    let nth = |values: &[i64], k: usize| values.get(k).copied().unwrap_or(0);

    let mut slices = Vec::new();
    let mut length = None;
    for k in 0..scanned {
        let x = cx.input(carries + k)?;
        let axis = normalize_axis(nth(&in_axes, k), cx.ty(&x)?.rank())?;
        let n = cx.ty(&x)?.dims[axis];
        ensure!(*length.get_or_insert(n) == n, InvalidGraph, "scanned inputs of {} and {n} steps", length.unwrap_or(n));
        slices.push((x, axis, nth(&in_reversed, k) == 1));
    }
    let length = length.unwrap_or(0);
    ensure!(length as i64 <= MAX_STEPS, Unsupported, "more than {MAX_STEPS} steps");
    let mut carried: Vec<Operand> = (0..carries).map(|i| cx.input(i)).collect::<Result<_>>()?;
    let mut parts: Vec<Vec<Operand>> = vec![Vec::new(); body.outputs.len() - carries];
    for step in 0..length {
        let mut inputs = carried;
        for (x, axis, reversed) in &slices {
            let at = if *reversed { length - 1 - step } else { step };
            let part = cx.narrow(x, *axis, at, 1)?;
            let mut dims = cx.ty(&part)?.dims;
            dims.remove(*axis);
            inputs.push(cx.reshape(&part, &dims)?);
        }
        let mut outputs = cx.reader.subgraph(body, &inputs)?.into_iter();
        carried = outputs.by_ref().take(carries).collect();
        parts.iter_mut().zip(outputs).for_each(|(list, part)| list.push(part));
    }
    for (k, list) in parts.iter().enumerate() {
        let rank = match list.first() {
            Some(first) => cx.ty(first)?.rank() + 1,
            None => 1,
        };
        let axis = normalize_axis(nth(&out_axes, k), rank)?;
        carried.push(stacked(cx, list, axis, nth(&out_reversed, k) == 1)?);
    }
    Ok(carried)
}
