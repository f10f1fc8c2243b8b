//! The matrix product by NumPy's rules.

use super::product::{BatchAxis, Matrix, Product, lower_product};
use super::reference::{MatrixView, multiply_batch};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, broadcast, dims_text, element_count, row_strides};
use crate::{Result, attributes, ensure};

attributes! {
    /// y = a x b over the last two axes, the others broadcast. An operand of rank 1 is a row (a) or a column (b).
    pub struct MatMul {
        /// a is [..,K,M].
        transpose_a: bool = false,
        /// b is [..,N,K].
        transpose_b: bool = false,
    }
}

crate::entries!(MatMul: cases);

/// Sizes and strides of a product by NumPy's rules. Strides are in elements.
struct Plan {
    m: usize,
    n: usize,
    k: usize,
    batch: Vec<BatchAxis>,
    a_line: usize,
    a_k: usize,
    b_line: usize,
    b_k: usize,
    dims: Vec<usize>,
}

/// Batch dimensions and the last two, rank 1 made a matrix: a row for a, a column for b.
fn as_matrix(dims: &[usize], column: bool) -> (&[usize], [usize; 2]) {
    match dims {
        &[k] if column => (&[], [k, 1]),
        &[k] => (&[], [1, k]),
        [batch @ .., rows, cols] => (batch, [*rows, *cols]),
        [] => (&[], [1, 1]),
    }
}

impl MatMul {
    fn plan(&self, a: &TensorType, b: &TensorType) -> Result<Plan> {
        for (name, ty, transposed) in [("a", a, self.transpose_a), ("b", b, self.transpose_b)] {
            ensure!(ty.element.is_float(), InvalidGraph, "{name} must be of a float type, not {}", ty.element);
            ensure!(ty.rank() > 0, InvalidGraph, "{name} is a scalar: a product needs at least one axis");
            ensure!(
                !transposed || ty.rank() >= 2,
                InvalidGraph,
                "{name} {} has one axis and cannot be transposed",
                dims_text(&ty.dims)
            );
        }
        ensure!(a.element == b.element, InvalidGraph, "a is {}, b is {}: the types must be the same", a.element, b.element);
        let (a_batch, [a_rows, a_cols]) = as_matrix(&a.dims, false);
        let (b_batch, [b_rows, b_cols]) = as_matrix(&b.dims, true);
        let (m, k, a_line, a_k) = if self.transpose_a { (a_cols, a_rows, 1, a_cols) } else { (a_rows, a_cols, a_cols, 1) };
        let (n, b_depth, b_line, b_k) = if self.transpose_b { (b_rows, b_cols, b_cols, 1) } else { (b_cols, b_rows, 1, b_cols) };
        let shapes = || format!("{} and {}", dims_text(&a.dims), dims_text(&b.dims));
        ensure!(k == b_depth, InvalidGraph, "a and b {}: K is {k} in a and {b_depth} in b", shapes());
        let batch_dims = broadcast(&[a_batch, b_batch]).map_err(|e| e.within(format!("batch axes of a and b {}", shapes())))?;
        let batch = batch_axes(&batch_dims, (a_batch, m * k), (b_batch, n * k));
        let mut dims = batch_dims;
        dims.extend((a.rank() > 1).then_some(m));
        dims.extend((b.rank() > 1).then_some(n));
        Ok(Plan { m, n, k, batch, a_line, a_k, b_line, b_k, dims })
    }

    /// The product of inputs 0 and 1 into output 0.
    pub fn product(&self, at: &Lowering) -> Result<Product> {
        let ty = at.input_type(0);
        let plan = self.plan(ty, at.input_type(1))?;
        let mut product = Product::dense(ty.element, [plan.m, plan.n, plan.k], at.input(0), at.input(1), false, at.output(0));
        product.a = Matrix { operand: at.input(0), line: plan.a_line, k: plan.a_k };
        product.b = Matrix { operand: at.input(1), line: plan.b_line, k: plan.b_k };
        product.batch = plan.batch;
        Ok(product)
    }
}

