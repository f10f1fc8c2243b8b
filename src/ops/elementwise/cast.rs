//! Cast.

use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attributes, ensure};

attributes! {
    /// x as another type. Floats to integers truncate and saturate, NaN gives 0; integers wrap; to bool: x != 0; to a narrower float: nearest even.
    pub struct Cast { to: ElementType }
}

crate::entries!(Cast: cases);

/// Elements that one dispatch does.
const PART: usize = 1 << 30;

fn is_wide(element: ElementType) -> bool {
    matches!(element, ElementType::F64 | ElementType::I64 | ElementType::U64)
}

fn is_castable(element: ElementType) -> bool {
    !element.is_block() && element != ElementType::C64
}

impl Operator for Cast {
    fn name(&self) -> &'static str {
        "Cast"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(is_castable(x.element) && is_castable(self.to), InvalidGraph, "cannot cast {} to {}", x.element, self.to);
        Ok(vec![x.with_element(self.to)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, ty) = (at.input(0)?, at.output_type(0).clone());
        Ok(vec![match x.element().is_float() {
            true => Tensor::from_f64(ty, &x.to_f64()),
            false => Tensor::from_i128(ty, &x.to_i128()),
        }])
    }
    fn views(&self, ins: &Inputs<TensorType>, _outs: &[TensorType]) -> Vec<Option<(usize, usize)>> {
        vec![ins.opt(0).filter(|x| x.element == self.to).map(|_| (0, 0))]
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, y) = (at.input_type(0), at.output_type(0));
        let wide = is_wide(x.element) || is_wide(y.element);
        let kernel = kernel::cast(if wide { "wide" } else { "narrow" })?;
        let (from, to, count) = (at.input(0), at.output(0), x.elements());
        for start in (0..count).step_by(PART) {
            let n = PART.min(count - start);
            let part = |region: crate::ops::Operand, e: ElementType| region.part(start * e.bytes(), n * e.bytes());
            at.dispatch(kernel)
                .read("x", part(from, x.element))
                .write("y", part(to, y.element))
                .uint("count", n)
                .spec("FROM", x.element as u32)
                .spec("TO", y.element as u32)
                .groups(n.div_ceil(1024))?;
        }
        Ok(())
    }
}

fn cases() -> Vec<Case> {
    use ElementType::*;
    let all = [F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool];
    let edges = [
        0.0,
        -0.0,
        0.5,
        -0.5,
        1.999,
        -1.999,
        127.5,
        -128.9,
        255.0,
        256.0,
        32768.0,
        -32769.0,
        65520.0,
        65519.0,
        16777217.0,
        2147483647.0,
        2147483648.0,
        -2147483649.0,
        4294967296.0,
        9.3e18,
        -9.3e18,
        1.9e19,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1.00048828125,
        3.0e-8,
        1.0000001,
    ];
    let mut out = Vec::new();
    for from in all {
        for to in all {
            let case = || Case::new("Cast", &[("to", Attribute::Text(to.name().into()))]);
            out.push(case().input(from, &[1031]));
            if from.is_float() {
                out.push(case().fill(from, &[edges.len(), 1], Fill::Values(edges.to_vec())));
            }
        }
    }
    out.push(Case::new("Cast", &[("to", Attribute::Text("f16".into()))]).input(F32, &[0, 3]));
    out.push(Case::new("Cast", &[("to", Attribute::Text("f32".into()))]).input(F16, &[65537, 3]));
    out
}
