//! Fourier transforms and windows.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("DFT", dft),
    ("STFT", stft),
    ("HannWindow", |cx| window(cx, [0.5, 0.5, 0.0])),
    ("HammingWindow", |cx| window(cx, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    ("BlackmanWindow", |cx| window(cx, [0.42, 0.5, 0.08])),
    ("MelWeightMatrix", mel),
];

/// One number that must be known.
fn number(cx: &mut Context, i: usize) -> Result<Option<f64>> {
    let Some(tensor) = cx.opt_constant(i)? else { return Ok(None) };
    ensure!(tensor.ty().elements() == 1, InvalidGraph, "input {i} is {}, not one number", tensor.ty());
    Ok(Some(tensor.to_f64()[0]))
}

fn length(value: f64) -> Result<usize> {
    ensure!((1.0..1e9).contains(&value), InvalidGraph, "a length of {value}");
    Ok(value as usize)
}

/// The axis is an attribute before opset 20. The last axis of x holds a real number, or its real and imaginary part.
fn dft(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    ensure!(ty.rank() >= 2 && matches!(ty.last(), 1 | 2), InvalidGraph, "takes [.., 1] or [.., 2], not {ty}");
    let axis = if cx.version < 20 { cx.attributes.int("axis")?.unwrap_or(1) } else { number(cx, 2)?.map_or(-2, |v| v as i64) };
    let axis = normalize_axis(axis, ty.rank())?;
    ensure!(axis + 1 != ty.rank(), InvalidGraph, "the last axis holds the parts of a number");
    let (inverse, onesided) = (cx.flag("inverse", false)?, cx.flag("onesided", false)?);
    let given = number(cx, 1)?.map(length).transpose()?;
    // All other axes, then the two parts, then the transformed axis.
    let last = ty.rank() - 1;
    let mut perm: Vec<usize> = (0..last).filter(|&a| a != axis).collect();
    perm.extend([last, axis]);
    let planes = cx.transpose(&x, &perm)?;
    let y = if inverse && onesided {
        let n = given.unwrap_or(2 * (ty.dims[axis].max(1) - 1)).max(1);
        let spectrum = mirrored(cx, &planes, n)?;
        let y = transform(cx, &spectrum, n, true)?;
        cx.narrow(&y, last - 1, 0, 1)?
    } else {
        let n = given.unwrap_or(ty.dims[axis]);
        let y = transform(cx, &planes, n, inverse)?;
        if onesided { cx.narrow(&y, last, 0, n / 2 + 1)? } else { y }
    };
    let mut back = vec![0; ty.rank()];
    perm.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    Ok(vec![cx.transpose(&y, &back)?])
}

/// The last axis cropped or filled up with zeros.
fn fitted(cx: &mut Context, x: &Operand, n: usize) -> Result<Operand> {
    let ty = cx.ty(x)?;
    let axis = ty.rank() - 1;
    if ty.last() >= n {
        return cx.narrow(x, axis, 0, n);
    }
    let mut rest = ty.dims.clone();
    rest[axis] = n - ty.last();
    cx.concat(&[x.clone(), full(ty.element, &rest, 0.0)], axis)
}

/// [.., parts, len] to [.., 2, n]: reals and imaginaries in a row are what the operator takes.
fn transform(cx: &mut Context, planes: &Operand, n: usize, inverse: bool) -> Result<Operand> {
    let mut planes = fitted(cx, planes, n)?;
    let ty = cx.ty(&planes)?;
    let parts = ty.rank() - 2;
    if ty.dims[parts] == 1 {
        planes = cx.concat(&[planes, full(ty.element, &ty.dims, 0.0)], parts)?;
    }
    let rows = [&ty.dims[..parts], &[2 * n]].concat();
    let rows = cx.reshape(&planes, &rows)?;
    let attributes = vec![("inverse", int(inverse)), ("norm", text("Backward"))];
    let y = cx.emit1("Fft", attributes, &[rows])?;
    cx.reshape(&y, &[&ty.dims[..parts], &[2, n]].concat())
}

/// The whole spectrum of n bins of a real signal from its first half: the other half is conjugate and backwards.
fn mirrored(cx: &mut Context, half: &Operand, n: usize) -> Result<Operand> {
    let half = fitted(cx, half, n / 2 + 1)?;
    let ty = cx.ty(&half)?;
    let (parts, axis) = (ty.rank() - 2, ty.rank() - 1);
    ensure!(ty.dims[parts] == 2, InvalidGraph, "a spectrum has real and imaginary parts");
    let count = n - (n / 2 + 1);
    if count == 0 {
        return Ok(half);
    }
    let rest = cx.narrow(&half, axis, 1, count)?;
    let rest = cx.emit1("Reverse", vec![("axes", Attribute::Ints(vec![axis as i64]))], &[rest])?;
    let (re, im) = (cx.narrow(&rest, parts, 0, 1)?, cx.narrow(&rest, parts, 1, 1)?);
    let im = cx.unary("Neg", &im)?;
    let rest = cx.concat(&[re, im], parts)?;
    cx.concat(&[half, rest], axis)
}

/// Inputs: signal [batch, samples, 1 or 2], step, window, frame length. Output: [batch, frames, bins, 2].
fn stft(cx: &mut Context) -> Result<Vec<Operand>> {
    let signal = cx.input(0)?;
    let mut ty = cx.ty(&signal)?;
    let signal = if ty.rank() == 2 {
        ty.dims.push(1);
        cx.reshape(&signal, &ty.dims)?
    } else {
        signal
    };
    ensure!(ty.rank() == 3 && matches!(ty.last(), 1 | 2), InvalidGraph, "a signal {ty}");
    let Some(step) = number(cx, 1)? else { bail!(InvalidGraph, "there is no step") };
    let step = length(step)?;
    let window = cx.opt(2);
    let window_length = match &window {
        Some(window) => Some(cx.ty(window)?.elements()),
        None => None,
    };
    let frame = number(cx, 3)?.map(length).transpose()?.or(window_length).unwrap_or(ty.dims[1]);
    let window_length = window_length.unwrap_or(frame);
    ensure!(window_length == frame, InvalidGraph, "a window of {window_length} for frames of {frame}");
    ensure!(frame <= ty.dims[1], InvalidGraph, "frames of {frame} of {} samples", ty.dims[1]);
    let onesided = cx.flag("onesided", true)? && ty.last() == 1;
    let frames = (ty.dims[1] - frame) / step + 1;
    let index: Vec<i64> = (0..frames * frame).map(|i| (i / frame * step + i % frame) as i64).collect();
    let index = Operand::constant(Tensor::from_slice(&[frames, frame], &index));
    let mut x = cx.emit1("Gather", vec![("axis", int(1))], &[signal, index])?;
    if let Some(window) = window {
        let window = cx.reshape(&window, &[1, 1, frame, 1])?;
        let window = cx.cast(&window, ty.element)?;
        x = cx.binary("Mul", &x, &window)?;
    }
    let planes = cx.transpose(&x, &[0, 1, 3, 2])?;
    let y = transform(cx, &planes, frame, false)?;
    let y = if onesided { cx.narrow(&y, 3, 0, frame / 2 + 1)? } else { y };
    Ok(vec![cx.transpose(&y, &[0, 1, 3, 2])?])
}

fn output_type(cx: &Context) -> Result<ElementType> {
    super::elementwise::cast_target(cx.attributes.int("output_datatype")?.unwrap_or(1))
}

/// a - b cos(t) + c cos(2t) over one period, of n samples or (not periodic) n - 1.
fn window(cx: &mut Context, [a, b, c]: [f64; 3]) -> Result<Vec<Operand>> {
    let Some(n) = number(cx, 0)? else { bail!(InvalidGraph, "there is no size") };
    ensure!((0.0..1e9).contains(&n), InvalidGraph, "a size of {n}");
    let element = output_type(cx)?;
    let n = n as usize;
    let period = if cx.flag("periodic", true)? { n } else { n.max(2) - 1 } as f64;
    let value = |i: usize| {
        let t = std::f64::consts::TAU * i as f64 / period;
        a - b * t.cos() + c * (2.0 * t).cos()
    };
    let values: Vec<f64> = (0..n).map(value).collect();
    Ok(vec![Operand::constant(Tensor::from_f64(TensorType::new(element, [n]), &values))])
}

/// Triangles that are equally wide on the mel scale, mel(f) = 2595 log10(1 + f / 700), over the bins of a one-sided spectrum.
fn mel(cx: &mut Context) -> Result<Vec<Operand>> {
    let mut given = [0.0; 5];
    for (i, slot) in given.iter_mut().enumerate() {
        *slot = number(cx, i)?.unwrap_or(0.0);
    }
    let [bands, dft, rate, low, high] = given;
    ensure!(
        (1.0..1e5).contains(&bands) && (1.0..1e7).contains(&dft) && rate > 0.0,
        InvalidGraph,
        "{bands} bands of {dft} samples at {rate} Hz"
    );
    let element = output_type(cx)?;
    let (bands, bins) = (bands as usize, dft as usize / 2 + 1);
    let to_mel = |f: f64| 2595.0 * (1.0 + f / 700.0).log10();
    let step = (to_mel(high) - to_mel(low)) / (bands + 2) as f64;
    let edge = |k: usize| {
        let hertz = 700.0 * (10f64.powf((to_mel(low) + k as f64 * step) / 2595.0) - 1.0);
        (((dft + 1.0) * hertz / rate).floor().max(0.0) as usize).min(bins - 1)
    };
    let mut weights = vec![0.0; bins * bands];
    for band in 0..bands {
        let (from, peak, to) = (edge(band), edge(band + 1), edge(band + 2));
        weights[peak * bands + band] = 1.0;
        (from..peak).for_each(|bin| weights[bin * bands + band] = (bin - from) as f64 / (peak - from) as f64);
        (peak..to).for_each(|bin| weights[bin * bands + band] = (to - bin) as f64 / (to - peak) as f64);
    }
    Ok(vec![Operand::constant(Tensor::from_f64(TensorType::new(element, [bins, bands]), &weights))])
}
