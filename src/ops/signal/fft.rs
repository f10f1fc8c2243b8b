//! Fft, Rfft and Irfft of any length.

use super::complex::{Complex, transform};
use super::transform::{Form, RowAxis, Side, Transform};
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis, split_at_axis};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    /// Which direction is divided by the length.
    pub enum FftNorm {
        Backward = "Backward",
        Forward = "Forward",
        /// Both, by its root.
        Ortho = "Ortho",
        None = "None",
    }
}

attributes! {
    /// Along `axis` of c64, or of f32 (f16, bf16) that holds N reals, then N imaginaries.
    pub struct Fft { axis: i64 = -1, inverse: bool = false, norm: FftNorm = FftNorm::Backward }
}

attributes! {
    /// The first n/2+1 bins of the transform of n reals along the last axis, which is cropped or filled with zeros.
    pub struct Rfft { n: usize }
}

attributes! {
    /// n reals from the first n/2+1 bins along the last axis, over n. The imaginary parts of bins 0 and n/2 count as 0.
    pub struct Irfft { n: usize }
}

crate::entries!(Fft: fft_cases, Rfft: || real_cases("Rfft"), Irfft: || real_cases("Irfft"));

impl Fft {
    /// Numbers before, along and after the axis.
    fn shape(&self, x: &TensorType) -> Result<[usize; 3]> {
        let [outer, len, inner] = split_at_axis(&x.dims, normalize_axis(self.axis, x.rank())?);
        Ok([outer, if x.element == ElementType::C64 { len } else { len / 2 }, inner])
    }

    fn scale(&self, n: usize) -> f64 {
        let n = n as f64;
        match (self.norm, self.inverse) {
            (FftNorm::Backward, true) | (FftNorm::Forward, false) => 1.0 / n,
            (FftNorm::Ortho, _) => 1.0 / n.sqrt(),
            _ => 1.0,
        }
    }

    fn sign(&self) -> f64 {
        if self.inverse { 1.0 } else { -1.0 }
    }
}

/// The parts of a c64 tensor in f64.
fn complex_values(x: &Tensor) -> Vec<Complex> {
    let parts: &[f32] = bytemuck::cast_slice(x.bytes());
    parts.chunks_exact(2).map(|p| Complex::new(p[0].into(), p[1].into())).collect()
}

fn complex_tensor(ty: TensorType, values: &[Complex]) -> Result<Tensor> {
    let parts: Vec<f32> = values.iter().flat_map(|v| [v.re as f32, v.im as f32]).collect();
    Tensor::from_bytes(ty, bytemuck::cast_slice(&parts))
}

impl Operator for Fft {
    fn name(&self) -> &'static str {
        "Fft"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        let planar = matches!(x.element, ElementType::F32 | ElementType::F16 | ElementType::Bf16);
        ensure!(planar || x.element == ElementType::C64, InvalidGraph, "takes c64, f32, f16 or bf16, not {}", x.element);
        let len = x.dims[normalize_axis(self.axis, x.rank())?];
        ensure!(!planar || len % 2 == 0, InvalidGraph, "{len} elements of {x} are no reals and as many imaginaries");
        ensure!(len > 0, InvalidGraph, "a transform of no numbers: {x}");
        Ok(vec![x.clone()])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let ty = x.ty().clone();
        let [outer, n, inner] = self.shape(&ty)?;
        let complex = ty.element == ElementType::C64;
        let (pairs, reals) = if complex { (complex_values(x), Vec::new()) } else { (Vec::new(), x.to_f64()) };
        let (mut out_pairs, mut out_reals) = (pairs.clone(), reals.clone());
        for row in 0..outer * inner {
            let (o, i) = (row / inner, row % inner);
            let place = |k: usize| (o * n + k) * inner + i;
            let plane = |k: usize| (2 * o * n + k) * inner + i;
            let number = |k: usize| if complex { pairs[place(k)] } else { Complex::new(reals[plane(k)], reals[plane(n + k)]) };
            let numbers: Vec<Complex> = (0..n).map(number).collect();
            for (k, v) in transform(&numbers, self.sign()).into_iter().enumerate() {
                let v = v.scaled(self.scale(n));
                if complex {
                    out_pairs[place(k)] = v;
                } else {
                    (out_reals[plane(k)], out_reals[plane(n + k)]) = (v.re, v.im);
                }
            }
        }
        Ok(vec![if complex { complex_tensor(ty, &out_pairs)? } else { Tensor::from_f64(ty, &out_reals) }])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let [outer, n, inner] = self.shape(ty)?;
        let (form, parts) = if ty.element == ElementType::C64 { (Form::Complex, 1) } else { (Form::Planar, 2) };
        let bytes = ty.element.block_bytes();
        let row = n * inner * parts * bytes;
        let rows = vec![RowAxis::new(outer, row, row), RowAxis::new(inner, bytes, bytes)];
        let side = |operand| Side { operand, form, stride: inner };
        let mut transform = Transform::new(ty.element, n, self.sign(), rows, side(at.input(0)), side(at.output(0)));
        transform.scale = self.scale(n);
        transform.lower(at)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).and_then(|x| Some(self.shape(x).ok()?[1])).unwrap_or(1)
    }
}

