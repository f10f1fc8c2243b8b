//! Norms of rows: LayerNorm, RmsNorm, and both after a residual addition.

use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count, list_text, normalize_axis};
use crate::{Result, attributes, ensure};

attributes! {
    /// (x - mean) / sqrt(variance + eps) * gamma (+ beta) over the axes from `axis` on; the variance is the biased one.
    pub struct LayerNorm { axis: i64 = -1, eps: f64 = 1e-5 }
}
attributes! {
    /// x / sqrt(mean(x^2) + eps) * gamma (+ beta) over the axes from `axis` on.
    pub struct RmsNorm { axis: i64 = -1, eps: f64 = 1e-5 }
}
attributes! {
    /// sum = x + residual (+ bias); y = LayerNorm(sum) of the unrounded sum, over the last axis.
    pub struct ResidualLayerNorm { eps: f64 = 1e-5 }
}
attributes! {
    /// sum = x + residual (+ bias); y = RmsNorm(sum) of the unrounded sum, over the last axis.
    pub struct ResidualRmsNorm { eps: f64 = 1e-5 }
}

crate::entries!(
    LayerNorm: || cases("LayerNorm", false),
    RmsNorm: || cases("RmsNorm", false),
    ResidualLayerNorm: || cases("ResidualLayerNorm", true),
    ResidualRmsNorm: || cases("ResidualRmsNorm", true),
);

/// What the four have in common. Inputs: x, with a residual also residual and an optional bias, then gamma and an optional beta.
struct Rows {
    axis: i64,
    eps: f64,
    center: bool,
    residual: bool,
}

impl Rows {
    fn gamma(&self) -> usize {
        if self.residual { 3 } else { 1 }
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        let gamma = self.gamma();
        ins.expect(gamma + 1..=gamma + 2)?;
        let x = ins.get(0)?;
        ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
        let normed = &x.dims[normalize_axis(self.axis, x.rank())?..];
        if self.residual {
            let residual = ins.get(1)?;
            ensure!(residual == x, InvalidGraph, "x is {x}, the residual {residual}");
        }
        for (i, what) in [(2, "bias"), (gamma, "gamma"), (gamma + 1, "beta")] {
            if i == 2 && !self.residual || i == 2 && gamma == 1 {
                continue;
            }
            let Some(vector) = (if i == gamma { Some(ins.get(i)?) } else { ins.opt(i) }) else { continue };
            ensure!(vector.element == x.element, InvalidGraph, "x is {}, {what} {}", x.element, vector.element);
            ensure!(
                vector.dims == normed,
                InvalidGraph,
                "{what} is {vector}, the normalised axes of x are {normed}",
                normed = list_text(&normed)
            );
        }
        Ok(if self.residual { vec![x.clone(), x.clone()] } else { vec![x.clone()] })
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let len = element_count(&x.dims()[normalize_axis(self.axis, x.dims().len())?..]);
        let vector = |i: usize| at.opt(i).map(Tensor::to_f64);
        let (gamma, beta) = (at.input(self.gamma())?.to_f64(), vector(self.gamma() + 1));
        let mut s = x.to_f64();
        if self.residual {
            let (residual, bias) = (at.input(1)?.to_f64(), vector(2));
            for (i, v) in s.iter_mut().enumerate() {
                *v += residual[i] + bias.as_ref().map_or(0.0, |b| b[i % len]);
            }
        }
        let mut y = vec![0.0; s.len()];
        for (s, y) in s.chunks(len.max(1)).zip(y.chunks_mut(len.max(1))) {
            let n = len as f64;
            let mean = if self.center { s.iter().sum::<f64>() / n } else { 0.0 };
            let square = s.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
            for i in 0..len {
                y[i] = (s[i] - mean) / (square + self.eps).sqrt() * gamma[i] + beta.as_ref().map_or(0.0, |b| b[i]);
            }
        }
        let ty = x.ty().clone();
        let mut out = vec![Tensor::from_f64(ty.clone(), &y)];
        if self.residual {
            out.push(Tensor::from_f64(ty, &s));
        }
        Ok(out)
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let ty = at.input_type(0);
        let len = element_count(&ty.dims[normalize_axis(self.axis, ty.rank())?..]);
        let (rows, gamma) = (ty.elements() / len, self.gamma());
        let residual = if self.residual { at.input(1) } else { at.input(0) };
        let bias = if self.residual { at.opt_input(2) } else { at.opt_input(usize::MAX) };
        let sum = at.output(if self.residual { 1 } else { 0 });
        let (x, gamma_in, beta, y) = (at.input(0), at.input(gamma), at.opt_input(gamma + 1), at.output(0));
        let (has_bias, has_beta) = (self.residual && at.has_input(2), at.has_input(gamma + 1));
        let shape = RowShape::new(ty.element, len);
        at.dispatch(kernel::norm_rows(ty.element.name())?)
            .read("x", x)
            .read("residual", residual)
            .read("bias", bias)
            .read("gamma", gamma_in)
            .read("beta", beta)
            .write("y", y)
            .write("sum", sum)
            .uint("rows", rows)
            .uint("len", len)
            .uint("groups", 1)
            .uint("per", len)
            .uint("inner", 1)
            .float("eps", self.eps)
            .spec("CENTER", self.center.into())
            .spec("RESIDUAL", self.residual.into())
            .spec("BIAS", has_bias.into())
            .spec("BETA", has_beta.into())
            .spec("HELD", shape.held)
            .spec("VEC", shape.vec)
            .spec("LANES", shape.lanes)
            .groups(shape.groups(rows))
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        ins.opt(0).and_then(|x| Some(element_count(&x.dims[normalize_axis(self.axis, x.rank()).ok()?..]))).unwrap_or(1)
    }
}

