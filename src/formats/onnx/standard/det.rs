//! Determinants.

use super::Convert;
use super::index::counting;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{full, int, scalar, size};
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, element_count};
use crate::{Result, ensure};

pub const ROWS: &[(&str, Convert)] = &[("Det", det)];

/// x [.., n, n]. Gaussian elimination, a column at a time for all matrices; the row with the largest element there is taken out.
fn det(cx: &mut Context) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let square = ty.rank() >= 2 && ty.dims[ty.rank() - 2] == ty.last();
    ensure!(square && ty.element.is_float(), InvalidGraph, "takes square matrices of floats, not {ty}");
    let element = if ty.element == ElementType::F64 { ElementType::F64 } else { ElementType::F32 };
    let (batch, n) = (element_count(&ty.dims[..ty.rank() - 2]), ty.last());
    let x = cx.cast(&x, element)?;
    let mut rest = cx.reshape(&x, &[batch, n, n])?;
    let mut det = full(element, &[batch, 1, 1], 1.0);
    for n in (1..=n).rev() {
        let pivot;
        (pivot, rest) = eliminate(cx, &rest, [batch, n], element)?;
        det = cx.binary("Mul", &det, &pivot)?;
    }
    let det = cx.reshape(&det, &ty.dims[..ty.rank() - 2])?;
    Ok(vec![cx.cast(&det, ty.element)?])
}

/// The factor that the first column of a [batch, n, n] gives to the determinant, and what is left [batch, n-1, n-1].
fn eliminate(cx: &mut Context, a: &Operand, [batch, n]: [usize; 2], element: ElementType) -> Result<(Operand, Operand)> {
    if n == 1 {
        return Ok((a.clone(), a.clone()));
    }
    let column = cx.narrow(a, 2, 0, 1)?;
    let sizes = cx.unary("Abs", &column)?;
    let place = cx.emit1("ArgMax", vec![("axis", size(1)), ("keep_dims", int(true))], &[sizes])?;
    let index = cx.expand(&place, &[batch, 1, n])?;
    let row = cx.emit1("GatherElements", vec![("axis", size(1))], &[a.clone(), index])?;
    let pivot = cx.narrow(&row, 2, 0, 1)?;
    // The first row goes where that row was: a change of sign, if it was another one.
    let first = cx.narrow(a, 1, 0, 1)?;
    let here = cx.binary("Eq", &counting(ElementType::I64, 3, 1, n), &place)?;
    let swapped = cx.select(&here, &first, a)?;
    let stayed = cx.with_scalar("Eq", &place, 0.0)?;
    let sign = cx.select(&stayed, &scalar(element, 1.0), &scalar(element, -1.0))?;
    let below = cx.narrow(&swapped, 1, 1, n - 1)?;
    // A pivot of 0 means a column of zeros, and a determinant of 0.
    let zero = cx.with_scalar("Eq", &pivot, 0.0)?;
    let divisor = cx.select(&zero, &scalar(element, 1.0), &pivot)?;
    let column = cx.narrow(&below, 2, 0, 1)?;
    let factors = cx.binary("Div", &column, &divisor)?;
    let row = cx.narrow(&row, 2, 1, n - 1)?;
    let products = cx.binary("Mul", &factors, &row)?;
    let below = cx.narrow(&below, 2, 1, n - 1)?;
    Ok((cx.binary("Mul", &pivot, &sign)?, cx.binary("Sub", &below, &products)?))
}