/// Strides of both operands along each batch axis; `size` is the elements of one matrix.
fn batch_axes(dims: &[usize], (a, a_size): (&[usize], usize), (b, b_size): (&[usize], usize)) -> Vec<BatchAxis> {
    let strides = |own: &[usize], size: usize| -> Vec<usize> {
        let steps = row_strides(own);
        let lead = dims.len() - own.len();
        (0..dims.len()).map(|i| if i < lead || own[i - lead] == 1 { 0 } else { steps[i - lead] * size }).collect()
    };
    let (a, b) = (strides(a, a_size), strides(b, b_size));
    (0..dims.len()).map(|i| BatchAxis { extent: dims[i], a: a[i], b: b[i] }).collect()
}

/// The offsets of both operands at batch number `i`.
fn offsets(batch: &[BatchAxis], mut i: usize) -> (usize, usize) {
    let (mut a, mut b) = (0, 0);
    for axis in batch.iter().rev() {
        a += i % axis.extent * axis.a;
        b += i % axis.extent * axis.b;
        i /= axis.extent;
    }
    (a, b)
}

impl Operator for MatMul {
    fn name(&self) -> &'static str {
        "MatMul"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=2)?;
        let (a, b) = (ins.get(0)?, ins.get(1)?);
        Ok(vec![a.with_dims(self.plan(a, b)?.dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (a, b) = (at.input(0)?, at.input(1)?);
        let plan = self.plan(a.ty(), b.ty())?;
        let (a, b) = (a.to_f64(), b.to_f64());
        let count = element_count(&plan.batch.iter().map(|axis| axis.extent).collect::<Vec<_>>());
        let values = multiply_batch(count, [plan.m, plan.n, plan.k], |i| {
            let (a_start, b_start) = offsets(&plan.batch, i);
            (
                MatrixView { values: &a, start: a_start, row: plan.a_line, col: plan.a_k },
                MatrixView { values: &b, start: b_start, row: plan.b_k, col: plan.b_line },
            )
        });
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &values)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let product = self.product(at)?;
        lower_product(at, &product)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.get(0).and_then(|a| self.plan(a, ins.get(1)?)).map_or(1, |plan| plan.k)
    }
}

use ElementType::{Bf16, F16, F32, F64};

fn case(element: ElementType, a: &[usize], b: &[usize], transpose_a: bool, transpose_b: bool) -> Case {
    let flag = |v: bool| Attribute::Int(v.into());
    let case = Case::new("MatMul", &[("transpose_a", flag(transpose_a)), ("transpose_b", flag(transpose_b))]);
    // A row of one result is measured against that result alone: sums that cancel would ask for more than f32 has.
    let single = b.len() == 1 || b[if transpose_b { b.len() - 2 } else { b.len() - 1 }] == 1;
    let fill = if single { Fill::Range(0.25, 1.0) } else { Fill::Any };
    case.fill(element, a, fill.clone()).fill(element, b, fill)
}

/// [m,k] x [k,n] with the operands stored as the flags say.
fn matrices(element: ElementType, [m, n, k]: [usize; 3], transpose_a: bool, transpose_b: bool) -> Case {
    let a = if transpose_a { [k, m] } else { [m, k] };
    let b = if transpose_b { [n, k] } else { [k, n] };
    case(element, &a, &b, transpose_a, transpose_b)
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    out.extend(edge_cases());
    out.extend(batch_cases());
    let plain = |element, a: &[usize], b: &[usize]| case(element, a, b, false, false);
    for (a, b) in
        [(&[5usize][..], &[5usize][..]), (&[1], &[1]), (&[0], &[0]), (&[7], &[3, 7, 4]), (&[2, 3, 7], &[7]), (&[3000], &[3000])]
    {
        out.push(plain(F32, a, b));
    }
    // Rows that vanished from 500 rows on (K = N = 1024), a view with rows of 1500, and sums above the largest f16.
    out.push(matrices(F32, [535, 1024, 1024], false, false));
    out.push(matrices(F16, [64, 1, 1500], false, true));
    let large = Fill::Values(vec![17.0]);
    out.push(Case::new("MatMul", &[]).fill(F16, &[3, 4096], Fill::Values(vec![1.0, 1.0, -1.0, 1.0])).fill(F16, &[4096, 5], large));
    let bad = vec![1.0, f64::INFINITY, -2.0, f64::NAN, 0.0, 3.0, -0.0];
    out.push(Case::new("MatMul", &[]).fill(F32, &[9, 17], Fill::Values(bad.clone())).input(F32, &[17, 33]));
    out.push(Case::new("MatMul", &[]).fill(F32, &[65, 17], Fill::Values(bad)).input(F32, &[17, 70]));
    out
}

