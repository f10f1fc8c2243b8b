//! BatchNorm, in its form for inference.

use super::channels::check;
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count};
use crate::{Result, attributes};

attributes! {
    /// (x - mean) / sqrt(var + eps) * gamma + beta with a number a channel: x [N, C, ..], gamma, beta, mean, var [C].
    pub struct BatchNorm { eps: f64 = 1e-5 }
}

crate::entries!(BatchNorm: cases);

impl Operator for BatchNorm {
    fn name(&self) -> &'static str {
        "BatchNorm"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        check(ins, &["gamma", "beta", "mean", "var"])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let vector = |i: usize| at.input(i).map(Tensor::to_f64);
        let (gamma, beta, mean, variance) = (vector(1)?, vector(2)?, vector(3)?, vector(4)?);
        let (channels, inner) = (x.dims()[1], element_count(&x.dims()[2..]));
        let mut y = x.to_f64();
        for (i, v) in y.iter_mut().enumerate() {
            let c = i / inner % channels;
            *v = (*v - mean[c]) / (variance[c] + self.eps).sqrt() * gamma[c] + beta[c];
        }
        Ok(vec![Tensor::from_f64(x.ty().clone(), &y)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let (inner, piece) = (element_count(&ty.dims[2..]), 16 / ty.element.bytes());
        let vec = if inner.is_multiple_of(piece) { piece } else { 1 };
        let count = ty.elements() / vec;
        let [x, gamma, beta, mean, variance] = [0, 1, 2, 3, 4].map(|i| at.input(i));
        let y = at.output(0);
        at.dispatch(kernel::batch_norm(ty.element.name())?)
            .read("x", x)
            .read("gamma", gamma)
            .read("beta", beta)
            .read("mean", mean)
            .read("variance", variance)
            .write("y", y)
            .uint("count", count)
            .uint("plane_steps", inner / vec)
            .uint("channels", ty.dims[1])
            .float("eps", self.eps)
            .spec("VEC", vec as u32)
            .threads(count)
    }
    fn in_place(&self, _ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }
}

fn cases() -> Vec<Case> {
    let eps = [("eps", Attribute::Float(1e-5))];
    let mut out = Vec::new();
    let mut add = |element, dims: &[usize]| {
        let channels = [dims[1]];
        let mut case = Case::new("BatchNorm", &eps).input(element, dims);
        for _ in 0..3 {
            case = case.input(element, &channels);
        }
        out.push(case.fill(element, &channels, Fill::Range(0.1, 3.0)));
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        add(element, &[2, 3, 5, 7]);
        add(element, &[3, 5, 16]);
        add(element, &[4, 113]);
    }
    add(ElementType::F32, &[0, 3, 2]);
    add(ElementType::F32, &[2, 3, 4, 5, 6]);
    add(ElementType::F32, &[1, 2, 1448, 1449]);
    out
}
