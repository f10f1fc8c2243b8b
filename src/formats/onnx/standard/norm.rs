//! Normalizations.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int, scalar, size, sizes, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, list_text};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("LayerNormalization", layer),
    ("RMSNormalization", rms),
    // What some exporters put into the standard domain.
    ("SimplifiedLayerNormalization", crate::formats::onnx::microsoft::simplified_layer_normalization),
    ("BatchNormalization", batch),
    ("InstanceNormalization", instance),
    ("GroupNormalization", group),
    ("LpNormalization", lp),
    ("LRN", local_response),
    ("MeanVarianceNormalization", mean_variance),
];

fn epsilon(cx: &Context) -> Result<f64> {
    Ok(cx.attributes.float("epsilon")?.unwrap_or(1e-5))
}

/// True if a node's output has a name.
fn wants(cx: &Context, k: usize) -> bool {
    cx.node.outputs.get(k).is_some_and(|name| !name.is_empty())
}

/// A scale or bias in the shape of x's axes from `axis` on; in files it broadcasts.
fn over_axes(cx: &mut Context, parameter: &Operand, dims: &[usize]) -> Result<Operand> {
    let ty = cx.ty(parameter)?;
    ensure!(
        ty.rank() <= dims.len() || ty.dims[..ty.rank() - dims.len()].iter().all(|&d| d == 1),
        InvalidGraph,
        "{ty} is no scale for {}",
        list_text(dims)
    );
    let from = ty.rank().saturating_sub(dims.len());
    let parameter = cx.reshape(parameter, &ty.dims[from..])?;
    cx.expand(&parameter, dims)
}

/// Outputs: y, and where they are asked for, mean and 1/deviation in f32.
fn layer(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["stash_type"]);
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let axis = cx.axis(-1, ty.rank())?;
    let epsilon = epsilon(cx)?;
    let mut inputs = vec![Some(x.clone())];
    for i in 1..3 {
        if let Some(parameter) = cx.opt(i) {
            inputs.push(Some(over_axes(cx, &parameter, &ty.dims[axis..])?));
        }
    }
    let mut outputs = cx.emit("LayerNorm", vec![("axis", size(axis)), ("eps", Attribute::Float(epsilon))], &inputs)?;
    if wants(cx, 1) || wants(cx, 2) {
        let (mean, deviation) = moments(cx, &x, &(axis..ty.rank()).collect::<Vec<_>>())?;
        let shifted = cx.with_scalar("Add", &deviation, epsilon)?;
        outputs.push(mean);
        outputs.push(cx.unary("Rsqrt", &shifted)?);
    }
    Ok(outputs)
}

/// Mean and variance over some axes, which are kept with one element, in f32 or wider.
fn moments(cx: &mut Context, x: &Operand, axes: &[usize]) -> Result<(Operand, Operand)> {
    let element = cx.ty(x)?.element;
    let x = if element.is_half() { cx.cast(x, ElementType::F32)? } else { x.clone() };
    let mean = cx.reduce("Mean", &x, axes, true)?;
    let centred = cx.binary("Sub", &x, &mean)?;
    let squared = cx.binary("Mul", &centred, &centred)?;
    Ok((mean, cx.reduce("Mean", &squared, axes, true)?))
}

fn rms(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["stash_type"]);
    let (x, scale) = (cx.input(0)?, cx.input(1)?);
    let ty = cx.ty(&x)?;
    let axis = cx.axis(-1, ty.rank())?;
    let scale = cx.cast(&scale, ty.element)?;
    let scale = over_axes(cx, &scale, &ty.dims[axis..])?;
    let attributes = vec![("axis", size(axis)), ("eps", Attribute::Float(epsilon(cx)?))];
    Ok(vec![cx.emit1("RmsNorm", attributes, &[x, scale])?])
}

/// It infers whenever it has one output; with running statistics as outputs it trains where it says so.
fn batch(cx: &mut Context) -> Result<Vec<Operand>> {
    let momentum = cx.attributes.float("momentum")?.unwrap_or(0.9);
    cx.attributes.ignore(&["is_test", "consumed_inputs"]);
    ensure!(cx.flag("spatial", true)?, Unsupported, "spatial = 0");
    let training = cx.flag("training_mode", false)? && (wants(cx, 1) || wants(cx, 2));
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let mut parameters = Vec::new();
    for i in 1..5 {
        let parameter = cx.input(i)?;
        parameters.push(parameter);
    }
    let mut outputs = Vec::new();
    if training {
        let axes: Vec<usize> = (0..ty.rank()).filter(|&axis| axis != 1).collect();
        let (mean, variance) = moments(cx, &x, &axes)?;
        for (k, now) in [(2, mean), (3, variance)] {
            let before = cx.ty(&parameters[k])?;
            let now = cx.reshape(&now, &before.dims)?;
            let now = cx.cast(&now, before.element)?;
            let kept = cx.with_scalar("Mul", &parameters[k], momentum)?;
            let fresh = cx.with_scalar("Mul", &now, 1.0 - momentum)?;
            outputs.push(cx.binary("Add", &kept, &fresh)?);
            parameters[k] = now;
        }
    }
    // Statistics may be wider than x.
    let widest = parameters.iter().map(|p| Ok(cx.ty(p)?.element)).collect::<Result<Vec<_>>>()?;
    let through = if widest.iter().any(|e| *e != ty.element) && ty.element.is_half() { ElementType::F32 } else { ty.element };
    let mut inputs = vec![cx.cast(&x, through)?];
    for parameter in &parameters {
        inputs.push(cx.cast(parameter, through)?);
    }
    let y = cx.emit1("BatchNorm", vec![("eps", Attribute::Float(epsilon(cx)?))], &inputs)?;
    outputs.insert(0, cx.cast(&y, ty.element)?);
    Ok(outputs)
}

