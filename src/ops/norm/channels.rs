//! Norms of the channels of x [N, C, ..]: GroupNorm and InstanceNorm.

use super::rows::RowShape;
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count};
use crate::{Result, attributes, ensure};

attributes! {
    /// (x - mean) / sqrt(variance + eps) * gamma + beta, over each of `groups` groups of neighbouring channels of each item.
    pub struct GroupNorm { groups: usize, eps: f64 = 1e-5 }
}
attributes! {
    /// (x - mean) / sqrt(variance + eps) * gamma + beta, over each channel of each item.
    pub struct InstanceNorm { eps: f64 = 1e-5 }
}

crate::entries!(GroupNorm: group_cases, InstanceNorm: instance_cases);

/// x [N, C, ..] and vectors of C elements of its type.
pub(super) fn check(ins: &Inputs<TensorType>, vectors: &[&str]) -> Result<Vec<TensorType>> {
    ins.expect(vectors.len() + 1..=vectors.len() + 1)?;
    let x = ins.get(0)?;
    ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
    ensure!(x.rank() >= 2, InvalidGraph, "x is {x}: it needs a batch and a channel axis");
    for (i, what) in vectors.iter().enumerate() {
        let vector = ins.get(i + 1)?;
        ensure!(vector.element == x.element, InvalidGraph, "x is {}, {what} {}", x.element, vector.element);
        ensure!(vector.dims == [x.dims[1]], InvalidGraph, "{what} is {vector}, x has {} channels", x.dims[1]);
    }
    Ok(vec![x.clone()])
}

fn infer(ins: &Inputs<TensorType>, groups: usize) -> Result<Vec<TensorType>> {
    let out = check(ins, &["gamma", "beta"])?;
    let channels = out[0].dims[1];
    ensure!(groups > 0 && channels.is_multiple_of(groups), InvalidGraph, "{channels} channels in {groups} groups");
    Ok(out)
}

fn reference(at: &Reference, groups: usize, eps: f64) -> Result<Vec<Tensor>> {
    let x = at.input(0)?;
    let (gamma, beta) = (at.input(1)?.to_f64(), at.input(2)?.to_f64());
    let (channels, inner) = (x.dims()[1], element_count(&x.dims()[2..]));
    let len = channels / groups * inner;
    let mut y = x.to_f64();
    for (row, y) in y.chunks_mut(len.max(1)).enumerate() {
        let mean = y.iter().sum::<f64>() / len as f64;
        let variance = y.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / len as f64;
        for (i, v) in y.iter_mut().enumerate() {
            let channel = row % groups * (channels / groups) + i / inner;
            *v = (*v - mean) / (variance + eps).sqrt() * gamma[channel] + beta[channel];
        }
    }
    Ok(vec![Tensor::from_f64(x.ty().clone(), &y)])
}

fn lower(at: &mut Lowering, groups: usize, eps: f64) -> Result<()> {
    let ty = at.input_type(0);
    let (channels, inner) = (ty.dims[1], element_count(&ty.dims[2..]));
    let per = channels / groups;
    let (rows, len) = (ty.dims[0] * groups, per * inner);
    let shape = RowShape::new(ty.element, len);
    let (x, gamma, beta, y) = (at.input(0), at.input(1), at.input(2), at.output(0));
    at.dispatch(kernel::norm_rows(ty.element.name())?)
        .read("x", x)
        .read("residual", x)
        .read("bias", x)
        .read("gamma", gamma)
        .read("beta", beta)
        .write("y", y)
        .write("sum", y)
        .uint("rows", rows)
        .uint("len", len)
        .uint("groups", groups)
        .uint("per", per)
        .uint("inner", inner)
        .float("eps", eps)
        .spec("CENTER", 1)
        .spec("BETA", 1)
        .spec("CHANNELS", 1)
        .spec("HELD", shape.held)
        .spec("VEC", shape.vec)
        .spec("LANES", shape.lanes)
        .groups(shape.groups(rows))
}

impl Operator for GroupNorm {
    fn name(&self) -> &'static str {
        "GroupNorm"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        infer(ins, self.groups)
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        reference(at, self.groups, self.eps)
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        lower(at, self.groups, self.eps)
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).map_or(1, |x| element_count(&x.dims[1..]) / self.groups.max(1))
    }
}

impl Operator for InstanceNorm {
    fn name(&self) -> &'static str {
        "InstanceNorm"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        infer(ins, ins.get(0)?.dims.get(1).copied().unwrap_or(1).max(1))
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        reference(at, at.input(0)?.dims()[1].max(1), self.eps)
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        lower(at, at.input_type(0).dims[1], self.eps)
    }
    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).map_or(1, |x| element_count(&x.dims[2..]))
    }
}

fn case(name: &str, list: &[(&str, Attribute)], element: ElementType, dims: &[usize]) -> Case {
    Case::new(name, list).input(element, dims).input(element, &dims[1..2]).input(element, &dims[1..2])
}

fn group_cases() -> Vec<Case> {
    let mut out = Vec::new();
    let groups = |n: i64| [("groups", Attribute::Int(n)), ("eps", Attribute::Float(1e-5))];
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        out.push(case("GroupNorm", &groups(3), element, &[2, 6, 5, 7]));
        out.push(case("GroupNorm", &groups(2), element, &[2, 4, 8, 16]));
        out.push(case("GroupNorm", &groups(1), element, &[1, 32, 31, 17]));
    }
    out.push(case("GroupNorm", &groups(4), ElementType::F32, &[3, 8]));
    out.push(case("GroupNorm", &groups(2), ElementType::F32, &[0, 4, 3]));
    out.push(case("GroupNorm", &groups(32), ElementType::F32, &[2049, 32, 3]));
    out
}

fn instance_cases() -> Vec<Case> {
    let eps = [("eps", Attribute::Float(1e-5))];
    let mut out = Vec::new();
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        out.push(case("InstanceNorm", &eps, element, &[2, 3, 5, 7]));
        out.push(case("InstanceNorm", &eps, element, &[1, 2, 64, 80]));
    }
    out.push(case("InstanceNorm", &eps, ElementType::F32, &[2, 3, 0]));
    out.push(case("InstanceNorm", &eps, ElementType::F32, &[1, 2, 3, 4, 5]));
    // A channel of one value is its beta.
    let flat = Case::new("InstanceNorm", &eps).fill(ElementType::F32, &[2, 3, 113], Fill::Values(vec![1234.0]));
    out.push(flat.input(ElementType::F32, &[3]).input(ElementType::F32, &[3]));
    out
}
