//! A product with a low-rank update of the weight.

use super::bias_act::{linear, linear_reference};
use super::product::{Epilogue, Matrix, Product, Residual, lower_product, pack, sum_type};
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text};
use crate::{Result, attributes, ensure};

attributes! {
    /// y = x @ w + scale * (x @ a) @ b: x [..,K], w [K,N], a [K,R], b [R,N].
    pub struct LoraMatMul { scale: f64 }
}

crate::entries!(LoraMatMul: cases);

impl Operator for LoraMatMul {
    fn name(&self) -> &'static str {
        "LoraMatMul"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(4..=4)?;
        let (x, w, a, b) = (ins.get(0)?, ins.get(1)?, ins.get(2)?, ins.get(3)?);
        let ([_, n, k], dims) = linear(x, w, false)?;
        for (name, ty) in [("a", a), ("b", b)] {
            ensure!(
                ty.element == x.element,
                InvalidGraph,
                "x is {}, {name} is {}: the types must be the same",
                x.element,
                ty.element
            );
            ensure!(ty.rank() == 2, InvalidGraph, "{name} must be a matrix, not {}", dims_text(&ty.dims));
        }
        let shapes = format!("a {} and b {}", dims_text(&a.dims), dims_text(&b.dims));
        ensure!(a.dims[0] == k && b.dims[1] == n, InvalidGraph, "{shapes} must be [{k},R] and [R,{n}], as x and w say");
        ensure!(a.dims[1] == b.dims[0], InvalidGraph, "{shapes}: R is {} in a and {} in b", a.dims[1], b.dims[0]);
        Ok(vec![x.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, w, a, b) = (at.input(0)?, at.input(1)?, at.input(2)?, at.input(3)?);
        let ([m, n, k], _) = linear(x.ty(), w.ty(), false)?;
        let rank = a.dims()[1];
        let x = x.to_f64();
        let low = linear_reference([m, rank, k], &x, &a.to_f64(), false);
        let update = linear_reference([m, n, rank], &low, &b.to_f64(), false);
        let mut y = linear_reference([m, n, k], &x, &w.to_f64(), false);
        for (v, u) in y.iter_mut().zip(update) {
            *v += self.scale * u;
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }

    /// x @ a and the update stay in the type of the sums, so that y is rounded once.
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let ([m, n, k], _) = linear(ty, at.input_type(1), false)?;
        let (rank, wide) = (at.input_type(2).dims[1], sum_type(ty.element));
        let mut product = Product::dense(ty.element, [m, n, k], at.input(0), at.input(1), false, at.output(0));
        if rank > 0 && m * n > 0 {
            let low = at.temp(m * rank * wide.bytes());
            let mut first = Product::dense(ty.element, [m, rank, k], at.input(0), at.input(2), false, low);
            first.wide = true;
            lower_product(at, &first)?;
            let b = if wide == ty.element { at.input(3) } else { pack(at, ty.element, at.input(3), &[(rank * n, 1)], true)? };
            let update = at.temp(m * n * wide.bytes());
            let mut second = Product::dense(wide, [m, n, rank], low, b, false, update);
            second.b = Matrix { operand: b, line: 1, k: n };
            second.epilogue.alpha = self.scale;
            lower_product(at, &second)?;
            product.epilogue = Epilogue { residual: Some(Residual { operand: update, wide: true }), ..Epilogue::default() };
        }
        lower_product(at, &product)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        let rank = ins.opt(3).map_or(0, |b| b.dims.first().copied().unwrap_or(0));
        ins.opt(0).map_or(1, |x| x.last() + rank)
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let types = [ElementType::F16, ElementType::F64, ElementType::Bf16];
    for (i, (x, n, rank)) in [
        (&[0usize, 4][..], 3usize, 2usize),
        (&[5, 0], 3, 2),
        (&[7], 11, 1),
        (&[1, 300], 257, 8),
        (&[3, 5, 17], 9, 4),
        (&[130, 65], 140, 16),
        (&[9, 33], 20, 0),
    ]
    .into_iter()
    .enumerate()
    {
        for element in [ElementType::F32, types[i % 3]] {
            let k = x[x.len() - 1];
            let case = Case::new("LoraMatMul", &[("scale", Attribute::Float(0.75))]);
            out.push(case.input(element, x).input(element, &[k, n]).input(element, &[k, rank]).input(element, &[rank, n]));
        }
    }
    out
}
