//! Which elements of an axis a resized one is made of: exact fractions, computed once on the host.

use super::resize::{CoordinateMode, NearestMode, ResizeMode};
use crate::{Result, ensure, error};

/// num / den, den > 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    pub num: i128,
    pub den: i128,
}

impl Fraction {
    pub fn new(num: i128, den: i128) -> Self {
        Self { num, den }
    }

    /// The exact value of a positive float of usual size.
    pub fn from_f64(v: f64) -> Result<Self> {
        ensure!((1e-6..1e9).contains(&v), InvalidGraph, "a scale of {v}");
        // 53 bits of mantissa, and an exponent that the range above keeps small.
        let (mut num, mut den) = (v, 1i128);
        while num != num.trunc() {
            num *= 2.0;
            den *= 2;
        }
        Ok(Self { num: num as i128, den })
    }

    fn floor(self) -> i128 {
        self.num.div_euclid(self.den)
    }

    fn ceil(self) -> i128 {
        -(-self.num).div_euclid(self.den)
    }

    /// What is left after `floor`, in 0..1.
    fn part(self) -> f64 {
        self.num.rem_euclid(self.den) as f64 / self.den as f64
    }

    fn plus_half(self, sign: i128) -> Self {
        Self { num: 2 * self.num + sign * self.den, den: 2 * self.den }
    }

    pub fn value(self) -> f64 {
        self.num as f64 / self.den as f64
    }
}

/// One axis that is resized.
#[derive(Clone, Debug)]
pub struct Resampling {
    pub mode: ResizeMode,
    pub coordinates: CoordinateMode,
    pub nearest: NearestMode,
    pub cubic_a: f64,
    pub antialias: bool,
    pub input: usize,
    pub output: usize,
    /// Output length over input length, as asked for.
    pub scale: Fraction,
}

/// Elements of the input, with their weights, that one output is the sum of.
pub type Taps = Vec<(usize, f64)>;

impl Resampling {
    /// Where output `i` lies in the input.
    fn coordinate(&self, i: usize) -> Fraction {
        let (i, n, m) = (i as i128, self.input as i128, self.output as i128);
        let Fraction { num, den } = self.scale;
        let half_pixel = Fraction::new((2 * i + 1) * den - num, 2 * num);
        match self.coordinates {
            CoordinateMode::HalfPixel => half_pixel,
            CoordinateMode::PytorchHalfPixel if m > 1 => half_pixel,
            CoordinateMode::PytorchHalfPixel => Fraction::new(0, 1),
            CoordinateMode::Asymmetric => Fraction::new(i * den, num),
            CoordinateMode::AlignCorners if m > 1 => Fraction::new(i * (n - 1), m - 1),
            CoordinateMode::AlignCorners => Fraction::new(0, 1),
            // Moved so that the middles agree although the length was rounded down.
            CoordinateMode::HalfPixelSymmetric => Fraction::new(n * num - m * den + (2 * i + 1) * den - num, 2 * num),
        }
    }

    fn clamped(&self, i: i128) -> usize {
        i.clamp(0, self.input as i128 - 1) as usize
    }

    /// What output `i` is made of. Elements before the first and after the last are as these.
    pub fn taps(&self, i: usize) -> Taps {
        let x = self.coordinate(i);
        let floor = x.floor();
        match self.mode {
            ResizeMode::Nearest => {
                let index = match self.nearest {
                    NearestMode::RoundPreferFloor => x.plus_half(-1).ceil(),
                    NearestMode::RoundPreferCeil => x.plus_half(1).floor(),
                    NearestMode::Floor => floor,
                    NearestMode::Ceil => x.ceil(),
                };
                vec![(self.clamped(index), 1.0)]
            }
            ResizeMode::Linear => self.filtered(floor, x.part(), 1, |d| (1.0 - d.abs()).max(0.0)),
            ResizeMode::Cubic => self.filtered(floor, x.part(), 2, |d| cubic(self.cubic_a, d.abs())),
        }
    }

    /// Weights by a filter that is 0 beyond `reach`; with antialias it is stretched by the shrinking, and the weights made to add to 1.
    fn filtered(&self, floor: i128, part: f64, reach: i128, filter: impl Fn(f64) -> f64) -> Taps {
        let shrink = if self.antialias { self.scale.value().min(1.0) } else { 1.0 };
        let before = if shrink < 1.0 { (reach as f64 / shrink).ceil() as i128 } else { reach };
        let mut taps: Taps = (1 - before..=before).map(|k| (self.clamped(floor + k), filter((k as f64 - part) * shrink))).collect();
        if shrink < 1.0 {
            let sum: f64 = taps.iter().map(|t| t.1).sum();
            taps.iter_mut().for_each(|t| t.1 /= sum);
        }
        taps
    }

    /// The taps of every output, as many each.
    pub fn table(&self) -> Result<Vec<Taps>> {
        ensure!(self.input > 0, InvalidGraph, "an axis of no elements is resized to {}", self.output);
        let table: Vec<Taps> = (0..self.output).map(|i| self.taps(i)).collect();
        let words = table.len().checked_mul(table.first().map_or(0, Vec::len)).filter(|&n| n < 1 << 26);
        words.ok_or_else(|| error!(Unsupported, "resizing {} elements to {} is above the limit", self.input, self.output))?;
        Ok(table)
    }
}

/// The cubic convolution kernel (Keys, 1981) at distance d.
fn cubic(a: f64, d: f64) -> f64 {
    if d <= 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(input: usize, output: usize, coordinates: CoordinateMode, nearest: NearestMode) -> Vec<usize> {
        let scale = Fraction::new(output as i128, input as i128);
        let r =
            Resampling { mode: ResizeMode::Nearest, coordinates, nearest, cubic_a: -0.75, antialias: false, input, output, scale };
        r.table().expect("fits").into_iter().map(|t| t[0].0).collect()
    }

    #[test]
    fn ratios_of_integers_are_exact() {
        let got = nearest(72, 21600, CoordinateMode::Asymmetric, NearestMode::Floor);
        assert_eq!([got[299], got[300], got[301], got[600]], [0, 1, 1, 2]);
        assert_eq!(nearest(2, 4, CoordinateMode::HalfPixel, NearestMode::RoundPreferFloor), [0, 0, 1, 1]);
        assert_eq!(nearest(4, 2, CoordinateMode::AlignCorners, NearestMode::Ceil), [0, 3]);
    }

    #[test]
    fn scales_are_taken_as_they_are() {
        let f = Fraction::from_f64(f64::from(0.6f32)).expect("in range");
        assert_eq!(f.value(), f64::from(0.6f32));
        assert_eq!((Fraction::new(-1, 2).floor(), Fraction::new(-1, 2).ceil(), Fraction::new(7, 2).part()), (-1, 0, 0.5));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-300] {
            assert!(Fraction::from_f64(bad).is_err());
        }
    }
}