fn instance(cx: &mut Context) -> Result<Vec<Operand>> {
    let inputs = [cx.input(0)?, cx.input(1)?, cx.input(2)?];
    Ok(vec![cx.emit1("InstanceNorm", vec![("eps", Attribute::Float(epsilon(cx)?))], &inputs)?])
}

/// Before opset 21 scale and bias have an element for each group, since then for each channel.
fn group(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["stash_type"]);
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let groups = cx.attributes.int("num_groups")?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    ensure!(ty.rank() >= 2 && groups > 0 && ty.dims[1] % groups == 0, InvalidGraph, "{ty} has no {groups} groups of channels");
    let channels = ty.dims[1];
    let mut inputs = vec![x];
    for i in 1..3 {
        let mut parameter = cx.input(i)?;
        if cx.version < 21 && groups != channels {
            parameter = cx.reshape(&parameter, &[groups, 1])?;
            parameter = cx.expand(&parameter, &[groups, channels / groups])?;
            parameter = cx.reshape(&parameter, &[channels])?;
        }
        inputs.push(cx.cast(&parameter, ty.element)?);
    }
    Ok(vec![cx.emit1("GroupNorm", vec![("groups", size(groups)), ("eps", Attribute::Float(epsilon(cx)?))], &inputs)?])
}

/// x / norm; a norm of 0 gives 0.
fn lp(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let axis = cx.axis(-1, ty.rank())?;
    // Below the smallest normal number of the type, so that it matters for a norm of 0 only.
    let tiny = if ty.element == ElementType::F16 { 6e-8 } else { 1e-38 };
    match cx.attributes.int("p")?.unwrap_or(2) {
        2 => Ok(vec![cx.emit1("L2Norm", vec![("axis", size(axis)), ("eps", Attribute::Float(tiny))], &[x])?]),
        1 => {
            let norm = cx.reduce("L1", &x, &[axis], true)?;
            let norm = cx.with_scalar("Max", &norm, tiny)?;
            Ok(vec![cx.binary("Div", &x, &norm)?])
        }
        p => bail!(InvalidGraph, "p = {p}"),
    }
}

/// x / (bias + alpha / size * sum of squares of `size` channels around)^beta
fn local_response(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let window = cx.attributes.int("size")?.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    ensure!(window > 0 && ty.rank() >= 2, InvalidGraph, "a window of {window} channels of {ty}");
    let alpha = cx.attributes.float("alpha")?.unwrap_or(1e-4);
    let beta = cx.attributes.float("beta")?.unwrap_or(0.75);
    let bias = cx.attributes.float("bias")?.unwrap_or(1.0);
    let squared = cx.binary("Mul", &x, &x)?;
    let flat = cx.reshape(&squared, &[ty.dims[0], 1, ty.dims[1], ty.dims[2..].iter().product()])?;
    let before = (window - 1) / 2;
    let attributes = vec![
        ("kind", text("Sum")),
        ("kernel", sizes(&[window, 1])),
        ("stride", sizes(&[1, 1])),
        ("pad_begin", sizes(&[before, 0])),
        ("pad_end", sizes(&[window - 1 - before, 0])),
        ("dilation", sizes(&[1, 1])),
        ("ceil", int(false)),
    ];
    let sum = cx.emit1("Pool", attributes, &[flat])?;
    let sum = cx.reshape(&sum, &ty.dims)?;
    let base = cx.emit1("Fma", vec![], &[sum, scalar(ty.element, alpha / window as f64), scalar(ty.element, bias)])?;
    let divisor = cx.with_scalar("Pow", &base, beta)?;
    Ok(vec![cx.binary("Div", &x, &divisor)?])
}

/// (x - mean) / (deviation + 1e-9)
fn mean_variance(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let axes = cx.axes(cx.attributes.ints("axes")?.unwrap_or(&[0, 2, 3]), ty.rank())?;
    let (mean, variance) = moments(cx, &x, &axes)?;
    let (mean, variance) = (cx.cast(&mean, ty.element)?, cx.cast(&variance, ty.element)?);
    let deviation = cx.unary("Sqrt", &variance)?;
    let deviation = cx.binary("Add", &deviation, &full(ty.element, &[], 1e-9))?;
    let centred = cx.binary("Sub", &x, &mean)?;
    Ok(vec![cx.binary("Div", &centred, &deviation)?])
}
