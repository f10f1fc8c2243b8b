//! Fma and Clip.

use super::broadcast::{Map, in_place, walk};
use super::function::Function;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, broadcast};
use crate::{Result, attributes, ensure};

attributes! {
    /// a * b + c, broadcast.
    pub struct Fma {}
}
attributes! {
    /// min(max(x, min), max). For integers min is rounded up and max down, both limited to the type's range. min > max gives max; NaN stays NaN.
    pub struct Clip { min: Option<f64>, max: Option<f64> }
}

crate::entries!(Fma: fma_cases, Clip: clip_cases);

fn is_number(element: ElementType) -> bool {
    element.is_float() || element.is_integer()
}

impl Operator for Fma {
    fn name(&self) -> &'static str {
        "Fma"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (a, b, c) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        let same = a.element == b.element && b.element == c.element;
        ensure!(same, InvalidGraph, "operands are {}, {} and {}", a.element, b.element, c.element);
        ensure!(is_number(a.element), InvalidGraph, "takes numbers, not {}", a.element);
        Ok(vec![TensorType::new(a.element, broadcast(&[&a.dims, &b.dims, &c.dims])?)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (a, b, c, ty) = (at.input(0)?, at.input(1)?, at.input(2)?, at.output_type(0).clone());
        let shapes: [&[usize]; 3] = [a.dims(), b.dims(), c.dims()];
        if ty.element.is_float() {
            let (a, b, c, mut y) = (a.to_f64(), b.to_f64(), c.to_f64(), vec![0.0; ty.elements()]);
            walk(&shapes, &ty.dims, |i, [j, k, l]| y[i] = a[j] * b[k] + c[l]);
            return Ok(vec![Tensor::from_f64(ty, &y)]);
        }
        let (a, b, c, mut y) = (a.to_i128(), b.to_i128(), c.to_i128(), vec![0; ty.elements()]);
        walk(&shapes, &ty.dims, |i, [j, k, l]| y[i] = a[j].wrapping_mul(b[k]).wrapping_add(c[l]));
        Ok(vec![Tensor::from_i128(ty, &y)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        Map::function(Function::Fma, 3, at.input_type(0).element, false)?.lower(at)
    }
    fn in_place(&self, ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        in_place(ins)
    }
}

impl Clip {
    /// The bounds as scalars of the type.
    fn bounds(&self, element: ElementType) -> [Tensor; 2] {
        let ty = TensorType::new(element, []);
        if element.is_float() {
            return [self.min.unwrap_or(f64::NEG_INFINITY), self.max.unwrap_or(f64::INFINITY)]
                .map(|v| Tensor::from_f64(ty.clone(), &[v]));
        }
        let (least, most) = element.integer_range();
        let whole = |v: f64| (v as i128).clamp(least, most);
        let low = self.min.map_or(least, |v| whole(v.ceil()));
        let high = self.max.map_or(most, |v| whole(v.floor()));
        [low, high].map(|v| Tensor::from_i128(ty.clone(), &[v]))
    }
}

impl Operator for Clip {
    fn name(&self) -> &'static str {
        "Clip"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(is_number(x.element), InvalidGraph, "takes numbers, not {}", x.element);
        for (name, bound) in [("min", self.min), ("max", self.max)] {
            ensure!(!bound.is_some_and(f64::is_nan), InvalidGraph, "{name} is NaN");
        }
        Ok(vec![x.clone()])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let [low, high] = self.bounds(x.element());
        if x.element().is_float() {
            let (low, high) = (low.to_f64()[0], high.to_f64()[0]);
            let clip = |v: f64| {
                let v = if v < low { low } else { v };
                if v > high { high } else { v }
            };
            return Ok(vec![Tensor::from_f64(x.ty().clone(), &x.to_f64().into_iter().map(clip).collect::<Vec<_>>())]);
        }
        let (low, high) = (low.to_i128()[0], high.to_i128()[0]);
        let values: Vec<i128> = x.to_i128().into_iter().map(|v| v.max(low).min(high)).collect();
        Ok(vec![Tensor::from_i128(x.ty().clone(), &values)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let x = at.input_type(0);
        let bounds = self.bounds(x.element).map(|b| {
            let mut bytes = b.bytes().to_vec();
            bytes.resize(16, 0);
            at.constants(bytemuck::pod_collect_to_vec::<u8, u32>(&bytes).as_slice())
        });
        let scalar = TensorType::new(x.element, []);
        let operands = [(at.input(0), x), (bounds[0], &scalar), (bounds[1], &scalar)];
        Map::function(Function::Clip, 3, x.element, false)?.lower_over(at, &operands)
    }
    fn in_place(&self, ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        in_place(ins)
    }
}

const ELEMENTS: [ElementType; 12] = {
    use ElementType::*;
    [F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U16, U32, U64]
};

fn fma_cases() -> Vec<Case> {
    let mut out = Vec::new();
    for element in ELEMENTS {
        for (a, b, c) in [(&[5usize, 29][..], &[5usize, 29][..], &[5usize, 29][..]), (&[2, 1, 3], &[4, 1], &[3]), (&[0], &[1], &[])]
        {
            out.push(Case::new("Fma", &[]).input(element, a).input(element, b).input(element, c));
        }
    }
    out
}

fn clip_cases() -> Vec<Case> {
    let mut out = Vec::new();
    let float = Attribute::Float;
    for element in ELEMENTS {
        for list in [
            vec![("min", float(-0.5)), ("max", float(0.5))],
            vec![("min", float(2.0)), ("max", float(1.0))],
            vec![("max", float(0.25))],
            vec![],
        ] {
            out.push(Case::new("Clip", &list).input(element, &[29, 37]));
        }
        if element.is_float() {
            let values = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0];
            out.push(Case::new("Clip", &[("min", float(-1.0))]).fill(element, &[4, 1], Fill::Values(values)));
        }
    }
    out
}