/// Sizes around the tiles, with storage orders and types in turn.
fn edge_cases() -> Vec<Case> {
    let sizes = [
        [0, 3, 2],
        [3, 0, 2],
        [2, 3, 0],
        [1, 1, 1],
        [2, 7, 8],
        [7, 9, 15],
        [8, 16, 17],
        [9, 63, 64],
        [15, 65, 127],
        [17, 129, 200],
        [63, 64, 65],
        [64, 63, 257],
        [65, 127, 9],
        [127, 128, 16],
        [129, 65, 33],
        [200, 200, 200],
        [257, 2, 129],
        [1, 257, 200],
        [3, 1000, 64],
        [8, 129, 513],
        [1000, 5, 64],
        [1, 4, 20000],
        [16, 16, 1500],
        [70, 80, 1536],
        [1, 8192, 40],
        [1030, 130, 24],
        [2049, 1, 72],
        [128, 256, 96],
        [257, 263, 72],
    ];
    let types = [F32, F16, Bf16, F64];
    let mut out = Vec::new();
    for (i, &size) in sizes.iter().enumerate() {
        out.push(matrices(F32, size, i % 4 > 1, i % 2 == 1));
        out.push(matrices(types[i % 4], size, i % 4 < 2, (i / 4) % 2 == 1));
    }
    out
}

fn batch_cases() -> Vec<Case> {
    let mut out = Vec::new();
    for element in [F32, F16] {
        out.push(case(element, &[65537, 1, 1], &[65537, 1, 1], false, false));
    }
    out.push(case(F32, &[65537, 2, 3], &[1, 3, 2], false, false));
    out.push(case(F32, &[66000, 1, 9], &[66000, 9, 1], false, false));
    for (a, b) in [
        (&[5usize, 1, 9, 17][..], &[1usize, 3, 17, 70][..]),
        (&[2, 1, 3, 1, 9, 12], &[4, 1, 5, 12, 11]),
        (&[3, 4, 8, 16], &[16, 24]),
        (&[6, 16], &[3, 4, 16, 70]),
        (&[3, 66, 20], &[3, 20, 66]),
        (&[2, 0, 3, 4], &[1, 1, 4, 5]),
        (&[3, 2, 1, 200], &[3, 1, 200, 300]),
    ] {
        for element in [F32, Bf16] {
            out.push(case(element, a, b, false, false));
        }
    }
    out.push(case(F16, &[8, 64, 1500], &[8, 1, 1500], false, true));
    out.push(case(F32, &[4, 32, 100], &[4, 32, 90], true, false));
    out.push(case(F64, &[2, 3, 30, 20], &[2, 3, 40, 20], false, true));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn infer(a: &[usize], b: &[usize], transpose_a: bool, transpose_b: bool) -> Result<Vec<usize>> {
        let (a, b) = (TensorType::new(F32, a), TensorType::new(F32, b));
        let types = MatMul { transpose_a, transpose_b }.infer(&Inputs(&[Some(&a), Some(&b)]))?;
        Ok(types[0].dims.clone())
    }

    #[test]
    fn shapes_follow_numpy() {
        assert_eq!(infer(&[4], &[4], false, false).expect("fits"), [0usize; 0]);
        assert_eq!(infer(&[4], &[2, 4, 3], false, false).expect("fits"), [2, 3]);
        assert_eq!(infer(&[2, 3, 4], &[4], false, false).expect("fits"), [2, 3]);
        assert_eq!(infer(&[2, 1, 3, 4], &[5, 4, 6], false, false).expect("fits"), [2, 5, 3, 6]);
        assert_eq!(infer(&[4, 3], &[6, 4], true, true).expect("fits"), [3, 6]);
        assert_eq!(infer(&[2, 0], &[0, 3], false, false).expect("fits"), [2, 3]);
    }

    #[test]
    fn mistakes_are_named() {
        let message = |r: Result<Vec<usize>>| r.expect_err("wrong").message;
        assert!(message(infer(&[2, 3], &[4, 5], false, false)).contains("K is 3 in a and 4 in b"));
        assert!(message(infer(&[2, 3, 4], &[5, 4, 6], false, false)).contains("do not broadcast"));
        assert!(message(infer(&[4], &[4, 5], true, false)).contains("cannot be transposed"));
        assert!(message(infer(&[], &[4, 5], false, false)).contains("scalar"));
    }
}
