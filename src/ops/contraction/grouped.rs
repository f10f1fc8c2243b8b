//! Each row times a matrix of its own: mixtures of experts.

use super::product::{Product, RowExperts, lower_product};
use super::reference::{MatrixView, multiply};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference, checked_index};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text};
use crate::{Result, attributes, ensure};

attributes! {
    /// y[i] = x[i] @ w[idx[i]]: x [M,K], w [E,K,N] (transpose_b: [E,N,K]), idx [M], checked.
    pub struct GroupedMatMul { transpose_b: bool = false }
}

crate::entries!(GroupedMatMul: cases);

impl GroupedMatMul {
    /// M, N, K and the number of experts.
    fn sizes(&self, x: &TensorType, w: &TensorType) -> Result<([usize; 3], usize)> {
        let shapes = format!("x {} and w {}", dims_text(&x.dims), dims_text(&w.dims));
        let (&[m, depth], &[experts, rows, cols]) = (&x.dims[..], &w.dims[..]) else {
            crate::bail!(InvalidGraph, "{shapes}: x must be [M,K], w [E,K,N] or [E,N,K] with transpose_b");
        };
        let (k, n) = if self.transpose_b { (cols, rows) } else { (rows, cols) };
        ensure!(depth == k, InvalidGraph, "{shapes}: K is {depth} in x and {k} in w");
        Ok(([m, n, k], experts))
    }
}

impl Operator for GroupedMatMul {
    fn name(&self) -> &'static str {
        "GroupedMatMul"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn checked_inputs(&self) -> &'static [usize] {
        &[2]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (x, w, idx) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        ensure!(x.element.is_float(), InvalidGraph, "x must be of a float type, not {}", x.element);
        ensure!(w.element == x.element, InvalidGraph, "x is {}, w is {}: the types must be the same", x.element, w.element);
        let ([m, n, _], _) = self.sizes(x, w)?;
        use ElementType::{I32, I64, U32, U64};
        ensure!(
            matches!(idx.element, I32 | I64 | U32 | U64),
            InvalidGraph,
            "idx must be i32, i64, u32 or u64, not {}",
            idx.element
        );
        ensure!(idx.dims == [m], InvalidGraph, "idx must be [{m}], one index a row of x, not {}", dims_text(&idx.dims));
        Ok(vec![x.with_dims([m, n])])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, w, idx) = (at.input(0)?, at.input(1)?, at.input(2)?.to_i128());
        let ([m, n, k], experts) = self.sizes(x.ty(), w.ty())?;
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); experts];
        for (i, &index) in idx.iter().enumerate() {
            rows[checked_index(at, index, experts, false, i)?].push(i);
        }
        let (x, w) = (x.to_f64(), w.to_f64());
        let mut y = vec![0.0; m * n];
        let (row, col) = if self.transpose_b { (1, k) } else { (n, 1) };
        for (expert, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty() && n > 0) {
            let own: Vec<f64> = rows.iter().flat_map(|&i| x[i * k..(i + 1) * k].iter().copied()).collect();
            let mut out = vec![0.0; rows.len() * n];
            let a = MatrixView { values: &own, start: 0, row: k, col: 1 };
            multiply(rows.len(), n, k, a, MatrixView { values: &w, start: expert * k * n, row, col }, &mut out);
            for (&i, line) in rows.iter().zip(out.chunks(n)) {
                y[i * n..(i + 1) * n].copy_from_slice(line);
            }
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let (sizes, experts) = self.sizes(ty, at.input_type(1))?;
        let mut product = Product::dense(ty.element, sizes, at.input(0), at.input(1), self.transpose_b, at.output(0));
        let [_, n, k] = sizes;
        product.experts = Some(RowExperts { idx: at.input(2), element: at.input_type(2).element, experts, stride: n * k });
        lower_product(at, &product)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).map_or(1, TensorType::last)
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let types = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64];
    let indices = [ElementType::I32, ElementType::I64, ElementType::U32];
    for (i, [m, n, k, experts]) in [
        [0, 5, 3, 2],
        [3, 5, 0, 2],
        [1, 1, 1, 1],
        [2, 130, 64, 8],
        [7, 33, 17, 4],
        [33, 65, 24, 4],
        [129, 70, 64, 5],
        [300, 20, 9, 3],
        [140, 140, 40, 1],
        [64, 16, 1500, 40],
    ]
    .into_iter()
    .enumerate()
    {
        for (element, transpose_b) in [(ElementType::F32, i % 2 == 1), (types[i % 4], i % 2 == 0)] {
            let w = if transpose_b { [experts, n, k] } else { [experts, k, n] };
            let case = Case::new("GroupedMatMul", &[("transpose_b", Attribute::Int(transpose_b.into()))]);
            let idx = Fill::Range(0.0, experts as f64);
            out.push(case.input(element, &[m, k]).input(element, &w).fill(indices[i % 3], &[m], idx));
        }
    }
    // One expert gets every row, the others none.
    let skewed = Case::new("GroupedMatMul", &[]).input(ElementType::F32, &[132, 40]).input(ElementType::F32, &[6, 40, 50]);
    out.push(skewed.fill(ElementType::I32, &[132], Fill::Values(vec![4.0])));
    out
}
