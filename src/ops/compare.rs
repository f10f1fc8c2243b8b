//! Compares a result with what it should be.

use crate::tensor::{ElementType, Tensor, dims_text};

/// How exact a result must be.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// |got - want| <= t * scale + t * |want|, scale being the largest |want| of the row (last axis), t by the element type; of sums
    /// of so many terms, t is at least 1e-6 * sqrt(terms).
    Rows { terms: usize },
    /// The largest |got - want| of the tensor, over its largest |want|.
    Scale(f64),
}

/// The largest error, and the bound it must not pass. In errors of rows both are relative to scale + |want|.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measure {
    pub error: f64,
    pub bound: f64,
}

impl Measure {
    pub fn passes(self) -> bool {
        self.error <= self.bound
    }

    /// The one that is nearer to its bound, or further past it.
    pub fn worse(self, other: Self) -> Self {
        let part = |m: Self| if m.passes() { m.error / m.bound.max(f64::MIN_POSITIVE) } else { 1.0 + m.error - m.bound };
        if part(other) > part(self) || self == Self::default() { other } else { self }
    }
}

/// The largest error, or what differs in kind: types, shapes, exact values, NaN and infinity.
pub fn compare(got: &Tensor, want: &Tensor, rule: Rule) -> Result<Measure, String> {
    if got.ty() != want.ty() {
        return Err(format!("is {}, not {}", got.ty(), want.ty()));
    }
    let Some(tolerance) = tolerance(want.element()) else {
        let per_element = want.element().block_bytes();
        let differs = |(g, w): (&[u8], &[u8])| g != w;
        return match got.bytes().chunks(per_element).zip(want.bytes().chunks(per_element)).position(differs) {
            None => Ok(Measure::default()),
            Some(i) => Err(format!("{} is {}, not {}", position(want, i), got.to_i128()[i], want.to_i128()[i])),
        };
    };
    let (g, w) = (floats(got), floats(want));
    let parts = if want.element() == ElementType::C64 { 2 } else { 1 };
    let row = (want.ty().last() * parts).max(1);
    if let Some(i) = (0..w.len()).find(|&i| differs_in_kind(g[i], w[i])) {
        return Err(format!("{} is {}, not {}", position(want, i / parts), g[i], w[i]));
    }
    match rule {
        Rule::Scale(bound) => {
            let scale = largest(&w);
            let error = g.iter().zip(&w).filter(|(_, w)| w.is_finite()).map(|(g, w)| (g - w).abs()).fold(0.0, f64::max);
            Ok(Measure { error: if error == 0.0 { 0.0 } else { error / scale }, bound })
        }
        Rule::Rows { terms } => {
            let bound = tolerance.max(1e-6 * (terms as f64).sqrt());
            let rows = g.chunks(row).zip(w.chunks(row)).map(|(g, w)| row_error(g, w, smallest_normal(want.element())));
            Ok(Measure { error: rows.fold(0.0, f64::max), bound })
        }
    }
}

/// The tolerance of the operator contract; none for types that must be equal.
fn tolerance(element: ElementType) -> Option<f64> {
    match element {
        ElementType::F32 | ElementType::F64 | ElementType::C64 => Some(1e-5),
        ElementType::F16 => Some(2e-3),
        ElementType::Bf16 => Some(1.6e-2),
        _ => None,
    }
}

/// Below this, a result may be flushed to zero.
fn smallest_normal(element: ElementType) -> f64 {
    match element {
        ElementType::F32 | ElementType::Bf16 | ElementType::C64 => f32::MIN_POSITIVE.into(),
        _ => 0.0,
    }
}

fn floats(tensor: &Tensor) -> Vec<f64> {
    match tensor.element() {
        ElementType::C64 => bytemuck::cast_slice::<u8, f32>(tensor.bytes()).iter().map(|&v| v.into()).collect(),
        _ => tensor.to_f64(),
    }
}

fn differs_in_kind(got: f64, want: f64) -> bool {
    if want.is_finite() { !got.is_finite() } else { got.is_nan() != want.is_nan() || (want.is_infinite() && got != want) }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().filter(|v| v.is_finite()).fold(0.0, |m, v| v.abs().max(m))
}

fn row_error(got: &[f64], want: &[f64], flushed: f64) -> f64 {
    let scale = largest(want);
    let error = |(&g, &w): (&f64, &f64)| match g == w || !w.is_finite() || (g.abs() < flushed && w.abs() < flushed) {
        true => 0.0,
        false => (g - w).abs() / (scale + w.abs()),
    };
    got.iter().zip(want).map(error).fold(0.0, f64::max)
}

/// "element [1,2]".
fn position(tensor: &Tensor, mut index: usize) -> String {
    let mut at = vec![0; tensor.dims().len()];
    for (a, &d) in at.iter_mut().zip(tensor.dims()).rev() {
        *a = index % d.max(1);
        index /= d.max(1);
    }
    format!("element {}", dims_text(&at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(got: &[f32], want: &[f32]) -> Result<Measure, String> {
        compare(&Tensor::from_slice(&[got.len()], got), &Tensor::from_slice(&[want.len()], want), Rule::Rows { terms: 1 })
    }

    #[test]
    fn the_rule_of_the_contract() {
        assert!(rows(&[1e4, 0.09], &[1e4, 0.0]).expect("same kind").passes());
        assert!(!rows(&[1.0, 3e-5], &[1.0, 0.0]).expect("same kind").passes());
        assert!(rows(&[f32::NAN, f32::INFINITY, -0.0], &[f32::NAN, f32::INFINITY, 0.0]).expect("same kind").passes());
        assert!(rows(&[0.0, 1.0], &[1e-40, 1.0]).expect("same kind").passes());
        for (got, want) in
            [(f32::NAN, 0.0), (0.0, f32::NAN), (f32::INFINITY, f32::NEG_INFINITY), (3e38, f32::INFINITY), (f32::INFINITY, 3e38)]
        {
            assert!(rows(&[got], &[want]).is_err(), "{got} {want}");
        }
        let (a, b) = (Tensor::from_slice(&[2, 1], &[1i64 << 53, 2]), Tensor::from_slice(&[2, 1], &[(1i64 << 53) + 1, 2]));
        assert_eq!(
            compare(&a, &b, Rule::Scale(1.0)).expect_err("one apart"),
            "element [0,0] is 9007199254740992, not 9007199254740993"
        );
    }
}
