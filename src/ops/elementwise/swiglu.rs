//! SwiGlu and its kin: act(gate) * up.

use super::special::{gelu, gelu_tanh, silu};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    pub enum GateActivation { Silu = "Silu", Gelu = "Gelu", GeluTanh = "GeluTanh" }
}

attributes! {
    /// act(gate) * up, of two tensors of one shape, or of the halves of the last axis of one.
    pub struct SwiGlu {
        /// Packed: the gate is the first half.
        gate_first: bool = true,
        act: GateActivation = GateActivation::Silu,
    }
}

crate::entries!(SwiGlu: cases);

impl Operator for SwiGlu {
    fn name(&self) -> &'static str {
        "SwiGlu"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=2)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
        if let Some(up) = ins.opt(1) {
            ensure!(up == x, InvalidGraph, "gate is {x}, up is {up}");
            return Ok(vec![x.clone()]);
        }
        ensure!(x.rank() > 0 && x.last() % 2 == 0, InvalidGraph, "the last axis of packed {x} has no halves");
        let mut dims = x.dims.clone();
        dims[x.rank() - 1] /= 2;
        Ok(vec![x.with_dims(dims)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, ty) = (at.input(0)?, at.output_type(0).clone());
        let act = match self.act {
            GateActivation::Silu => silu,
            GateActivation::Gelu => gelu,
            GateActivation::GeluTanh => gelu_tanh,
        };
        let first = x.to_f64();
        let values: Vec<f64> = match at.opt(1) {
            Some(up) => first.iter().zip(up.to_f64()).map(|(&g, u)| act(g) * u).collect(),
            None => {
                let n = ty.last();
                let (g, u) = if self.gate_first { (0, n) } else { (n, 0) };
                (0..ty.elements()).map(|i| 2 * n * (i / n) + i % n).map(|i| act(first[i + g]) * first[i + u]).collect()
            }
        };
        Ok(vec![Tensor::from_f64(ty, &values)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (ty, packed) = (at.output_type(0), !at.has_input(1));
        let (width, count) = (ty.last(), ty.elements());
        let stride = if packed { 2 * width } else { width };
        let (gate, up, y) = (at.input(0), if packed { at.input(0) } else { at.input(1) }, at.output(0));
        let starts = match (packed, self.gate_first) {
            (false, _) => (0, 0),
            (true, true) => (0, width),
            (true, false) => (width, 0),
        };
        // Whole rows a dispatch, so that element numbers stay below 2^31 in the packed tensor too.
        let (bytes, rows) = (ty.element.bytes(), count / width);
        let step = ((1 << 29) / width).max(1);
        for row in (0..rows).step_by(step) {
            let n = step.min(rows - row);
            let part = |r: crate::ops::Operand, s: usize| r.part(row * s * bytes, n * s * bytes);
            at.dispatch(kernel::swiglu(ty.element.name())?)
                .read("gate", part(gate, stride))
                .read("up", part(up, stride))
                .write("y", part(y, width))
                .uint("count", n * width)
                .uint("width", width)
                .uint("gate_stride", stride)
                .uint("up_stride", stride)
                .uint("gate_start", starts.0)
                .uint("up_start", starts.1)
                .spec("ACT", self.act as u32)
                .groups((n * width).div_ceil(1024))?;
        }
        Ok(())
    }
    fn in_place(&self, ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        if ins.opt(1).is_some() { vec![(0, 0), (0, 1)] } else { Vec::new() }
    }
}

fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        for act in GateActivation::ALL {
            let act = ("act", Attribute::Text(act.text().into()));
            out.push(Case::new("SwiGlu", std::slice::from_ref(&act)).input(element, &[5, 29]).input(element, &[5, 29]));
            out.push(Case::new("SwiGlu", std::slice::from_ref(&act)).input(element, &[3, 7, 22]));
            out.push(Case::new("SwiGlu", &[("gate_first", Attribute::Int(0)), act]).input(element, &[65, 34]));
        }
        out.push(Case::new("SwiGlu", &[]).input(element, &[0, 4]));
        out.push(Case::new("SwiGlu", &[]).input(element, &[65537, 2]));
    }
    out
}
