//! Quantized products and elementwise nodes.

use std::rc::Rc;
use std::sync::Arc;

use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{size, text};
use crate::formats::onnx::read::{Known, Operand};
use crate::formats::onnx::standard::{self, Convert};
use crate::ops::Attribute;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("MatMulNBits", matmul_nbits),
    ("QuantizeLinear", standard::convert),
    ("DequantizeLinear", standard::convert),
    ("DynamicQuantizeMatMul", dynamic_matmul),
    ("MatMulIntegerToFloat", matmul_to_float),
    ("QLinearAdd", |cx| q_binary(cx, "Add")),
    ("QLinearMul", |cx| q_binary(cx, "Mul")),
    ("QLinearSigmoid", q_sigmoid),
    ("QLinearLeakyRelu", q_leaky_relu),
    ("QLinearGlobalAveragePool", q_global_pool),
];

/// Weights of MatMulNBits, one number an element.
struct Bits {
    k: usize,
    n: usize,
    bits: usize,
    block: usize,
    /// Quantized values, [n, k].
    values: Vec<u8>,
    /// [n, blocks]
    scales: Vec<f64>,
    zeros: Vec<f64>,
}

/// Inputs: a [.., K], b [N, blocks, bytes], scales [N, blocks], zero points, group index, bias. b, scales and zero points must be
/// known: they are put in the order that the operator reads.
fn matmul_nbits(cx: &mut Context) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["accuracy_level", "weight_prepacked"]);
    ensure!(cx.opt(4).is_none(), Unsupported, "a group index");
    let a = cx.input(0)?;
    let weights = Bits::read(cx)?;
    let element = cx.ty(&a)?.element;
    let name = cx.node.inputs[1].clone();
    let y = match weights.bits {
        4 if weights.n.is_multiple_of(2) => weights.packed(cx, &a, &name, element, "int4_block")?,
        8 => weights.packed(cx, &a, &name, element, "int8_block_asym")?,
        _ => {
            let w = param(&name, "expanded", weights.expanded(element));
            cx.matmul(&a, &w)?
        }
    };
    Ok(vec![match cx.opt(5) {
        Some(bias) => cx.binary("Add", &y, &bias)?,
        None => y,
    }])
}

/// A weight made of another one.
fn param(name: &str, what: &str, tensor: Tensor) -> Operand {
    let name: Rc<str> = format!("{name}.{what}").into();
    Operand::Known(Known { tensor: Arc::new(tensor), param: Some(name), bound: false })
}

impl Bits {
    fn read(cx: &mut Context) -> Result<Self> {
        let number = |name: &str, default: i64| {
            let value = cx.attributes.int(name)?.unwrap_or(default);
            usize::try_from(value)
                .ok()
                .filter(|&v| v > 0 && v < 1 << 31)
                .ok_or_else(|| crate::error!(InvalidGraph, "{name} is {value}"))
        };
        let (k, n, bits, block) = (number("K", 0)?, number("N", 0)?, number("bits", 4)?, number("block_size", 0)?);
        ensure!(matches!(bits, 2 | 4 | 8), Unsupported, "weights of {bits} bits");
        ensure!((block * bits).is_multiple_of(8), InvalidGraph, "blocks of {block} elements of {bits} bits");
        let blocks = k.div_ceil(block);
        let packed = cx.constant(1)?;
        let bytes = block * bits / 8;
        let fits = packed.element() == ElementType::U8 && packed.ty().elements() == n * blocks * bytes;
        ensure!(fits, InvalidGraph, "weights {} for [{n},{blocks},{bytes}] bytes", packed.ty());
        let scales = cx.constant(2)?;
        ensure!(scales.ty().elements() == n * blocks, InvalidGraph, "scales {} for [{n},{blocks}]", scales.ty());
        let zeros = match cx.opt_constant(3)? {
            None => vec![(1u32 << (bits - 1)).into(); n * blocks],
            Some(zeros) if zeros.element() == ElementType::U8 => {
                // Packed like the weights, each row in whole bytes.
                let row = (blocks * bits).div_ceil(8);
                ensure!(zeros.ty().elements() == n * row, InvalidGraph, "zero points {} for [{n},{row}] bytes", zeros.ty());
                (0..n * blocks).map(|i| bits_at(&zeros.bytes()[i / blocks * row..], i % blocks, bits).into()).collect()
            }
            Some(zeros) => {
                ensure!(zeros.ty().elements() == n * blocks, InvalidGraph, "zero points {} for [{n},{blocks}]", zeros.ty());
                zeros.to_f64()
            }
        };
        let row = blocks * bytes;
        let values = (0..n * k).map(|i| bits_at(&packed.bytes()[i / k * row..], i % k, bits)).collect();
        Ok(Self { k, n, bits, block, values, scales: scales.to_f64(), zeros })
    }