/// Rows and numbers in a row of a tensor that is transformed along its last axis.
fn rows_of(ty: &TensorType) -> (usize, usize) {
    (ty.dims[..ty.rank() - 1].iter().product(), ty.last())
}

fn check_length(n: usize, x: &TensorType, want: ElementType) -> Result<()> {
    ensure!(x.element == want, InvalidGraph, "takes {want}, not {}", x.element);
    ensure!(x.rank() > 0, InvalidGraph, "takes at least one axis");
    ensure!((1..1 << 26).contains(&n), InvalidGraph, "n is {n}, outside 1..2^26");
    Ok(())
}

fn with_last(x: &TensorType, element: ElementType, n: usize) -> TensorType {
    let mut dims = x.dims.clone();
    dims[x.rank() - 1] = n;
    TensorType::new(element, dims)
}

/// A transform along the last axis from one form to another.
fn along_last(at: &mut Lowering, n: usize, sign: f64, forms: [Form; 2]) -> Transform {
    let (x, y) = (at.input_type(0), at.output_type(0));
    let ((rows, from), (_, to)) = (rows_of(x), rows_of(y));
    let rows = vec![RowAxis::new(rows, from * x.element.block_bytes(), to * y.element.block_bytes())];
    let side = |operand, form| Side { operand, form, stride: 1 };
    Transform::new(ElementType::F32, n, sign, rows, side(at.input(0), forms[0]), side(at.output(0), forms[1]))
}

impl Operator for Rfft {
    fn name(&self) -> &'static str {
        "Rfft"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        check_length(self.n, x, ElementType::F32)?;
        Ok(vec![with_last(x, ElementType::C64, self.n / 2 + 1)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let ((rows, len), values) = (rows_of(x.ty()), x.to_f64());
        let mut out = Vec::new();
        for row in 0..rows {
            let mut numbers: Vec<Complex> = values[row * len..][..len.min(self.n)].iter().map(|&v| Complex::new(v, 0.0)).collect();
            numbers.resize(self.n, Complex::ZERO);
            out.extend_from_slice(&transform(&numbers, -1.0)[..self.n / 2 + 1]);
        }
        Ok(vec![complex_tensor(at.output_type(0).clone(), &out)?])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let mut transform = along_last(at, self.n, -1.0, [Form::Real, Form::Complex]);
        transform.given = at.input_type(0).last().min(self.n);
        transform.kept = self.n / 2 + 1;
        transform.lower(at)
    }

    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        self.n
    }
}

