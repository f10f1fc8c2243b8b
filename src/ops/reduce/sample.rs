//! Sample: draws a token from each row of logits.

use super::random::{step_key, unit, words};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, OperatorRef, Reference, share};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure, error};

attributes! {
    /// temperature, top_k, softmax, top_p, min_p, then the first kept index whose cumulative probability is above a uniform number.
    pub struct Sample { temperature: f64 = 1.0, top_k: i64 = 0, top_p: f64 = 1.0, min_p: f64 = 0.0, key: i64 = 0 }
}

crate::entries!(Sample: cases);

impl Sample {
    fn key(&self) -> Result<u32> {
        u32::try_from(self.key).map_err(|_| error!(InvalidGraph, "key {} is no u32", self.key))
    }

    fn draw(&self, logits: &[f64], u: f64) -> usize {
        let logits: Vec<f64> = logits.iter().map(|&v| if v.is_nan() { f64::NEG_INFINITY } else { v }).collect();
        let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if most == f64::NEG_INFINITY {
            return 0;
        }
        if self.temperature == 0.0 {
            return logits.iter().position(|&v| v == most).unwrap_or(0);
        }
        let mut order: Vec<usize> = (0..logits.len()).filter(|&i| logits[i] > f64::NEG_INFINITY).collect();
        order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]).then(a.cmp(&b)));
        if self.top_k > 0 {
            order.truncate(self.top_k as usize);
        }
        let mass = |i: usize| if logits[i] == most { 1.0 } else { ((logits[i] - most) / self.temperature).exp() };
        let total: f64 = order.iter().map(|&i| mass(i)).sum();
        let mut sum = 0.0;
        let enough = order.iter().position(|&i| {
            sum += mass(i) / total;
            sum >= self.top_p
        });
        order.truncate(enough.map_or(order.len(), |n| n + 1));
        order.retain(|&i| mass(i) >= self.min_p);
        order.sort_unstable();
        let total: f64 = order.iter().map(|&i| mass(i)).sum();
        let mut sum = 0.0;
        let hit = order.iter().copied().find(|&i| {
            sum += mass(i) / total;
            sum > u
        });
        hit.or(order.last().copied()).unwrap_or(0)
    }
}

impl Operator for Sample {
    fn name(&self) -> &'static str {
        "Sample"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn at_step(&self, step: u32) -> Option<OperatorRef> {
        let key = self.key().map_or(self.key, |key| step_key(key, step).into());
        Some(share(Self { key, ..self.clone() }))
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float() && x.rank() == 2, InvalidGraph, "takes float logits [B,V], not {x}");
        ensure!(x.dims[1] > 0 || x.dims[0] == 0, InvalidGraph, "there is nothing to draw from in {x}");
        ensure!(self.temperature >= 0.0 && self.temperature.is_finite(), InvalidGraph, "a temperature of {}", self.temperature);
        ensure!(self.top_k >= 0, InvalidGraph, "top_k is {}", self.top_k);
        ensure!((0.0..=1.0).contains(&self.top_p), InvalidGraph, "top_p is {}, not in 0..1", self.top_p);
        ensure!((0.0..=1.0).contains(&self.min_p), InvalidGraph, "min_p is {}, not in 0..1", self.min_p);
        self.key()?;
        Ok(vec![TensorType::new(ElementType::I64, [x.dims[0]])])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let (values, width, key) = (x.to_f64(), x.dims()[1], self.key()?);
        let draw = |row: usize| {
            let u = unit(words(at.run, row as u32 / 4, key)[row % 4]);
            self.draw(&values[row * width..][..width], u) as i128
        };
        let drawn: Vec<i128> = (0..x.dims()[0]).map(draw).collect();
        Ok(vec![Tensor::from_i128(at.output_type(0).clone(), &drawn)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, from, to, state) = (at.input_type(0), at.input(0), at.output(0), at.run_state());
        at.dispatch(kernel::sample(x.element.name())?)
            .read("x", from)
            .write("y", to)
            .read("state", state)
            .uint("rows", x.dims[0])
            .uint("len", x.dims[1])
            .uint("top_k", self.top_k.min(i64::from(i32::MAX)) as usize)
            .uint("key", self.key()? as usize)
            .float("temperature", self.temperature)
            .float("top_p", self.top_p)
            .float("min_p", self.min_p)
            .groups(x.dims[0])
    }
    fn is_pure(&self) -> bool {
        false
    }
}

fn cases() -> Vec<Case> {
    let float = Attribute::Float;
    let mut out = Vec::new();
    for list in [
        vec![],
        vec![("temperature", float(0.0))],
        vec![("temperature", float(0.7)), ("top_k", Attribute::Int(5))],
        vec![("top_p", float(0.6))],
        vec![("top_p", float(0.0))],
        vec![("min_p", float(0.2)), ("key", Attribute::Int(3))],
        vec![("top_k", Attribute::Int(40)), ("top_p", float(0.9)), ("min_p", float(0.01))],
    ] {
        for element in [ElementType::F32, ElementType::F16, ElementType::Bf16] {
            // Values far apart, so that rounding decides nothing.
            out.push(Case::new("Sample", &list).fill(element, &[5, 3], Fill::Values(vec![0.5, 2.0, -1.0, 1.25, f64::NAN])));
        }
        out.push(Case::new("Sample", &list).fill(
            ElementType::F32,
            &[3, 300],
            Fill::Values(vec![1.0, 3.0, f64::NEG_INFINITY, 2.0, -4.0, 0.0, 5.0]),
        ));
    }
    out.push(Case::new("Sample", &[]).fill(ElementType::F32, &[2, 4], Fill::Values(vec![f64::NEG_INFINITY])));
    out
}