    /// [n, blocks] as [blocks, n].
    fn turned(&self, values: &[f64], element: ElementType) -> Tensor {
        let blocks = self.k.div_ceil(self.block);
        let turned: Vec<f64> = (0..blocks * self.n).map(|i| values[i % self.n * blocks + i / self.n]).collect();
        Tensor::from_f64(TensorType::new(element, [blocks, self.n]), &turned)
    }

    /// The operator's own form: values of [k, n], one or two a byte.
    fn packed(&self, cx: &mut Context, a: &Operand, name: &str, element: ElementType, scheme: &str) -> Result<Operand> {
        let at = |row: usize, column: usize| self.values[column * self.k + row];
        let (ty, shift) = if self.bits == 4 {
            (TensorType::new(ElementType::U8, [self.k, self.n / 2]), 0.0)
        } else {
            (TensorType::new(ElementType::I8, [self.k, self.n]), 128.0)
        };
        let columns = ty.last();
        let bytes: Vec<u8> = (0..self.k * columns)
            .map(|i| {
                let (row, column) = (i / columns, i % columns);
                if self.bits == 4 { at(row, 2 * column) | at(row, 2 * column + 1) << 4 } else { at(row, column) ^ 0x80 }
            })
            .collect();
        let zeros: Vec<f64> = self.zeros.iter().map(|z| z - shift).collect();
        let inputs = [
            a.clone(),
            param(name, scheme, Tensor::from_bytes(ty, &bytes)?),
            param(name, "scale", self.turned(&self.scales, element)),
            param(name, "zero", self.turned(&zeros, element)),
        ];
        cx.emit1("DequantMatMul", vec![("scheme", text(scheme)), ("block", size(self.block))], &inputs)
    }

    /// The weights as numbers, [k, n].
    fn expanded(&self, element: ElementType) -> Tensor {
        let blocks = self.k.div_ceil(self.block);
        let value = |i: usize| {
            let (row, column) = (i / self.n, i % self.n);
            let block = column * blocks + row / self.block;
            (f64::from(self.values[column * self.k + row]) - self.zeros[block]) * self.scales[block]
        };
        let values: Vec<f64> = (0..self.k * self.n).map(value).collect();
        Tensor::from_f64(TensorType::new(element, [self.k, self.n]), &values)
    }
}

/// Element `i` of packed numbers, low bits first.
fn bits_at(bytes: &[u8], i: usize, bits: usize) -> u8 {
    let byte = bytes[i * bits / 8];
    if bits == 8 { byte } else { byte >> (i * bits % 8) & ((1 << bits) - 1) }
}

/// A scale or zero point: one for all, or one a column.
fn column(cx: &mut Context, parameter: &Operand) -> Result<Operand> {
    let ty = cx.ty(parameter)?;
    if ty.elements() == 1 { cx.reshape(parameter, &[]) } else { Ok(parameter.clone()) }
}

fn shifted(cx: &mut Context, x: &Operand, zero: Option<Operand>) -> Result<Operand> {
    let x = cx.cast(x, ElementType::I32)?;
    let Some(zero) = zero else { return Ok(x) };
    let zero = cx.cast(&zero, ElementType::I32)?;
    let zero = column(cx, &zero)?;
    cx.binary("Sub", &x, &zero)
}

