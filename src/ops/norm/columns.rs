//! Norms along any axis without weights of its shape: L2Norm and LayerNorm2d.

use super::channels::check;
use super::rows::RowShape;
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, normalize_axis, split_at_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// x / max(sqrt(sum of x^2), eps) along `axis`.
    pub struct L2Norm { axis: i64 = -1, eps: f64 = 1e-12 }
}
attributes! {
    /// (x - mean) / sqrt(variance + eps) * gamma + beta over the channels of x [N, C, H, W] at each place.
    pub struct LayerNorm2d { eps: f64 = 1e-5 }
}

crate::entries!(L2Norm: l2_cases, LayerNorm2d: layer_cases);

/// Applies `f` to each line along the middle axis of x [outer, len, inner].
fn along(x: &Tensor, [outer, len, inner]: [usize; 3], f: impl Fn(&mut [f64])) -> Tensor {
    let mut y = x.to_f64();
    let mut line = vec![0.0; len];
    for (o, i) in (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))) {
        let at = |k: usize| (o * len + k) * inner + i;
        (0..len).for_each(|k| line[k] = y[at(k)]);
        f(&mut line);
        (0..len).for_each(|k| y[at(k)] = line[k]);
    }
    Tensor::from_f64(x.ty().clone(), &y)
}

/// `vectors`: gamma and beta.
fn lower_columns(at: &mut Lowering, [outer, len, inner]: [usize; 3], eps: f64, vectors: Option<(usize, usize)>) -> Result<()> {
    let (ty, x, y) = (at.input_type(0), at.input(0), at.output(0));
    ensure!(u32::try_from(outer * len).is_ok(), Unsupported, "{outer} x {len} rows are above 2^32");
    let (gamma, beta) = vectors.map_or((x, x), |(g, b)| (at.input(g), at.input(b)));
    let blocks = inner.div_ceil(32);
    at.dispatch(kernel::norm_columns(ty.element.name())?)
        .read("x", x)
        .read("gamma", gamma)
        .read("beta", beta)
        .write("y", y)
        .uint("outer", outer)
        .uint("len", len)
        .uint("inner", inner)
        .uint("blocks", blocks)
        .float("eps", eps)
        .spec("EUCLID", vectors.is_none().into())
        .groups(outer * blocks)
}

impl L2Norm {
    fn split(&self, ty: &TensorType) -> Result<[usize; 3]> {
        Ok(split_at_axis(&ty.dims, normalize_axis(self.axis, ty.rank())?))
    }
}

impl Operator for L2Norm {
    fn name(&self) -> &'static str {
        "L2Norm"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
        self.split(x)?;
        Ok(vec![x.clone()])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        Ok(vec![along(x, self.split(x.ty())?, |line| {
            let norm = line.iter().map(|v| v * v).sum::<f64>().sqrt();
            // f64::max would lose a NaN.
            let norm = if norm < self.eps { self.eps } else { norm };
            line.iter_mut().for_each(|v| *v /= norm);
        })])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let [rows, len, inner] = self.split(ty)?;
        if inner != 1 {
            return lower_columns(at, [rows, len, inner], self.eps, None);
        }
        let shape = RowShape::new(ty.element, len);
        let (x, y) = (at.input(0), at.output(0));
        at.dispatch(kernel::norm_rows(ty.element.name())?)
            .read("x", x)
            .read("residual", x)
            .read("bias", x)
            .read("gamma", x)
            .read("beta", x)
            .write("y", y)
            .write("sum", y)
            .uint("rows", rows)
            .uint("len", len)
            .uint("groups", 1)
            .uint("per", len)
            .uint("inner", 1)
            .float("eps", self.eps)
            .spec("EUCLID", 1)
            .spec("HELD", shape.held)
            .spec("VEC", shape.vec)
            .spec("LANES", shape.lanes)
            .groups(shape.groups(rows))
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).and_then(|x| self.split(x).ok()).map_or(1, |s| s[1])
    }
}

impl Operator for LayerNorm2d {
    fn name(&self) -> &'static str {
        "LayerNorm2d"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        let out = check(ins, &["gamma", "beta"])?;
        ensure!(out[0].rank() == 4, InvalidGraph, "x is {}, not [N, C, H, W]", out[0]);
        Ok(out)
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let (gamma, beta) = (at.input(1)?.to_f64(), at.input(2)?.to_f64());
        Ok(vec![along(x, split_at_axis(x.dims(), 1), |line| {
            let n = line.len() as f64;
            let mean = line.iter().sum::<f64>() / n;
            let variance = line.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            for (c, v) in line.iter_mut().enumerate() {
                *v = (*v - mean) / (variance + self.eps).sqrt() * gamma[c] + beta[c];
            }
        })])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let split = split_at_axis(&at.input_type(0).dims, 1);
        lower_columns(at, split, self.eps, Some((1, 2)))
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).map_or(1, |x| x.dims[1])
    }
}

const FLOATS: [ElementType; 4] = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64];

fn l2_cases() -> Vec<Case> {
    let of = |axis: i64| Case::new("L2Norm", &[("axis", Attribute::Int(axis)), ("eps", Attribute::Float(1e-12))]);
    let mut out = Vec::new();
    for element in FLOATS {
        out.push(of(-1).input(element, &[7, 113]));
        out.push(of(1).input(element, &[2, 29, 37]));
        out.push(of(0).input(element, &[5, 64]));
        out.push(of(-1).input(element, &[3, 256]));
    }
    out.push(of(-1).input(ElementType::F32, &[1]));
    out.push(of(0).input(ElementType::F32, &[0, 3]));
    out.push(of(-1).input(ElementType::F32, &[65537, 3]));
    out.push(of(1).input(ElementType::F32, &[65537, 2, 2]));
    for value in [0.0, 1e25, 1e-25] {
        out.push(of(-1).fill(ElementType::F32, &[2, 512], Fill::Values(vec![value])));
        out.push(of(0).fill(ElementType::F32, &[9, 33], Fill::Values(vec![value])));
    }
    out
}

fn layer_cases() -> Vec<Case> {
    let eps = [("eps", Attribute::Float(1e-5))];
    let mut out = Vec::new();
    let mut add = |element, dims: &[usize]| {
        let case = Case::new("LayerNorm2d", &eps).input(element, dims);
        out.push(case.input(element, &dims[1..2]).input(element, &dims[1..2]));
    };
    for element in FLOATS {
        add(element, &[2, 37, 5, 7]);
        add(element, &[1, 1, 3, 3]);
        add(element, &[2, 256, 8, 8]);
    }
    add(ElementType::F32, &[0, 3, 2, 2]);
    add(ElementType::F32, &[1, 3, 257, 256]);
    out
}
