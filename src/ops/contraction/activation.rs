//! What a kernel may do to a sum before it is stored.

use crate::attribute_enum;

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

/// 1 - erf(x), accurate relative to itself in the tail: the series of erf near 0 (Abramowitz and Stegun 7.1.6), beyond it the
/// continued fraction of erfc (7.1.14).
fn erfc(x: f64) -> f64 {
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let bell = (-x * x).exp() / std::f64::consts::PI.sqrt();
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..60 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
        }
        return 1.0 - 2.0 * bell * sum;
    }
    let fraction = (1..=100).rev().fold(x, |v, n| x + f64::from(n) / 2.0 / v);
    bell / fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erfc_is_accurate_in_the_tail() {
        // Digits from tables (Abramowitz and Stegun 7.1, and the asymptotic series for 10).
        for (x, want) in [
            (0.0, 1.0),
            (0.5, 0.4795001221869535),
            (2.0, 0.004677734981047266),
            (10.0, 2.088487583762545e-45),
            (-1.0, 1.842700792949715),
        ] {
            assert!((erfc(x) / want - 1.0).abs() < 1e-13, "erfc({x}) = {}", erfc(x));
        }
    }

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
