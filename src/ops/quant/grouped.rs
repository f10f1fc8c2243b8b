//! Each row times a packed matrix of its own: mixtures of experts.

use super::matmul::expand_blocks;
use super::product::{Product, Weights, lower_product};
use crate::ops::contraction::{MatrixView, RowExperts, multiply};
use crate::ops::{Attributes, Case, Fill, Inputs, Lowering, Operator, Reference, checked_index};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text};
use crate::{Result, attributes, bail, ensure};

attributes! {
    /// y[i] = x[i] @ dequant(w[idx[i]])^T: x [M,K], w [E,N,K] of a packed type, idx [M], checked. Never expanded in memory.
    pub struct DequantGroupedMatMul {}
}

crate::entries!(DequantGroupedMatMul: cases);

/// M, N, K and the number of experts.
fn sizes(x: &TensorType, w: &TensorType) -> Result<([usize; 3], usize)> {
    let shapes = format!("x {} and w {}", dims_text(&x.dims), dims_text(&w.dims));
    let (&[m, depth], &[experts, n, k]) = (&x.dims[..], &w.dims[..]) else {
        bail!(InvalidGraph, "{shapes}: x must be [M,K], w [E,N,K]");
    };
    ensure!(depth == k, InvalidGraph, "{shapes}: K is {depth} in x and {k} in w");
    Ok(([m, n, k], experts))
}

impl Operator for DequantGroupedMatMul {
    fn name(&self) -> &'static str {
        "DequantGroupedMatMul"
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
        ensure!(w.element.is_block(), InvalidGraph, "w must be of a packed type, not {}", w.element);
        let ([m, n, _], _) = sizes(x, w)?;
        use ElementType::{I32, I64, U32, U64};
        let index = matches!(idx.element, I32 | I64 | U32 | U64);
        ensure!(index, InvalidGraph, "idx must be i32, i64, u32 or u64, not {}", idx.element);
        ensure!(idx.dims == [m], InvalidGraph, "idx must be [{m}], one index a row of x, not {}", dims_text(&idx.dims));
        Ok(vec![x.with_dims([m, n])])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, w, idx) = (at.input(0)?, at.input(1)?, at.input(2)?.to_i128());
        let ([m, n, k], experts) = sizes(x.ty(), w.ty())?;
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); experts];
        for (i, &index) in idx.iter().enumerate() {
            rows[checked_index(at, index, experts, false, i)?].push(i);
        }
        let x = x.to_f64();
        let mut y = vec![0.0; m * n];
        let bytes = w.ty().with_dims([n, k]).bytes();
        for (expert, rows) in rows.iter().enumerate().filter(|(_, rows)| !rows.is_empty() && n > 0) {
            let matrix = Tensor::from_bytes(w.ty().with_dims([n, k]), &w.bytes()[expert * bytes..(expert + 1) * bytes])?;
            let values = expand_blocks(&matrix);
            let own: Vec<f64> = rows.iter().flat_map(|&i| x[i * k..(i + 1) * k].iter().copied()).collect();
            let mut out = vec![0.0; rows.len() * n];
            let a = MatrixView { values: &own, start: 0, row: k, col: 1 };
            multiply(rows.len(), n, k, a, MatrixView { values: &values, start: 0, row: 1, col: k }, &mut out);
            for (&i, line) in rows.iter().zip(out.chunks(n)) {
                y[i * n..(i + 1) * n].copy_from_slice(line);
            }
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, w) = (at.input_type(0), at.input_type(1));
        let ([m, n, k], experts) = sizes(x, w)?;
        let rows = RowExperts { idx: at.input(2), element: at.input_type(2).element, experts, stride: n * k };
        let weights = Weights::Blocks { element: w.element, w: at.input(1) };
        let product = Product { element: x.element, m, n, k, x: at.input(0), y: at.output(0), weights, experts: Some(rows) };
        lower_product(at, &product)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).map_or(1, TensorType::last)
    }
}

fn case(w: ElementType, x: ElementType, idx: ElementType, [m, n, k, experts]: [usize; 4], fill: Fill) -> Case {
    Case::new("DequantGroupedMatMul", &[]).input(x, &[m, k]).input(w, &[experts, n, k]).fill(idx, &[m], fill)
}

fn cases() -> Vec<Case> {
    use ElementType::{Bf16, F16, F32, F64, I32, I64, Q4K, Q6K, Q8_0, U32};
    let any = |experts: usize| Fill::Range(0.0, experts as f64);
    let mut out = vec![case(ElementType::Iq1M, F32, I32, [6, 5, 256, 3], any(3))];
    for (i, m) in [0, 1, 2, 32, 33, 129].into_iter().enumerate() {
        let (x, idx) = ([F32, F16, Bf16][i % 3], [I64, I32, U32][i % 3]);
        out.push(case([Q4K, Q8_0, Q6K][i % 3], x, idx, [m, 19, 256, 4], any(4)));
        out.push(case(Q4K, F32, idx, [m, 7, 512, 4], Fill::Values(vec![3.0])));
    }
    out.push(case(Q4K, F64, I32, [5, 3, 256, 2], any(2)));
    out.push(case(Q8_0, F32, I32, [3, 0, 32, 2], any(2)));
    // Two of four experts are used.
    out.push(case(Q4K, F32, I32, [129, 70, 256, 4], Fill::Values(vec![1.0, 3.0, 1.0])));
    out
}
