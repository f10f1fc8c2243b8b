//! Functions of one element.

use super::broadcast::{Map, in_place};
use super::function::Function;
use super::special::{erf, gelu, gelu_tanh, sigmoid, silu, softplus};
use crate::ops::{Attributes, Case, Entry, Fill, Inputs, Lowering, Operator, Reference, share};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, ensure};

/// y = f(x).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unary {
    pub function: Function,
}

macro_rules! unary_entries {
    ($($name:ident),*) => {
        pub const ENTRIES: &[Entry] = &[$(Entry {
            name: stringify!($name),
            build: |name, attributes| {
                crate::ops::AttributeReader::new(name, attributes).finish()?;
                Ok(share(Unary { function: Function::$name }))
            },
            cases: || cases(stringify!($name), Function::$name),
        }),*];
    };
}
unary_entries!(
    Neg,
    Abs,
    Sign,
    Floor,
    Ceil,
    Round,
    Trunc,
    Recip,
    Sqrt,
    Rsqrt,
    Exp,
    Expm1,
    Log,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Asinh,
    Acosh,
    Atanh,
    Erf,
    Sigmoid,
    Relu,
    Gelu,
    GeluTanh,
    GeluQuick,
    Silu,
    Softplus,
    Mish,
    HardSigmoid,
    HardSwish,
    Softsign,
    LogSigmoid,
    Not,
    BitNot,
    IsNan,
    IsInf
);

impl Unary {
    fn takes(self, element: ElementType) -> bool {
        match self.function {
            Function::Not => element == ElementType::Bool,
            Function::BitNot => element.is_integer(),
            Function::Neg | Function::Abs | Function::Sign | Function::Relu => element.is_float() || element.is_integer(),
            _ => element.is_float(),
        }
    }

    fn gives_bool(self) -> bool {
        matches!(self.function, Function::IsNan | Function::IsInf)
    }

    fn float(self, x: f64) -> f64 {
        use Function::*;
        match self.function {
            Neg => -x,
            Abs => x.abs(),
            Sign => {
                if x.is_nan() || x == 0.0 {
                    x
                } else {
                    x.signum()
                }
            }
            Floor => x.floor(),
            Ceil => x.ceil(),
            Round => x.round_ties_even(),
            Trunc => x.trunc(),
            Recip => 1.0 / x,
            Sqrt => x.sqrt(),
            Rsqrt => 1.0 / x.sqrt(),
            Exp => x.exp(),
            Expm1 => x.exp_m1(),
            Log => x.ln(),
            Log1p => x.ln_1p(),
            Sin => x.sin(),
            Cos => x.cos(),
            Tan => x.tan(),
            Asin => x.asin(),
            Acos => x.acos(),
            Atan => x.atan(),
            Sinh => x.sinh(),
            Cosh => x.cosh(),
            Tanh => x.tanh(),
            Asinh => asinh(x),
            Acosh => x.acosh(),
            Atanh => x.atanh(),
            Erf => erf(x),
            Sigmoid => sigmoid(x),
            Relu => {
                if x.is_nan() {
                    x
                } else {
                    x.max(0.0)
                }
            }
            Gelu => gelu(x),
            GeluTanh => gelu_tanh(x),
            GeluQuick => x * sigmoid(1.702 * x),
            Silu => silu(x),
            Softplus => softplus(x),
            Mish => x * softplus(x).tanh(),
            HardSigmoid => (x / 6.0 + 0.5).clamp(0.0, 1.0),
            HardSwish => x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
            Softsign => x / (1.0 + x.abs()),
            LogSigmoid => -softplus(-x),
            _ => unreachable!("{:?} is not a float function", self.function),
        }
    }

    fn integer(self, x: i128, element: ElementType) -> i128 {
        match self.function {
            Function::Neg => -x,
            Function::Abs => x.abs(),
            Function::Sign => x.signum(),
            Function::Relu => x.max(0),
            Function::Not => i128::from(x == 0),
            Function::BitNot if element.is_signed_integer() => !x,
            _ => element.integer_range().1 - x,
        }
    }
}

/// The standard library's asinh loses digits near 0.
fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let v = if a > 1e100 { a.ln() + std::f64::consts::LN_2 } else { (a + a * a / (1.0 + (1.0 + a * a).sqrt())).ln_1p() };
    v.copysign(x)
}

impl Operator for Unary {
    fn name(&self) -> &'static str {
        self.function.text()
    }

    fn attributes(&self) -> Attributes {
        Attributes::new()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        ensure!(self.takes(x.element), InvalidGraph, "does not take {}", x.element);
        Ok(vec![if self.gives_bool() { x.with_element(ElementType::Bool) } else { x.clone() }])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, ty) = (at.input(0)?, at.output_type(0).clone());
        if !x.element().is_float() {
            let values: Vec<i128> = x.to_i128().into_iter().map(|v| self.integer(v, x.element())).collect();
            return Ok(vec![Tensor::from_i128(ty, &values)]);
        }
        let values: Vec<f64> = match self.function {
            Function::IsNan => x.to_f64().into_iter().map(|v| f64::from(u8::from(v.is_nan()))).collect(),
            Function::IsInf => x.to_f64().into_iter().map(|v| f64::from(u8::from(v.is_infinite()))).collect(),
            _ => x.to_f64().into_iter().map(|v| self.float(v)).collect(),
        };
        Ok(vec![Tensor::from_f64(ty, &values)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        Map::function(self.function, 1, at.input_type(0).element, self.gives_bool())?.lower(at)
    }

    fn in_place(&self, ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        if self.gives_bool() { Vec::new() } else { in_place(ins) }
    }
}

/// Values where implementations go wrong.
pub const EDGES: [f64; 24] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.5,
    -2.5,
    13.24,
    -13.24,
    20.625,
    -20.625,
    100.0,
    -100.0,
    1e4,
    -1e4,
    1e-5,
    -1e-5,
    65000.0,
    -65000.0,
    0.999,
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
];

fn cases(name: &str, function: Function) -> Vec<Case> {
    let operator = Unary { function };
    let all = ["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"];
    let elements = all.iter().filter_map(|n| ElementType::from_name(n).ok()).filter(|&e| operator.takes(e));
    let mut out = Vec::new();
    for element in elements {
        let all: &[&[usize]] = if element == ElementType::F32 { &[&[0], &[], &[1025], &[29, 37]] } else { &[&[29, 37]] };
        for &dims in all {
            let fill = match function {
                Function::Asin | Function::Acos | Function::Atanh => Fill::Range(-0.99, 0.99),
                Function::Acosh => Fill::Range(1.0, 9.0),
                Function::Log | Function::Sqrt | Function::Rsqrt => Fill::Range(0.01, 9.0),
                // A pole needs its neighbourhood left out: there the input's own rounding decides.
                Function::Tan => Fill::Range(-1.4, 1.4),
                _ if element.is_float() => Fill::Range(-6.0, 6.0),
                _ => Fill::Any,
            };
            out.push(Case::new(name, &[]).fill(element, dims, fill));
        }
        if element.is_float() {
            out.push(Case::new(name, &[]).fill(element, &[EDGES.len(), 1], Fill::Values(EDGES.to_vec())));
        }
    }
    out
}
