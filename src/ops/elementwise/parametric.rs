//! Activations with a parameter: LeakyRelu, Elu, Celu, Selu, ThresholdedRelu.

use super::broadcast::{Map, in_place};
use super::function::Function;
use crate::ops::{Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// x < 0 ? alpha x : x.
    pub struct LeakyRelu { alpha: f64 = 0.01 }
}
attributes! {
    /// x < 0 ? alpha (exp(x) - 1) : x.
    pub struct Elu { alpha: f64 = 1.0 }
}
attributes! {
    /// max(0, x) + min(0, alpha (exp(x / alpha) - 1)).
    pub struct Celu { alpha: f64 = 1.0 }
}
attributes! {
    /// gamma (x <= 0 ? alpha (exp(x) - 1) : x).
    pub struct Selu { alpha: f64 = 1.6732632, gamma: f64 = 1.050701 }
}
attributes! {
    /// x > alpha ? x : 0, and NaN for NaN.
    pub struct ThresholdedRelu { alpha: f64 = 1.0 }
}

crate::entries!(
    LeakyRelu: || cases("LeakyRelu"),
    Elu: || cases("Elu"),
    Celu: || cases("Celu"),
    Selu: || cases("Selu"),
    ThresholdedRelu: || cases("ThresholdedRelu"),
);

macro_rules! parametric {
    ($name:ident, |$op:ident| $floats:expr, |$x:ident| $value:expr) => {
        impl Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> Attributes {
                self.to_attributes()
            }
            fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
                ins.expect(1..=1)?;
                let x = ins.get(0)?;
                ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
                Ok(vec![x.clone()])
            }
            fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
                let x = at.input(0)?;
                let $op = self;
                let values: Vec<f64> = x.to_f64().into_iter().map(|$x| $value).collect();
                Ok(vec![Tensor::from_f64(x.ty().clone(), &values)])
            }
            fn lower(&self, at: &mut Lowering) -> Result<()> {
                let $op = self;
                let mut map = Map::function(Function::$name, 1, at.input_type(0).element, false)?;
                map.floats = Some($floats);
                map.lower(at)
            }
            fn in_place(&self, ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
                in_place(ins)
            }
        }
    };
}
parametric!(LeakyRelu, |op| [op.alpha, 0.0], |x| if x < 0.0 { op.alpha * x } else { x });
parametric!(Elu, |op| [op.alpha, 0.0], |x| if x < 0.0 { op.alpha * x.exp_m1() } else { x });
parametric!(Celu, |op| [op.alpha, 0.0], |x| if x.is_nan() {
    x
} else {
    x.max(0.0) + (op.alpha * (x / op.alpha).exp_m1()).min(0.0)
});
parametric!(Selu, |op| [op.alpha, op.gamma], |x| op.gamma * if x <= 0.0 { op.alpha * x.exp_m1() } else { x });
parametric!(ThresholdedRelu, |op| [op.alpha, 0.0], |x| if x.is_nan() || x > op.alpha { x } else { 0.0 });

fn cases(name: &str) -> Vec<Case> {
    let mut out = Vec::new();
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        for dims in [&[0usize][..], &[1025], &[29, 37]] {
            out.push(Case::new(name, &[]).fill(element, dims, Fill::Range(-4.0, 4.0)));
        }
        let edges = super::unary::EDGES;
        out.push(Case::new(name, &[]).fill(element, &[edges.len(), 1], Fill::Values(edges.to_vec())));
    }
    out
}
