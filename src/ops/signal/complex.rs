//! Complex numbers in f64, for references and tables.

use std::f64::consts::TAU;
use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    pub const ZERO: Self = Self { re: 0.0, im: 0.0 };

    pub fn new(re: f64, im: f64) -> Self {
        Self { re, im }
    }

    /// exp(sign 2 pi i k / n), accurate for any k below n.
    pub fn root(k: usize, n: usize, sign: f64) -> Self {
        // An eighth of the circle at a time: there the angle is small, and exact quarters stay exact.
        let octant = 8 * k as u128 / n as u128;
        let rest = (8 * k as u128 - octant * n as u128) as f64 / (8 * n as u128) as f64 * TAU;
        let (s, c) = rest.sin_cos();
        let h = std::f64::consts::FRAC_1_SQRT_2;
        let (re, im) = match octant {
            0 => (c, s),
            1 => (h * (c - s), h * (c + s)),
            2 => (-s, c),
            3 => (-h * (c + s), h * (c - s)),
            4 => (-c, -s),
            5 => (-h * (c - s), -h * (c + s)),
            6 => (s, -c),
            _ => (h * (c + s), -h * (c - s)),
        };
        Self { re, im: sign * im }
    }

    pub fn conj(self) -> Self {
        Self { re: self.re, im: -self.im }
    }

    pub fn scaled(self, by: f64) -> Self {
        Self { re: self.re * by, im: self.im * by }
    }
}

impl Add for Complex {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self { re: self.re + o.re, im: self.im + o.im }
    }
}

impl Sub for Complex {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self { re: self.re - o.re, im: self.im - o.im }
    }
}

impl Mul for Complex {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self { re: self.re * o.re - self.im * o.im, im: self.re * o.im + self.im * o.re }
    }
}

/// The transform of any length, not scaled: by its smallest prime factor (Cooley and Tukey, 1965), or, where that is large, as a
/// convolution (Bluestein, 1970).
pub fn transform(x: &[Complex], sign: f64) -> Vec<Complex> {
    let n = x.len();
    let Some(p) = (2..=n).find(|p| n.is_multiple_of(*p)) else { return x.to_vec() };
    if p > 64 {
        return convolved(x, sign);
    }
    let q = n / p;
    let parts: Vec<Vec<Complex>> = (0..p)
        .map(|m| {
            let part: Vec<Complex> = (0..q).map(|i| x[i * p + m]).collect();
            transform(&part, sign)
        })
        .collect();
    let roots: Vec<Complex> = (0..n).map(|k| Complex::root(k, n, sign)).collect();
    (0..n).map(|k| (0..p).fold(Complex::ZERO, |sum, m| sum + parts[m][k % q] * roots[m * k % n])).collect()
}

/// exp(sign pi i k^2 / n) for k < n.
pub fn chirp(n: usize, sign: f64) -> Vec<Complex> {
    (0..n).map(|k| Complex::root((k as u128 * k as u128 % (2 * n as u128)) as usize, 2 * n, sign)).collect()
}

/// The transform of length `m` of the chirp that a transform of length `n` is convolved with, over m.
pub fn chirp_spectrum(n: usize, m: usize, sign: f64) -> Vec<Complex> {
    let mut b = vec![Complex::ZERO; m];
    for (k, c) in chirp(n, sign).into_iter().enumerate() {
        b[k] = c.conj();
        b[(m - k) % m] = c.conj();
    }
    transform(&b, -1.0).into_iter().map(|v| v.scaled(1.0 / m as f64)).collect()
}

fn convolved(x: &[Complex], sign: f64) -> Vec<Complex> {
    let (n, m) = (x.len(), (2 * x.len() - 1).next_power_of_two());
    let chirp = chirp(n, sign);
    let mut a: Vec<Complex> = x.iter().zip(&chirp).map(|(&v, &c)| v * c).collect();
    a.resize(m, Complex::ZERO);
    let a: Vec<Complex> = transform(&a, -1.0).into_iter().zip(chirp_spectrum(n, m, sign)).map(|(a, b)| a * b).collect();
    transform(&a, 1.0).into_iter().zip(chirp).map(|(v, c)| v * c).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transforms_of_any_length_are_right() {
        for n in [1usize, 2, 3, 5, 12, 67, 131, 400, 1021] {
            let x: Vec<Complex> = (0..n).map(|i| Complex::new((i * i % 7) as f64 - 3.0, (i % 5) as f64)).collect();
            let got = transform(&x, -1.0);
            for k in [0, 1 % n, n / 2, n - 1] {
                let want = (0..n).fold(Complex::ZERO, |sum, i| sum + x[i] * Complex::root(i * k % n, n, -1.0));
                assert!((got[k].re - want.re).abs() + (got[k].im - want.im).abs() < 1e-9 * n as f64, "{n} {k}");
            }
        }
        let ramp: Vec<Complex> = (0..5).map(|i| Complex::new(f64::from(i), 0.0)).collect();
        let y = transform(&ramp, -1.0);
        assert!((y[1].im - 3.440954801177933).abs() < 1e-12 && (y[2].im - 0.8122992405822659).abs() < 1e-12);
    }
}