/// The product of integers of 8 bits, exact, as f32; then scales and bias.
fn scaled_product(cx: &mut Context, a: &Operand, b: &Operand, scales: &[Operand], bias: Option<Operand>) -> Result<Operand> {
    let exact = standard::exact_type(cx.ty(a)?.last());
    let (a, b) = (cx.cast(a, exact)?, cx.cast(b, exact)?);
    let y = cx.matmul(&a, &b)?;
    let mut y = cx.cast(&y, ElementType::F32)?;
    for scale in scales {
        let scale = column(cx, scale)?;
        y = cx.binary("Mul", &y, &scale)?;
    }
    match bias {
        Some(bias) => cx.binary("Add", &y, &bias),
        None => Ok(y),
    }
}

/// Inputs: a in floats, b, its scale, its zero point, bias. a is quantized to u8 over its own range.
fn dynamic_matmul(cx: &mut Context) -> Result<Vec<Operand>> {
    let a = cx.input(0)?;
    let [a, a_scale, a_zero] = standard::quantize_to_range(cx, &a)?;
    let a = shifted(cx, &a, Some(a_zero))?;
    let (b, b_scale, b_zero, bias) = (cx.input(1)?, cx.input(2)?, cx.opt(3), cx.opt(4));
    let b = shifted(cx, &b, b_zero)?;
    Ok(vec![scaled_product(cx, &a, &b, &[a_scale, b_scale], bias)?])
}

/// Inputs: a, b, a's scale, b's scale, a's zero point, b's zero point, bias.
fn matmul_to_float(cx: &mut Context) -> Result<Vec<Operand>> {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    let (a_zero, b_zero) = (cx.opt(4), cx.opt(5));
    let (a, b) = (shifted(cx, &a, a_zero)?, shifted(cx, &b, b_zero)?);
    let (scales, bias) = ([cx.input(2)?, cx.input(3)?], cx.opt(6));
    Ok(vec![scaled_product(cx, &a, &b, &scales, bias)?])
}

/// (x - zero) * scale of the three inputs from `i` on.
fn numbers(cx: &mut Context, i: usize) -> Result<Operand> {
    let (x, scale, zero) = (cx.input(i)?, cx.input(i + 1)?, cx.opt(i + 2));
    let x = shifted(cx, &x, zero)?;
    let x = cx.cast(&x, ElementType::F32)?;
    let scale = column(cx, &scale)?;
    cx.binary("Mul", &x, &scale)
}

/// Back to integers by the scale and zero point of the inputs from `i` on.
fn requantized(cx: &mut Context, y: &Operand, i: usize) -> Result<Vec<Operand>> {
    let scale = cx.input(i)?;
    let scale = column(cx, &scale)?;
    let y = cx.binary("Div", y, &scale)?;
    let mut y = cx.unary("Round", &y)?;
    let Some(zero) = cx.opt(i + 1) else { return Ok(vec![cx.cast(&y, ElementType::U8)?]) };
    let to = cx.ty(&zero)?.element;
    let zero = cx.cast(&zero, ElementType::F32)?;
    let zero = column(cx, &zero)?;
    y = cx.binary("Add", &y, &zero)?;
    Ok(vec![cx.cast(&y, to)?])
}

fn q_binary(cx: &mut Context, name: &str) -> Result<Vec<Operand>> {
    let (a, b) = (numbers(cx, 0)?, numbers(cx, 3)?);
    let y = cx.binary(name, &a, &b)?;
    requantized(cx, &y, 6)
}

fn q_sigmoid(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = numbers(cx, 0)?;
    let y = cx.unary("Sigmoid", &x)?;
    requantized(cx, &y, 3)
}

fn q_leaky_relu(cx: &mut Context) -> Result<Vec<Operand>> {
    let alpha = cx.attributes.float("alpha")?.unwrap_or(0.01);
    let x = numbers(cx, 0)?;
    let y = cx.emit1("LeakyRelu", vec![("alpha", Attribute::Float(alpha))], &[x])?;
    requantized(cx, &y, 3)
}

fn q_global_pool(cx: &mut Context) -> Result<Vec<Operand>> {
    if cx.flag("channels_last", false)? {
        bail!(Unsupported, "channels_last = 1");
    }
    let x = numbers(cx, 0)?;
    let axes: Vec<usize> = (2..cx.ty(&x)?.rank()).collect();
    let y = cx.reduce("Mean", &x, &axes, true)?;
    requantized(cx, &y, 3)
}