impl Operator for Irfft {
    fn name(&self) -> &'static str {
        "Irfft"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        check_length(self.n, x, ElementType::C64)?;
        Ok(vec![with_last(x, ElementType::F32, self.n)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let ((rows, bins), values) = (rows_of(x.ty()), complex_values(x));
        let n = self.n;
        let mut out = Vec::new();
        for row in 0..rows {
            let number = |i: usize| {
                let bin = if i > n / 2 { n - i } else { i };
                let v = if bin < bins { values[row * bins + bin] } else { Complex::ZERO };
                match (bin == 0 || 2 * bin == n, i > n / 2) {
                    (true, _) => Complex::new(v.re, 0.0),
                    (false, true) => v.conj(),
                    (false, false) => v,
                }
            };
            let numbers: Vec<Complex> = (0..n).map(number).collect();
            out.extend(transform(&numbers, 1.0).into_iter().map(|v| v.re / n as f64));
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &out)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let mut transform = along_last(at, self.n, 1.0, [Form::Half, Form::Real]);
        transform.bins = at.input_type(0).last();
        transform.scale = 1.0 / self.n as f64;
        transform.lower(at)
    }

    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        self.n
    }
}

fn fft_cases() -> Vec<Case> {
    let case = |axis: i64, inverse: i64, norm: FftNorm, element, dims: &[usize]| {
        let attributes =
            [("axis", Attribute::Int(axis)), ("inverse", Attribute::Int(inverse)), ("norm", Attribute::Text(norm.text().into()))];
        Case::new("Fft", &attributes).input(element, dims)
    };
    let (backward, c64) = (FftNorm::Backward, ElementType::C64);
    let mut out = Vec::new();
    for (i, n) in [1usize, 2, 3, 4, 5, 7, 8, 16, 29, 32, 60, 113, 400, 1021, 2048, 2187, 4096, 8192, 10_000].into_iter().enumerate()
    {
        out.push(case(-1, i as i64 % 2, backward, c64, &[3, n]));
    }
    for &norm in FftNorm::ALL {
        out.push(case(-1, 0, norm, c64, &[2, 12]));
        out.push(case(-1, 1, norm, c64, &[2, 12]));
    }
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
        for n in [13, 64, 20] {
            out.push(case(-1, 0, FftNorm::Ortho, element, &[3, 2 * n]));
        }
    }
    for n in [15, 64, 113] {
        out.push(case(1, 0, backward, c64, &[2, n, 5]));
        out.push(case(0, 1, backward, ElementType::F32, &[2 * n, 7]));
    }
    out.push(case(0, 0, backward, c64, &[6000, 3]));
    out.push(case(-1, 0, backward, c64, &[65537, 2]));
    out.push(case(-1, 0, backward, c64, &[0, 8]));
    out
}

fn real_cases(name: &str) -> Vec<Case> {
    let element = if name == "Rfft" { ElementType::F32 } else { ElementType::C64 };
    let case = |n: usize, len: usize| Case::new(name, &[("n", Attribute::Int(n as i64))]).input(element, &[3, len]);
    let mut out = Vec::new();
    for n in [1usize, 2, 5, 16, 29, 60, 2048, 10_000] {
        out.push(case(n, if name == "Rfft" { n } else { n / 2 + 1 }));
    }
    for (n, len) in [(6, 9), (8, 5), (11, 4), (7, 9), (64, 20), (64, 100), (37, 0)] {
        out.push(case(n, len));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_checked() {
        let real = TensorType::new(ElementType::F32, [2, 5]);
        assert!(Rfft { n: 0 }.infer(&Inputs(&[Some(&real)])).is_err());
        assert!(Irfft { n: 4 }.infer(&Inputs(&[Some(&real)])).is_err());
        let fft = Fft { axis: -1, inverse: false, norm: FftNorm::Backward };
        assert!(fft.infer(&Inputs(&[Some(&real)])).is_err());
        assert!(fft.infer(&Inputs(&[Some(&TensorType::new(ElementType::C64, [2, 0]))])).is_err());
        assert!(fft.infer(&Inputs(&[Some(&TensorType::new(ElementType::C64, [0, 8]))])).is_ok());
    }
}
