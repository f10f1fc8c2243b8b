//! Quantized nodes of the standard domain: 8-bit values with scales and zero points, computed in floats.

use super::Convert;
use super::window::Window;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::int;
use crate::formats::onnx::read::Operand;
use crate::formats::onnx::tensor::{element_type, packed_bits};
use crate::ops::Attribute;
use crate::tensor::{ElementType, list_text, normalize_axis};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("QuantizeLinear", quantize),
    ("DequantizeLinear", dequantize),
    ("DynamicQuantizeLinear", dynamic_quantize),
    ("MatMulInteger", matmul_integer),
    ("ConvInteger", conv_integer),
    ("QLinearMatMul", qlinear_matmul),
    ("QLinearConv", qlinear_conv),
];

/// A scale or zero point so that it broadcasts with x: one for all, one an index of `axis`, or one a block along `axis`.
fn spread(cx: &mut Context, parameter: &Operand, dims: &[usize], axis: i64, block: usize) -> Result<Operand> {
    let ty = cx.ty(parameter)?;
    if ty.elements() == 1 && block == 0 {
        return cx.reshape(parameter, &[]);
    }
    let axis = normalize_axis(axis, dims.len())?;
    if block == 0 {
        ensure!(
            ty.rank() == 1 && ty.dims[0] == dims[axis],
            InvalidGraph,
            "{ty} for axis {axis} of {dims}",
            dims = list_text(&dims)
        );
        let mut shape = vec![1; dims.len()];
        shape[axis] = dims[axis];
        return cx.reshape(parameter, &shape);
    }
    ensure!(
        ty.rank() == dims.len() && ty.dims[axis] * block >= dims[axis],
        InvalidGraph,
        "{ty} for blocks of {block} of {dims}",
        dims = list_text(&dims)
    );
    // Each element `block` times along the axis; the last block may be cut.
    let mut split = ty.dims.clone();
    split.insert(axis + 1, 1);
    let parameter = cx.reshape(parameter, &split)?;
    split[axis + 1] = block;
    let parameter = cx.expand(&parameter, &split)?;
    split[axis] *= block;
    split.remove(axis + 1);
    let parameter = cx.reshape(&parameter, &split)?;
    cx.narrow(&parameter, axis, 0, dims[axis])
}

fn block(cx: &Context) -> Result<(i64, usize)> {
    let axis = cx.attributes.int("axis")?.unwrap_or(1);
    let block = cx.attributes.int("block_size")?.unwrap_or(0);
    Ok((axis, usize::try_from(block).unwrap_or(0)))
}

/// The axis matters only for parameters that are no scalars.
fn quantize(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["saturate", "precision"]);
    let (axis, block) = block(cx)?;
    let (x, scale) = (cx.input(0)?, cx.input(1)?);
    let number = cx.attributes.int("output_dtype")?.filter(|&n| n != 0);
    let zero = cx.opt(2);
    let element = match (&zero, number) {
        (_, Some(number)) => element_type(i32::try_from(number).unwrap_or(-1))?,
        (Some(zero), None) => cx.ty(zero)?.element,
        (None, None) => ElementType::U8,
    };
    ensure!(element.is_integer(), Unsupported, "quantizing to {element}");
    let bits = match number {
        Some(number) => packed_bits(i32::try_from(number).unwrap_or(-1)),
        None => cx.bits_of_input(2),
    };
    quantized(cx, &x, &scale, zero.as_ref(), element, bits, axis, block).map(|y| vec![y])
}

/// saturate(round(x / scale) + zero), to integers of the type or of fewer bits.
#[allow(clippy::too_many_arguments)]
fn quantized(
    cx: &mut Context,
    x: &Operand,
    scale: &Operand,
    zero: Option<&Operand>,
    to: ElementType,
    bits: Option<usize>,
    axis: i64,
    block: usize,
) -> Result<Operand> {
    let dims = cx.ty(x)?.dims;
    let x = cx.cast(x, ElementType::F32)?;
    let scale = cx.cast(scale, ElementType::F32)?;
    let scale = spread(cx, &scale, &dims, axis, block)?;
    let y = cx.binary("Div", &x, &scale)?;
    let mut y = cx.unary("Round", &y)?;
    if let Some(zero) = zero {
        let zero = cx.cast(zero, ElementType::F32)?;
        let zero = spread(cx, &zero, &dims, axis, block)?;
        y = cx.binary("Add", &y, &zero)?;
    }
    if let Some(bits) = bits {
        let values = f64::from(1 << bits);
        let (min, max) = if to == ElementType::I8 { (-values / 2.0, values / 2.0 - 1.0) } else { (0.0, values - 1.0) };
        let limits = vec![("min", Attribute::Float(min)), ("max", Attribute::Float(max))];
        y = cx.emit1("Clip", limits, &[y])?;
    }
    // A cast to a narrower integer saturates.
    cx.cast(&y, to)
}

