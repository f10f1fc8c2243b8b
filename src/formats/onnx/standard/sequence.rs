//! Sequences and optionals: lists of tensors that exist while the file is read only.

use std::rc::Rc;

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::scalar;
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, list_text, normalize_axis};
use crate::{Result, bail, ensure, error};

pub const ROWS: &[(&str, Convert)] = &[
    ("SequenceEmpty", empty),
    ("SequenceConstruct", construct),
    ("SequenceAt", at),
    ("SequenceInsert", insert),
    ("SequenceErase", erase),
    ("SequenceLength", length),
    ("SplitToSequence", split),
    ("ConcatFromSequence", concat),
    ("SequenceMap", map),
    ("Optional", optional),
    ("OptionalHasElement", has_element),
    ("OptionalGetElement", get_element),
];

fn sequence(cx: &Context, i: usize) -> Result<Rc<Vec<Operand>>> {
    match cx.input(i)? {
        Operand::Sequence(parts) => Ok(parts),
        _ => bail!(InvalidGraph, "input {i} is no sequence"),
    }
}

fn made(parts: Vec<Operand>) -> Result<Vec<Operand>> {
    Ok(vec![Operand::Sequence(Rc::new(parts))])
}

fn empty(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["dtype"]);
    made(Vec::new())
}

fn construct(cx: &mut Context) -> Result<Vec<Operand>> {
    made((0..cx.inputs.len()).map(|i| cx.input(i)).collect::<Result<_>>()?)
}

/// The place that input `i` names; `end` allows the place after the last one.
fn place(cx: &mut Context, i: usize, length: usize, end: bool) -> Result<usize> {
    let position = cx.constant_ints(i)?;
    let position = position.first().copied().ok_or_else(|| error!(InvalidGraph, "the position is empty"))?;
    let wrapped = if position < 0 { position + length as i64 } else { position };
    ensure!((0..length as i64 + i64::from(end)).contains(&wrapped), InvalidGraph, "position {position} of {length}");
    Ok(wrapped as usize)
}

fn at(cx: &mut Context) -> Result<Vec<Operand>> {
    let parts = sequence(cx, 0)?;
    let k = place(cx, 1, parts.len(), false)?;
    Ok(vec![parts[k].clone()])
}

fn insert(cx: &mut Context) -> Result<Vec<Operand>> {
    let mut parts = (*sequence(cx, 0)?).clone();
    let k = if cx.opt(2).is_some() { place(cx, 2, parts.len(), true)? } else { parts.len() };
    parts.insert(k, cx.input(1)?);
    made(parts)
}

fn erase(cx: &mut Context) -> Result<Vec<Operand>> {
    let mut parts = (*sequence(cx, 0)?).clone();
    ensure!(!parts.is_empty(), InvalidGraph, "the sequence is empty");
    let k = if cx.opt(1).is_some() { place(cx, 1, parts.len(), false)? } else { parts.len() - 1 };
    parts.remove(k);
    made(parts)
}

fn length(cx: &mut Context) -> Result<Vec<Operand>> {
    let count = sequence(cx, 0)?.len() as i64;
    Ok(vec![Operand::constant(Tensor::from_slice(&[], &[count]))])
}

/// Parts of given sizes, of one given size, or of one element each.
fn split(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let axis = cx.axis(0, ty.rank())?;
    let keep = cx.flag("keepdims", true)?;
    let total = ty.dims[axis];
    let given = cx.opt_constant_ints(1)?;
    let scalar = match cx.opt(1) {
        Some(split) => cx.ty(&split)?.rank() == 0,
        None => false,
    };
    let parts: Vec<usize> = match &given {
        Some(sizes) if scalar => {
            let size = super::shape::sizes(sizes)?[0];
            ensure!(size > 0, InvalidGraph, "parts of no elements");
            (0..total.div_ceil(size)).map(|k| size.min(total - k * size)).collect()
        }
        Some(sizes) => super::shape::sizes(sizes)?,
        None => vec![1; total],
    };
    ensure!(
        parts.iter().sum::<usize>() == total,
        InvalidGraph,
        "parts of {parts} elements do not make {total}",
        parts = list_text(&parts)
    );
    let mut split = if parts.is_empty() { Vec::new() } else { cx.split(&x, axis, &parts)? };
    if given.is_none() && !keep {
        let mut dims = ty.dims;
        dims.remove(axis);
        for part in &mut split {
            *part = cx.reshape(part, &dims)?;
        }
    }
    made(split)
}

fn concat(cx: &mut Context) -> Result<Vec<Operand>> {
    let mut parts = (*sequence(cx, 0)?).clone();
    ensure!(!parts.is_empty(), InvalidGraph, "the sequence is empty");
    let rank = cx.ty(&parts[0])?.rank();
    let stack = cx.flag("new_axis", false)?;
    let Some(axis) = cx.attributes.int("axis")? else { bail!(InvalidGraph, "there is no axis") };
    let axis = normalize_axis(axis, rank + usize::from(stack))?;
    if stack {
        for part in &mut parts {
            let mut dims = cx.ty(part)?.dims;
            dims.insert(axis, 1);
            *part = cx.reshape(part, &dims)?;
        }
    }
    Ok(vec![cx.concat(&parts, axis)?])
}

/// The body for each element of a sequence; other sequences of as many elements go along.
fn map(cx: &mut Context) -> Result<Vec<Operand>> {
    let Some(body) = cx.attributes.graph("body")? else { bail!(InvalidGraph, "there is no body") };
    let count = sequence(cx, 0)?.len();
    let mut outputs = vec![Vec::with_capacity(count); body.outputs.len()];
    for k in 0..count {
        let mut inputs = Vec::new();
        for i in 0..cx.inputs.len() {
            inputs.push(match cx.input(i)? {
                Operand::Sequence(parts) => match parts.get(k) {
                    Some(part) => part.clone(),
                    None => bail!(InvalidGraph, "input {i} has {} elements, input 0 has {count}", parts.len()),
                },
                tensor => tensor,
            });
        }
        let results = cx.reader.subgraph(body, &inputs)?;
        outputs.iter_mut().zip(results).for_each(|(list, result)| list.push(result));
    }
    Ok(outputs.into_iter().map(|list| Operand::Sequence(Rc::new(list))).collect())
}

fn optional(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["type"]);
    Ok(vec![cx.opt(0).unwrap_or(Operand::Absent)])
}

fn has_element(cx: &mut Context) -> Result<Vec<Operand>> {
    let there = !matches!(cx.opt(0), None | Some(Operand::Absent));
    Ok(vec![scalar(ElementType::Bool, there.into())])
}

fn get_element(cx: &mut Context) -> Result<Vec<Operand>> {
    match cx.opt(0) {
        None | Some(Operand::Absent) => bail!(InvalidGraph, "the optional is absent"),
        Some(operand) => Ok(vec![operand]),
    }
}
