//! Functions of two elements: arithmetic, comparisons, logic.

use super::broadcast::{Map, in_place, walk};
use super::function::Function;
use crate::ops::{AttributeReader, Attributes, Case, Entry, Fill, Inputs, Lowering, Operator, Reference, share};
use crate::tensor::{ElementType, Tensor, TensorType, broadcast};
use crate::{Result, ensure};

/// y = f(a, b) of the operands' type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binary {
    pub function: Function,
}

/// y = a ? b, a bool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compare {
    pub function: Function,
}

/// And, Or, Xor of bools.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logical {
    pub function: Function,
}

macro_rules! binary_entries {
    ($($ty:ident: $($name:ident),*);*) => {
        pub const ENTRIES: &[Entry] = &[$($(Entry {
            name: stringify!($name),
            build: |name, attributes| {
                AttributeReader::new(name, attributes).finish()?;
                Ok(share($ty { function: Function::$name }))
            },
            cases: || cases(stringify!($name), &|e| takes(Function::$name, e)),
        }),*),*];
    };
}
binary_entries!(
    Binary: Add, Sub, Mul, Div, Max, Min, Pow, Mod, FMod, Atan2, BitAnd, BitOr, BitXor, Shl, Shr, PRelu;
    Compare: Eq, Ne, Lt, Le, Gt, Ge;
    Logical: And, Or, Xor
);

fn takes(function: Function, element: ElementType) -> bool {
    use Function::*;
    match function {
        And | Or | Xor => element == ElementType::Bool,
        BitAnd | BitOr | BitXor | Shl | Shr => element.is_integer(),
        Atan2 | PRelu => element.is_float(),
        Eq | Ne => element.is_float() || element.is_integer() || element == ElementType::Bool,
        _ => element.is_float() || element.is_integer(),
    }
}

fn infer(function: Function, ins: &Inputs<TensorType>) -> Result<TensorType> {
    ins.expect(2..=2)?;
    let (a, b) = (ins.get(0)?, ins.get(1)?);
    ensure!(a.element == b.element, InvalidGraph, "operands are {} and {}", a.element, b.element);
    ensure!(takes(function, a.element), InvalidGraph, "does not take {}", a.element);
    Ok(TensorType::new(a.element, broadcast(&[&a.dims, &b.dims])?))
}

fn float(function: Function, a: f64, b: f64) -> f64 {
    use Function::*;
    match function {
        Add => a + b,
        Sub => a - b,
        Mul => a * b,
        Div => a / b,
        Max => {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                a.max(b)
            }
        }
        Min => {
            if a.is_nan() || b.is_nan() {
                f64::NAN
            } else {
                a.min(b)
            }
        }
        Pow => a.powf(b),
        FMod => a % b,
        Mod => match a % b {
            0.0 => 0f64.copysign(b),
            r if (r < 0.0) != (b < 0.0) => r + b,
            r => r,
        },
        Atan2 => a.atan2(b),
        PRelu => {
            if a < 0.0 {
                a * b
            } else {
                a
            }
        }
        _ => unreachable!("{function:?} is not a float function"),
    }
}

fn power(base: i128, exponent: i128) -> i128 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, e) => {
            if e % 2 == 0 {
                1
            } else {
                -1
            }
        }
        (_, e) if e < 0 => 0,
        _ => {
            // Wraps: the store keeps the low bits, and so may every product.
            let (mut v, mut b, mut e) = (1i128, base, exponent);
            while e > 0 {
                if e & 1 == 1 {
                    v = v.wrapping_mul(b);
                }
                b = b.wrapping_mul(b);
                e >>= 1;
            }
            v
        }
    }
}

fn integer(function: Function, a: i128, b: i128, element: ElementType) -> i128 {
    use Function::*;
    let bits = 8 * element.bytes() as i128;
    match function {
        Add => a + b,
        Sub => a - b,
        Mul => a.wrapping_mul(b),
        Div => {
            if b == 0 {
                0
            } else {
                a / b
            }
        }
        Max => a.max(b),
        Min => a.min(b),
        Pow => power(a, b),
        FMod => {
            if b == 0 {
                0
            } else {
                a % b
            }
        }
        Mod => match if b == 0 { 0 } else { a % b } {
            0 => 0,
            r if (r < 0) != (b < 0) => r + b,
            r => r,
        },
        BitAnd | And => a & b,
        BitOr | Or => a | b,
        BitXor | Xor => a ^ b,
        Shl => {
            if (0..bits).contains(&b) {
                a << b
            } else {
                0
            }
        }
        Shr => match (0..bits).contains(&b) {
            true => a >> b,
            false => {
                if a < 0 {
                    -1
                } else {
                    0
                }
            }
        },
        _ => unreachable!("{function:?} is not an integer function"),
    }
}

