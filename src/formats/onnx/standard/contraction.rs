//! Matrix products.

use super::Convert;
use crate::Result;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::int;
use crate::formats::onnx::read::Operand;
use crate::tensor::ElementType;

pub const ROWS: &[(&str, Convert)] = &[("MatMul", matmul), ("Gemm", gemm)];

/// Products are of floats; integers go through f64, which is exact below 2^53.
fn matmul(cx: &mut Context) -> Result<Vec<Operand>> {
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    let element = cx.ty(&a)?.element;
    if element.is_float() {
        return Ok(vec![cx.matmul(&a, &b)?]);
    }
    let (a, b) = (cx.cast(&a, ElementType::F64)?, cx.cast(&b, ElementType::F64)?);
    let product = cx.matmul(&a, &b)?;
    Ok(vec![cx.cast(&product, element)?])
}

/// alpha * A' * B' + beta * C
fn gemm(cx: &mut Context) -> Result<Vec<Operand>> {
    let (alpha, beta) = (cx.attributes.float("alpha")?.unwrap_or(1.0), cx.attributes.float("beta")?.unwrap_or(1.0));
    if cx.version < 7 {
        cx.attributes.ignore(&["broadcast"]);
    }
    let (transpose_a, transpose_b) = (cx.flag("transA", false)?, cx.flag("transB", false)?);
    let (a, b) = (cx.input(0)?, cx.input(1)?);
    let element = cx.ty(&a)?.element;
    let product_type = if element.is_float() { element } else { ElementType::F64 };
    let (a, b) = (cx.cast(&a, product_type)?, cx.cast(&b, product_type)?);
    let bias = match cx.opt(2).filter(|_| beta != 0.0) {
        None => None,
        Some(c) => {
            let c = cx.cast(&c, product_type)?;
            Some(if beta == 1.0 { c } else { cx.with_scalar("Mul", &c, beta)? })
        }
    };
    if let Some(c) = bias.as_ref().filter(|_| alpha == 1.0 && !transpose_a && element.is_float()) {
        let (columns, ty) = (cx.ty(&b)?.dims, cx.ty(c)?);
        let n = if transpose_b { columns.first() } else { columns.last() };
        if n.is_some_and(|&n| ty.elements() == n && ty.last() == n) {
            let c = cx.reshape(c, &[ty.last()])?;
            return Ok(vec![cx.emit1("MatMulBiasAct", vec![("transpose_b", int(transpose_b))], &[a, b, c])?]);
        }
    }
    let attributes = vec![("transpose_a", int(transpose_a)), ("transpose_b", int(transpose_b))];
    let mut y = cx.emit1("MatMul", attributes, &[a, b])?;
    if alpha != 1.0 {
        y = cx.with_scalar("Mul", &y, alpha)?;
    }
    if let Some(c) = bias {
        y = cx.binary("Add", &y, &c)?;
    }
    Ok(vec![cx.cast(&y, element)?])
}
