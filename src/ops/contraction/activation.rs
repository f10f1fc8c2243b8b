//! What a kernel may do to a sum before it is stored.

use crate::attribute_enum;
use crate::ops::elementwise::special::erfc;

attribute_enum! {
    /// The activation in an epilogue; the numbers are those of shaders/contraction/activation.glsl.
    pub enum Activation {
        None = "None",
        Relu = "Relu",
        Gelu = "Gelu",
        GeluTanh = "GeluTanh",
        Silu = "Silu",
    }
}

impl Activation {
    pub fn apply(self, x: f64) -> f64 {
        match self {
            Activation::None => x,
            Activation::Relu if x < 0.0 => 0.0,
            Activation::Relu => x,
            Activation::Gelu => 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
            Activation::GeluTanh => {
                let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
                x / (1.0 + (-2.0 * u).exp())
            }
            Activation::Silu => x / (1.0 + (-x).exp()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_values() {
        for act in [Activation::Gelu, Activation::GeluTanh, Activation::Silu] {
            assert!(act.apply(f64::NEG_INFINITY).is_nan() && act.apply(f64::NAN).is_nan());
            assert_eq!(act.apply(f64::INFINITY), f64::INFINITY);
            assert_eq!(act.apply(-1e4), 0.0);
        }
        assert!(Activation::Relu.apply(f64::NAN).is_nan());
    }
}
