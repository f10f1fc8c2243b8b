//! The affine schemes: codes in rows along n, scales for each block of k and each column.

use crate::ops::Inputs;
use crate::tensor::{ElementType, Tensor, TensorType, dims_text};
use crate::{Result, bail, ensure};

/// How codes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AffineKind {
    Int8,
    Int4,
    Fp8E4m3,
    Fp8E5m2,
    Nvfp4,
}

impl AffineKind {
    /// The name of the variant in shaders/quant/variants.toml.
    pub fn name(self) -> &'static str {
        match self {
            AffineKind::Int8 => "int8",
            AffineKind::Int4 => "int4",
            AffineKind::Fp8E4m3 => "fp8_e4m3",
            AffineKind::Fp8E5m2 => "fp8_e5m2",
            AffineKind::Nvfp4 => "nvfp4",
        }
    }

    fn two_a_byte(self) -> bool {
        matches!(self, AffineKind::Int4 | AffineKind::Nvfp4)
    }

    fn decode(self, code: u8) -> f64 {
        match self {
            AffineKind::Int8 => f64::from(code as i8),
            AffineKind::Int4 => f64::from(code),
            AffineKind::Fp8E4m3 => e4m3(code),
            AffineKind::Fp8E5m2 => e5m2(code),
            AffineKind::Nvfp4 => e2m1(code),
        }
    }
}

/// Weights [k,n] of a scheme, whose inputs have been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    pub kind: AffineKind,
    pub k: usize,
    pub n: usize,
    /// Rows of w that share a scale.
    pub block: usize,
}

/// A float of `exponent` and `mantissa` bits below a sign, without infinities and NaN.
fn small_float(code: u8, exponent: u32, mantissa: u32) -> f64 {
    let bias = (1 << (exponent - 1)) - 1;
    let field = i32::from(code >> mantissa) & ((1 << exponent) - 1);
    let fraction = f64::from(code & ((1 << mantissa) - 1)) / f64::from(1 << mantissa);
    let magnitude = if field == 0 { fraction * 2f64.powi(1 - bias) } else { (1.0 + fraction) * 2f64.powi(field - bias) };
    if code >> (exponent + mantissa) & 1 == 1 { -magnitude } else { magnitude }
}

/// OCP E4M3: no infinities, the code of all ones is NaN.
fn e4m3(code: u8) -> f64 {
    if code & 0x7f == 0x7f { f64::NAN } else { small_float(code, 4, 3) }
}

fn e5m2(code: u8) -> f64 {
    match code & 0x7f {
        0x7c => f64::INFINITY.copysign(if code & 0x80 == 0 { 1.0 } else { -1.0 }),
        0x7d..=0x7f => f64::NAN,
        _ => small_float(code, 5, 2),
    }
}

fn e2m1(code: u8) -> f64 {
    small_float(code, 2, 1)
}

impl Affine {
    /// Checks inputs x, w, scale, zero. `block`: the attribute; `zero`: whether it must (Some) or may (None) be there.
    pub fn check(kind: AffineKind, block: Option<usize>, zero: Option<bool>, ins: &Inputs<TensorType>) -> Result<Self> {
        let (x, w, scale) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        let codes = if kind == AffineKind::Int8 { ElementType::I8 } else { ElementType::U8 };
        ensure!(w.element == codes, InvalidGraph, "w must be {codes}, not {}", w.element);
        let &[k, stored] = &w.dims[..] else { bail!(InvalidGraph, "w must be of rank 2, not {}", dims_text(&w.dims)) };
        let n = if kind.two_a_byte() { 2 * stored } else { stored };
        let depth = x.dims.last().copied();
        ensure!(depth == Some(k), InvalidGraph, "x {} and w {}: K must be {k}", dims_text(&x.dims), dims_text(&w.dims));
        let block = match (kind, block) {
            (AffineKind::Int8 | AffineKind::Int4, Some(0)) => bail!(InvalidGraph, "block is 0"),
            (AffineKind::Int8 | AffineKind::Int4, Some(block)) => block,
            (AffineKind::Int8 | AffineKind::Int4, None) => bail!(InvalidGraph, "attribute \"block\" is missing"),
            (AffineKind::Nvfp4, None | Some(16)) => 16,
            (_, None) => k.max(1),
            (_, Some(block)) => bail!(InvalidGraph, "block is {block}, the scheme has blocks of its own"),
        };
        let affine = Self { kind, k, n, block };
        affine.check_scales(x, scale, zero, ins.opt(3))?;
        Ok(affine)
    }

    fn check_scales(&self, x: &TensorType, scale: &TensorType, needs: Option<bool>, zero: Option<&TensorType>) -> Result<()> {
        let (k, n, block) = (self.k, self.n, self.block);
        let fp8 = matches!(self.kind, AffineKind::Fp8E4m3 | AffineKind::Fp8E5m2);
        let (element, dims) = match self.kind {
            AffineKind::Nvfp4 => (ElementType::U8, vec![k.div_ceil(block), n]),
            _ if fp8 => (x.element, vec![n]),
            _ => (x.element, vec![k.div_ceil(block), n]),
        };
        let want = TensorType::new(element, dims);
        ensure!(*scale == want, InvalidGraph, "scale must be {want}, not {scale}");
        ensure!(needs != Some(true) || zero.is_some(), InvalidGraph, "input 3 is missing");
        ensure!(needs != Some(false) || zero.is_none(), InvalidGraph, "the scheme takes no zero");
        let want = if self.kind == AffineKind::Nvfp4 { TensorType::new(ElementType::F32, [1]) } else { want };
        match zero {
            Some(zero) if *zero != want => bail!(InvalidGraph, "input 3 must be {want}, not {zero}"),
            _ => Ok(()),
        }
    }

    /// The weights [k,n], row-major.
    pub fn expand(&self, w: &Tensor, scale: &Tensor, zero: Option<&Tensor>) -> Vec<f64> {
        let codes: &[u8] = w.bytes();
        let scales: Vec<f64> = match self.kind {
            AffineKind::Nvfp4 => {
                let global = zero.map_or(1.0, |z| z.to_f64()[0]);
                scale.bytes().iter().map(|&code| e4m3(code) * global).collect()
            }
            _ => scale.to_f64(),
        };
        let zeros = match self.kind {
            AffineKind::Nvfp4 => None,
            _ => zero.map(Tensor::to_f64),
        };
        (0..self.k * self.n)
            .map(|i| {
                let code = if self.kind.two_a_byte() { codes[i / 2] >> (i % 2 * 4) & 15 } else { codes[i] };
                let at = i / self.n / self.block * self.n + i % self.n;
                (self.kind.decode(code) - zeros.as_ref().map_or(0.0, |z| z[at])) * scales[at]
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats() {
        assert_eq!([0x00, 0x01, 0x08, 0x38, 0x7e, 0xfe].map(e4m3), [0.0, 2f64.powi(-9), 2f64.powi(-6), 1.0, 448.0, -448.0]);
        assert!(e4m3(0x7f).is_nan() && e4m3(0xff).is_nan());
        assert_eq!([0x01, 0x04, 0x3c, 0x7b, 0xfc].map(e5m2), [2f64.powi(-16), 2f64.powi(-14), 1.0, 57344.0, f64::NEG_INFINITY]);
        assert!(e5m2(0x7d).is_nan());
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 15].map(e2m1), [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -6.0]);
    }
}