/// How the kernel `norm_rows` goes over rows of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowShape {
    /// Elements that are loaded at once: those of 16 bytes, where rows start at multiples of 16 bytes, else 1.
    pub vec: u32,
    /// Invocations a row.
    pub lanes: u32,
    /// Loads whose elements an invocation keeps: all, for rows of up to 8192 elements (4096, where they are loaded one by one).
    pub held: u32,
}

impl RowShape {
    pub fn new(element: ElementType, len: usize) -> Self {
        let piece = 16 / element.bytes();
        let vec = if len.is_multiple_of(piece) { piece } else { 1 };
        let steps = len / vec;
        let lanes = steps.next_power_of_two().clamp(8, 256);
        let most = if vec == 1 { 16 } else { 32 / vec };
        let held = steps.div_ceil(lanes).next_power_of_two().clamp(1, most);
        Self { vec: vec as u32, lanes: lanes as u32, held: held as u32 }
    }

    /// Workgroups for so many rows.
    pub fn groups(self, rows: usize) -> usize {
        rows.div_ceil(256 / self.lanes as usize)
    }
}

macro_rules! rows_operator {
    ($name:ident, |$op:ident| $rows:expr) => {
        impl $name {
            fn rows(&self) -> Rows {
                let $op = self;
                $rows
            }
        }
        impl Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> Attributes {
                self.to_attributes()
            }
            fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
                self.rows().infer(ins)
            }
            fn output_count(&self, _inputs: usize) -> usize {
                if self.rows().residual { 2 } else { 1 }
            }
            fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
                self.rows().reference(at)
            }
            fn lower(&self, at: &mut Lowering) -> Result<()> {
                self.rows().lower(at)
            }
            fn terms(&self, ins: &Inputs<TensorType>) -> usize {
                self.rows().terms(ins)
            }
        }
    };
}
rows_operator!(LayerNorm, |op| Rows { axis: op.axis, eps: op.eps, center: true, residual: false });
rows_operator!(RmsNorm, |op| Rows { axis: op.axis, eps: op.eps, center: false, residual: false });
rows_operator!(ResidualLayerNorm, |op| Rows { axis: -1, eps: op.eps, center: true, residual: true });
rows_operator!(ResidualRmsNorm, |op| Rows { axis: -1, eps: op.eps, center: false, residual: true });

fn cases(name: &str, residual: bool) -> Vec<Case> {
    let mut out = Vec::new();
    let eps = [("eps", Attribute::Float(1e-5))];
    let with = |case: Case, element, dims: &[usize], bias: bool, beta: bool| {
        let len = [*dims.last().expect("rows have a length")];
        let mut case = case.input(element, dims);
        if residual {
            case = case.input(element, dims);
            case = if bias { case.input(element, &len) } else { case.none() };
        }
        case = case.input(element, &len);
        if beta { case.input(element, &len) } else { case }
    };
    for element in [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64] {
        for (i, dims) in [&[0usize, 5][..], &[1], &[7, 113], &[2, 3, 256], &[3, 257], &[2, 5000]].into_iter().enumerate() {
            out.push(with(Case::new(name, &eps), element, dims, i % 2 == 0, i % 3 == 0));
        }
    }
    out.push(with(Case::new(name, &eps), ElementType::F32, &[65537, 3], true, true));
    for value in [1e18, 1e19, 1e25, 1e-25] {
        let row = Fill::Values(vec![value]);
        let case = Case::new(name, &eps);
        if name == "RmsNorm" {
            out.push(case.fill(ElementType::F32, &[2, 512], row).fill(ElementType::F32, &[512], Fill::Values(vec![1.0])));
        }
    }
    for element in [ElementType::F32, ElementType::F16] {
        out.push(with(Case::new(name, &eps), element, &[3, 20000], false, true));
        out.push(with(Case::new(name, &eps), element, &[33, 64], true, true));
    }
    if name == "RmsNorm" {
        let none = [("eps", Attribute::Float(0.0))];
        out.push(
            Case::new(name, &none).fill(ElementType::F32, &[2, 512], Fill::Values(vec![1e-25])).input(ElementType::F32, &[512]),
        );
    }
    if name == "LayerNorm" {
        let row = (0..16).map(|i| 10000.0 + f64::from(i) * 1e-3).collect();
        out.push(Case::new(name, &eps).fill(ElementType::F32, &[1, 16], Fill::Values(row)).input(ElementType::F32, &[16]));
        out.push(
            Case::new(name, &eps).fill(ElementType::F32, &[1, 256], Fill::Values(vec![1234.0])).input(ElementType::F32, &[256]),
        );
        out.push(
            Case::new(name, &[("axis", Attribute::Int(1))]).input(ElementType::F32, &[3, 4, 5]).input(ElementType::F32, &[4, 5]),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_cut_by_their_length() {
        let shape = |element, len| {
            let s = RowShape::new(element, len);
            (s.vec, s.lanes, s.held)
        };
        assert_eq!(shape(ElementType::F32, 3), (1, 8, 1));
        assert_eq!(shape(ElementType::F32, 4096), (4, 256, 4));
        assert_eq!(shape(ElementType::F16, 4096), (8, 256, 2));
        assert_eq!(shape(ElementType::F32, 4097), (1, 256, 16));
        assert_eq!(shape(ElementType::F64, 100_000), (2, 256, 16));
        assert_eq!(RowShape::new(ElementType::F32, 3).groups(65537), 2049);
    }
}