/// (x - zero) * scale, in the type of the scale.
fn dequantize(cx: &mut Context) -> Result<Vec<Operand>> {
    let (axis, block) = block(cx)?;
    let (x, scale) = (cx.input(0)?, cx.input(1)?);
    let to = match cx.attributes.int("output_dtype")?.filter(|&n| n != 0) {
        Some(number) => super::elementwise::cast_target(number)?,
        None => cx.ty(&scale)?.element,
    };
    let zero = cx.opt(2);
    dequantized(cx, &x, &scale, zero.as_ref(), axis, block, to).map(|y| vec![y])
}

fn dequantized(
    cx: &mut Context,
    x: &Operand,
    scale: &Operand,
    zero: Option<&Operand>,
    axis: i64,
    block: usize,
    to: ElementType,
) -> Result<Operand> {
    let dims = cx.ty(x)?.dims;
    let x = shifted(cx, x, zero, &dims, axis, block)?;
    let x = cx.cast(&x, to)?;
    let scale = cx.cast(scale, to)?;
    let scale = spread(cx, &scale, &dims, axis, block)?;
    cx.binary("Mul", &x, &scale)
}

/// x - zero as i32, exact.
fn shifted(cx: &mut Context, x: &Operand, zero: Option<&Operand>, dims: &[usize], axis: i64, block: usize) -> Result<Operand> {
    let x = cx.cast(x, ElementType::I32)?;
    let Some(zero) = zero else { return Ok(x) };
    let zero = cx.cast(zero, ElementType::I32)?;
    let zero = spread(cx, &zero, dims, axis, block)?;
    cx.binary("Sub", &x, &zero)
}

/// To u8 over the range of x, which is made to contain 0. Outputs: y, scale, zero point.
fn dynamic_quantize(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    quantize_to_range(cx, &x).map(Vec::from)
}

/// x as u8, its scale, its zero point.
pub fn quantize_to_range(cx: &mut Context, x: &Operand) -> Result<[Operand; 3]> {
    let (min, max) = (cx.reduce("Min", x, &[], false)?, cx.reduce("Max", x, &[], false)?);
    let (min, max) = (cx.with_scalar("Min", &min, 0.0)?, cx.with_scalar("Max", &max, 0.0)?);
    let range = cx.binary("Sub", &max, &min)?;
    let scale = cx.with_scalar("Div", &range, 255.0)?;
    let below = cx.unary("Neg", &min)?;
    let zero = cx.binary("Div", &below, &scale)?;
    let zero = cx.unary("Round", &zero)?;
    let zero = cx.cast(&zero, ElementType::U8)?;
    let y = quantized(cx, x, &scale, Some(&zero), ElementType::U8, None, 0, 0)?;
    Ok([y, scale, zero])
}

/// Integers of 8 bits, shifted, in a float type whose sums of `terms` products are exact: |product| <= 255 * 255.
pub fn exact_type(terms: usize) -> ElementType {
    if terms <= (1 << 24) / (255 * 255) { ElementType::F32 } else { ElementType::F64 }
}

/// Zero points of a are one for all or one a row, of b one for all or one a column.
fn matmul_integer(cx: &mut Context) -> Result<Vec<Operand>> {
    let product = integer_product(cx, 0, 1, 2, 3)?;
    Ok(vec![cx.cast(&product, ElementType::I32)?])
}

fn integer_product(cx: &mut Context, a: usize, b: usize, a_zero: usize, b_zero: usize) -> Result<Operand> {
    let (a, b) = (cx.input(a)?, cx.input(b)?);
    let (a_dims, b_dims) = (cx.ty(&a)?.dims, cx.ty(&b)?.dims);
    let exact = exact_type(a_dims.last().copied().unwrap_or(1));
    let mut sides = Vec::new();
    for (x, dims, zero, axis) in [(a, a_dims, a_zero, -2), (b, b_dims, b_zero, -1)] {
        let zero = cx.opt(zero);
        let mut x = cx.cast(&x, ElementType::I32)?;
        if let Some(zero) = zero {
            let zero = cx.cast(&zero, ElementType::I32)?;
            let ty = cx.ty(&zero)?;
            // One a row or a column; of the full rank it broadcasts as it is.
            let zero = if ty.rank() == dims.len() && ty.rank() > 1 { zero } else { spread(cx, &zero, &dims, axis, 0)? };
            x = cx.binary("Sub", &x, &zero)?;
        }
        sides.push(cx.cast(&x, exact)?);
    }
    cx.matmul(&sides[0], &sides[1])
}

