//! The functions of shaders/elementwise/elementwise.comp, by the number that selects them.

use crate::attribute_enum;

attribute_enum! {
    /// A function of one, two or three elements. The discriminants are those of the shader.
    pub enum Function {
        Neg = "Neg", Abs = "Abs", Sign = "Sign", Floor = "Floor", Ceil = "Ceil", Round = "Round", Trunc = "Trunc", Recip = "Recip",
        Sqrt = "Sqrt", Rsqrt = "Rsqrt", Exp = "Exp", Expm1 = "Expm1", Log = "Log", Log1p = "Log1p", Sin = "Sin", Cos = "Cos", Tan = "Tan",
        Asin = "Asin", Acos = "Acos", Atan = "Atan", Sinh = "Sinh", Cosh = "Cosh", Tanh = "Tanh", Asinh = "Asinh", Acosh = "Acosh",
        Atanh = "Atanh", Erf = "Erf", Sigmoid = "Sigmoid", Relu = "Relu", Gelu = "Gelu", GeluTanh = "GeluTanh", GeluQuick = "GeluQuick",
        Silu = "Silu", Softplus = "Softplus", Mish = "Mish", HardSigmoid = "HardSigmoid", HardSwish = "HardSwish", Softsign = "Softsign",
        LogSigmoid = "LogSigmoid", Not = "Not", BitNot = "BitNot", IsNan = "IsNan", IsInf = "IsInf",
        LeakyRelu = "LeakyRelu", Elu = "Elu", Celu = "Celu", Selu = "Selu", ThresholdedRelu = "ThresholdedRelu",
        Add = "Add", Sub = "Sub", Mul = "Mul", Div = "Div", Max = "Max", Min = "Min", Pow = "Pow", Mod = "Mod", FMod = "FMod", Atan2 = "Atan2",
        BitAnd = "BitAnd", BitOr = "BitOr", BitXor = "BitXor", Shl = "Shl", Shr = "Shr", PRelu = "PRelu",
        And = "And", Or = "Or", Xor = "Xor",
        Eq = "Eq", Ne = "Ne", Lt = "Lt", Le = "Le", Gt = "Gt", Ge = "Ge",
        Fma = "Fma", Clip = "Clip",
    }
}

impl Function {
    /// The number in the shader: unary from 0, binary from 50, comparisons from 70, ternary from 90.
    pub fn number(self) -> u32 {
        let place = self as u32;
        let from = |first: Function, base: u32| base + place - first as u32;
        match self {
            _ if place < Function::Add as u32 => place,
            _ if place < Function::Eq as u32 => from(Function::Add, 50),
            _ if place < Function::Fma as u32 => from(Function::Eq, 70),
            _ => from(Function::Fma, 90),
        }
    }
}
