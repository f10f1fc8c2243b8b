//! A product with a bias and an activation, in one kernel.

use super::activation::Activation;
use super::product::{Epilogue, Product, lower_product};
use super::reference::{MatrixView, multiply_batch};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text, element_count};
use crate::{Result, attributes, ensure};

attributes! {
    /// y = act(x @ w + bias): x [..,K], w [K,N] (transpose_b: [N,K]), bias [N].
    pub struct MatMulBiasAct { transpose_b: bool = false, act: Activation = Activation::None }
}

crate::entries!(MatMulBiasAct: cases);

/// Rows, columns and depth of x [..,K] times a weight of rank 2, and the result's dimensions.
pub(super) fn linear(x: &TensorType, w: &TensorType, transpose_b: bool) -> Result<([usize; 3], Vec<usize>)> {
    ensure!(x.element.is_float(), InvalidGraph, "x must be of a float type, not {}", x.element);
    ensure!(w.element == x.element, InvalidGraph, "x is {}, w is {}: the types must be the same", x.element, w.element);
    let [rows, cols] = w.dims[..] else {
        crate::bail!(InvalidGraph, "w must be a matrix, not {}", dims_text(&w.dims));
    };
    let (k, n) = if transpose_b { (cols, rows) } else { (rows, cols) };
    let Some((&depth, lead)) = x.dims.split_last() else {
        crate::bail!(InvalidGraph, "x is a scalar: a product needs at least one axis");
    };
    ensure!(depth == k, InvalidGraph, "x {} and w {}: K is {depth} in x and {k} in w", dims_text(&x.dims), dims_text(&w.dims));
    Ok(([element_count(lead), n, k], [lead, &[n]].concat()))
}

/// x [m,k] @ w in f64.
pub(super) fn linear_reference([m, n, k]: [usize; 3], x: &[f64], w: &[f64], transpose_b: bool) -> Vec<f64> {
    let (row, col) = if transpose_b { (1, k) } else { (n, 1) };
    multiply_batch(1, [m, n, k], |_| {
        (MatrixView { values: x, start: 0, row: k, col: 1 }, MatrixView { values: w, start: 0, row, col })
    })
}

impl Operator for MatMulBiasAct {
    fn name(&self) -> &'static str {
        "MatMulBiasAct"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (x, w, bias) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        let ([_, n, _], dims) = linear(x, w, self.transpose_b)?;
        ensure!(
            bias.element == x.element,
            InvalidGraph,
            "x is {}, bias is {}: the types must be the same",
            x.element,
            bias.element
        );
        ensure!(bias.dims == [n], InvalidGraph, "bias must be [{n}], one value a column of w, not {}", dims_text(&bias.dims));
        Ok(vec![x.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, w, bias) = (at.input(0)?, at.input(1)?, at.input(2)?.to_f64());
        let (sizes, _) = linear(x.ty(), w.ty(), self.transpose_b)?;
        let mut y = linear_reference(sizes, &x.to_f64(), &w.to_f64(), self.transpose_b);
        for (i, v) in y.iter_mut().enumerate() {
            *v = self.act.apply(*v + bias[i % sizes[1]]);
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let (sizes, _) = linear(ty, at.input_type(1), self.transpose_b)?;
        let mut product = Product::dense(ty.element, sizes, at.input(0), at.input(1), self.transpose_b, at.output(0));
        product.epilogue = Epilogue { bias: Some(at.input(2)), act: self.act, ..Epilogue::default() };
        lower_product(at, &product)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).map_or(1, TensorType::last)
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let shapes: [(&[usize], usize); 9] = [
        (&[0, 5], 3),
        (&[2, 0], 3),
        (&[7], 11),
        (&[1, 300], 129),
        (&[3, 5, 17], 9),
        (&[130, 24], 140),
        (&[20, 600], 1),
        (&[16, 1500], 16),
        (&[5, 16], 0),
    ];
    let types = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64];
    let case = |act: Activation, element: ElementType, x: &[usize], n: usize, transpose_b: bool| {
        let k = x[x.len() - 1];
        let w = if transpose_b { [n, k] } else { [k, n] };
        let attributes = [("transpose_b", Attribute::Int(transpose_b.into())), ("act", Attribute::Text(act.text().into()))];
        let (values, bias) = (Fill::Range(if n == 1 { 0.25 } else { -1.0 }, 1.0), Fill::Range(-4.0, 4.0));
        Case::new("MatMulBiasAct", &attributes).fill(element, x, values.clone()).fill(element, &w, values).fill(element, &[n], bias)
    };
    for (i, (x, n)) in shapes.into_iter().enumerate() {
        out.push(case(Activation::ALL[i % 5], ElementType::F32, x, n, i % 2 == 0));
        out.push(case(Activation::ALL[(i + 1) % 5], types[i % 4], x, n, i % 2 == 1));
    }
    for &act in Activation::ALL {
        out.push(case(act, ElementType::F32, &[40, 9], 13, false));
        out.push(case(act, ElementType::F64, &[40, 9], 5, true));
    }
    out
}