fn convolution(cx: &mut Context, x: &Operand, w: &Operand) -> Result<Operand> {
    let kernel = cx.ty(w)?.dims.get(2..).unwrap_or(&[]).to_vec();
    cx.attributes.ignore(&["kernel_shape"]);
    let window = Window::read(cx, &cx.ty(x)?, Some(kernel))?;
    let mut attributes: Vec<(&str, Attribute)> = window.attributes();
    attributes.push(("groups", int(cx.attributes.int("group")?.unwrap_or(1))));
    cx.emit1("Conv", attributes, &[x.clone(), w.clone()])
}

fn integer_convolution(cx: &mut Context, [x, w, x_zero, w_zero]: [usize; 4]) -> Result<Operand> {
    let (x, w) = (cx.input(x)?, cx.input(w)?);
    let (x_dims, w_dims) = (cx.ty(&x)?.dims, cx.ty(&w)?.dims);
    let exact = exact_type(w_dims.iter().skip(1).product());
    let (x_zero, w_zero) = (cx.opt(x_zero), cx.opt(w_zero));
    let x = shifted(cx, &x, x_zero.as_ref(), &x_dims, 1, 0)?;
    let w = shifted(cx, &w, w_zero.as_ref(), &w_dims, 0, 0)?;
    let (x, w) = (cx.cast(&x, exact)?, cx.cast(&w, exact)?);
    convolution(cx, &x, &w)
}

/// Inputs: x, w, x's zero point, w's zero point.
fn conv_integer(cx: &mut Context) -> Result<Vec<Operand>> {
    let y = integer_convolution(cx, [0, 1, 2, 3])?;
    Ok(vec![cx.cast(&y, ElementType::I32)?])
}

/// Inputs: a, scale, zero; b, scale, zero; y's scale, zero.
fn qlinear_matmul(cx: &mut Context) -> Result<Vec<Operand>> {
    let product = integer_product(cx, 0, 3, 2, 5)?;
    let product = cx.cast(&product, ElementType::F32)?;
    let scales = [(cx.input(1)?, cx.input_type(0)?.dims, -2), (cx.input(4)?, cx.input_type(3)?.dims, -1)];
    let mut y = product;
    for (scale, dims, axis) in scales {
        let scale = cx.cast(&scale, ElementType::F32)?;
        let ty = cx.ty(&scale)?;
        let scale = if ty.rank() == dims.len() && ty.rank() > 1 { scale } else { spread(cx, &scale, &dims, axis, 0)? };
        y = cx.binary("Mul", &y, &scale)?;
    }
    let (scale, zero) = (cx.input(6)?, cx.input(7)?);
    let to = cx.ty(&zero)?.element;
    Ok(vec![quantized(cx, &y, &scale, Some(&zero), to, None, -2, 0)?])
}

/// Inputs: x, scale, zero; w, scale, zero; y's scale, zero; bias as i32.
fn qlinear_conv(cx: &mut Context) -> Result<Vec<Operand>> {
    let mut y = integer_convolution(cx, [0, 3, 2, 5])?;
    let dims = cx.ty(&y)?.dims;
    if dims.len() < 3 {
        bail!(InvalidGraph, "takes images");
    }
    let exact = cx.ty(&y)?.element;
    if let Some(bias) = cx.opt(8) {
        let bias = cx.cast(&bias, exact)?;
        let bias = spread(cx, &bias, &dims, 1, 0)?;
        y = cx.binary("Add", &y, &bias)?;
    }
    let mut y = cx.cast(&y, ElementType::F32)?;
    for (i, dims) in [(1, &dims), (4, &dims)] {
        let scale = cx.input(i)?;
        let scale = spread(cx, &scale, dims, 1, 0)?;
        y = cx.binary("Mul", &y, &scale)?;
    }
    let (scale, zero) = (cx.input(6)?, cx.input(7)?);
    let to = cx.ty(&zero)?.element;
    Ok(vec![quantized(cx, &y, &scale, Some(&zero), to, None, 1, 0)?])
}