fn reference(function: Function, at: &Reference) -> Result<Tensor> {
    let (a, b, ty) = (at.input(0)?, at.input(1)?, at.output_type(0).clone());
    let shapes: [&[usize]; 2] = [a.dims(), b.dims()];
    if a.element().is_float() {
        let (x, z, mut y) = (a.to_f64(), b.to_f64(), vec![0.0; ty.elements()]);
        walk(&shapes, &ty.dims, |i, [j, k, _]| y[i] = float(function, x[j], z[k]));
        return Ok(Tensor::from_f64(ty, &y));
    }
    let (x, z, mut y) = (a.to_i128(), b.to_i128(), vec![0; ty.elements()]);
    walk(&shapes, &ty.dims, |i, [j, k, _]| y[i] = integer(function, x[j], z[k], ty.element));
    Ok(Tensor::from_i128(ty, &y))
}

impl Operator for Binary {
    fn name(&self) -> &'static str {
        self.function.text()
    }
    fn attributes(&self) -> Attributes {
        Attributes::new()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        let y = infer(self.function, ins)?;
        let slope_fits = self.function != Function::PRelu || y.dims == ins.get(0)?.dims;
        ensure!(slope_fits, InvalidGraph, "the slope {} does not broadcast to x {}", ins.get(1)?, ins.get(0)?);
        Ok(vec![y])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        Ok(vec![reference(self.function, at)?])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        Map::function(self.function, 2, at.input_type(0).element, false)?.lower(at)
    }
    fn in_place(&self, ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        in_place(ins)
    }
}

impl Operator for Compare {
    fn name(&self) -> &'static str {
        self.function.text()
    }
    fn attributes(&self) -> Attributes {
        Attributes::new()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        Ok(vec![infer(self.function, ins)?.with_element(ElementType::Bool)])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (a, b, ty) = (at.input(0)?, at.input(1)?, at.output_type(0).clone());
        let mut y = vec![0i128; ty.elements()];
        let shapes: [&[usize]; 2] = [a.dims(), b.dims()];
        if a.element().is_float() {
            let (x, z) = (a.to_f64(), b.to_f64());
            walk(&shapes, &ty.dims, |i, [j, k, _]| y[i] = compare(self.function, &x[j], &z[k]).into());
        } else {
            let (x, z) = (a.to_i128(), b.to_i128());
            walk(&shapes, &ty.dims, |i, [j, k, _]| y[i] = compare(self.function, &x[j], &z[k]).into());
        }
        Ok(vec![Tensor::from_i128(ty, &y)])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        Map::function(self.function, 2, at.input_type(0).element, true)?.lower(at)
    }
}

fn compare<T: PartialOrd>(function: Function, a: &T, b: &T) -> bool {
    match function {
        Function::Eq => a == b,
        Function::Ne => a != b,
        Function::Lt => a < b,
        Function::Le => a <= b,
        Function::Gt => a > b,
        _ => a >= b,
    }
}

impl Operator for Logical {
    fn name(&self) -> &'static str {
        self.function.text()
    }
    fn attributes(&self) -> Attributes {
        Attributes::new()
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        Ok(vec![infer(self.function, ins)?])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        Ok(vec![reference(self.function, at)?])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        Map::function(self.function, 2, ElementType::Bool, false)?.lower(at)
    }
    fn in_place(&self, ins: &Inputs<TensorType>) -> Vec<(usize, usize)> {
        in_place(ins)
    }
}

fn cases(name: &str, takes: &dyn Fn(ElementType) -> bool) -> Vec<Case> {
    let all = ["f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"];
    let shapes: [(&[usize], &[usize]); 7] = [
        (&[5, 29], &[5, 29]),
        (&[0, 3], &[1, 3]),
        (&[], &[7]),
        (&[2, 1, 5, 3], &[3, 1, 3]),
        (&[3, 1, 2, 1, 2, 1, 2, 3], &[1, 2, 1, 2, 1, 2, 1, 3]),
        (&[1031], &[]),
        (&[65537, 3], &[65537, 1]),
    ];
    let mut out = Vec::new();
    for element in all.iter().filter_map(|n| ElementType::from_name(n).ok()).filter(|&e| takes(e)) {
        for (i, (a, b)) in shapes.iter().enumerate() {
            // Shapes do not depend on the type: all of them for f32, the usual ones for the others.
            let skipped = match i {
                0 | 2 => false,
                6 => element != ElementType::F32 || name != "Add",
                _ => element != ElementType::F32 && name != "Add",
            };
            if skipped || name == "PRelu" && !matches!(i, 0 | 5) {
                continue;
            }
            let fill = |right: bool| match name {
                "Pow" if element.is_float() => {
                    if right {
                        Fill::Range(-3.0, 3.0)
                    } else {
                        Fill::Range(0.1, 9.0)
                    }
                }
                "Pow" if right => Fill::Range(0.0, 9.0),
                "Shl" | "Shr" if right => Fill::Range(0.0, 9.0),
                // Quotients near whole numbers decide by the inputs' rounding alone.
                "Div" | "Mod" | "FMod" if right && element.is_float() => Fill::Range(0.5, 4.0),
                _ if element.is_float() => Fill::Range(-4.0, 4.0),
                _ => Fill::Any,
            };
            out.push(Case::new(name, &[]).fill(element, a, fill(false)).fill(element, b, fill(true)));
        }
    }
    out
}
