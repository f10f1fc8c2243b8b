//! Fourier transforms as dispatches: lengths that fit into shared memory in one, others split in two, primes as convolutions.

use super::complex::{Complex, chirp, chirp_spectrum};
use crate::kernels::kernel;
use crate::ops::movement::strided::halves;
use crate::ops::{Lowering, Operand};
use crate::tensor::ElementType;
use crate::{Result, ensure, error};

/// The form of numbers in memory; the numbers are those of shaders/signal/fft.glsl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Complex = 0,
    /// All real parts, then all imaginary parts.
    Planar = 1,
    Real = 2,
    /// The first half of a spectrum whose second half is its mirrored conjugate.
    Half = 3,
}

/// An axis of the rows: bytes between neighbours in x and y, and what a step adds to the index of a row's numbers.
#[derive(Clone, Copy, Debug)]
pub struct RowAxis {
    pub size: usize,
    pub from: usize,
    pub to: usize,
    i: usize,
    k: usize,
}

impl RowAxis {
    pub fn new(size: usize, from: usize, to: usize) -> Self {
        Self { size, from, to, i: 0, k: 0 }
    }
}

/// One operand: where, in which form, and elements between the numbers of a row.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    pub operand: Operand,
    pub form: Form,
    pub stride: usize,
}

/// A batch of transforms of length `n`.
#[derive(Clone, Debug)]
pub struct Transform {
    pub element: ElementType,
    pub n: usize,
    /// -1 forward, 1 inverse.
    pub sign: f64,
    pub scale: f64,
    /// Outermost first.
    pub rows: Vec<RowAxis>,
    pub x: Side,
    pub y: Side,
    /// Numbers that are there (the rest counts as 0), and numbers to keep.
    pub given: usize,
    pub kept: usize,
    /// Numbers of a half spectrum that are there.
    pub bins: usize,
    steps: Steps,
}

/// What splitting adds: the length that planar and half forms go by, steps of the numbers' indices, and factors.
#[derive(Clone, Copy, Debug)]
struct Steps {
    total: usize,
    i: usize,
    k: usize,
    pre: Option<Operand>,
    post: Option<Operand>,
    /// The length whose roots, by the innermost row axis, a result is multiplied with.
    twist: Option<(usize, Operand, Operand)>,
}

/// Largest lengths of the two kernels.
const MOST_POW2: usize = 4096;
const MOST_MIXED: usize = 2048;

/// Largest length of all.
const MOST: usize = 1 << 26;

/// How a length is done in one dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direct {
    Pow2,
    /// Radices of the passes, 4 bits each.
    Mixed(u32),
}

fn direct(n: usize) -> Option<Direct> {
    if n.is_power_of_two() && (8..=MOST_POW2).contains(&n) {
        return Some(Direct::Pow2);
    }
    if n > MOST_MIXED {
        return None;
    }
    let (mut rest, mut passes, mut bit) = (n, 0, 0);
    for radix in [7, 5, 4, 3, 2] {
        while rest.is_multiple_of(radix) {
            passes |= (radix as u32) << bit;
            bit += 4;
            rest /= radix;
        }
    }
    (rest == 1 && bit <= 32).then_some(Direct::Mixed(passes))
}

/// A length as a product: the first factor in one dispatch, the second perhaps split again. None for a length with a large prime.
fn split(n: usize) -> Option<(usize, usize)> {
    let mut rest = n;
    for p in [2, 3, 5, 7] {
        while rest.is_multiple_of(p) {
            rest /= p;
        }
    }
    if rest != 1 {
        return None;
    }
    // Nearly equal factors: several rows then share a workgroup, and their loads whole cache lines.
    let root = n.isqrt();
    let first = (2..=root.min(MOST_MIXED)).rev().find(|&f| n.is_multiple_of(f) && direct(f).is_some())?;
    Some((first, n / first))
}

/// Numbers as the shaders read tables.
fn table(at: &mut Lowering, values: impl IntoIterator<Item = Complex>) -> Operand {
    let words: Vec<u32> = values.into_iter().flat_map(|v| [(v.re as f32).to_bits(), (v.im as f32).to_bits()]).collect();
    at.constants(&words)
}

impl Transform {
    pub fn new(element: ElementType, n: usize, sign: f64, rows: Vec<RowAxis>, x: Side, y: Side) -> Self {
        let steps = Steps { total: n, i: 1, k: 1, pre: None, post: None, twist: None };
        Self { element, n, sign, scale: 1.0, rows, x, y, given: n, kept: n, bins: n, steps }
    }

    fn row_count(&self) -> usize {
        self.rows.iter().map(|r| r.size).product()
    }

    pub fn lower(self, at: &mut Lowering) -> Result<()> {
        let reach = 2 * self.n * self.x.stride.max(self.y.stride);
        ensure!(
            self.n <= MOST && reach < 1 << 31,
            Unsupported,
            "a transform of {} numbers, {} apart, is above the limit",
            self.n,
            self.x.stride
        );
        self.lower_part(at)
    }

    fn lower_part(self, at: &mut Lowering) -> Result<()> {
        match (direct(self.n), split(self.n)) {
            (Some(way), _) => self.dispatch(way, at),
            (None, Some((n1, n2))) => self.lower_split(n1, n2, at),
            (None, None) => self.lower_convolved(at),
        }
    }

    /// The rows over dense rows of `n` complex numbers in scratch.
    fn dense_rows(&self, n: usize, axis: impl Fn(RowAxis, usize) -> RowAxis) -> Vec<RowAxis> {
        let mut bytes = n * 8;
        let mut rows: Vec<RowAxis> = self.rows.clone();
        for row in rows.iter_mut().rev() {
            let size = row.size;
            *row = axis(*row, bytes);
            bytes *= size;
        }
        rows
    }

    /// n = n1 n2, index i = i1 n2 + i2, result k = k1 + n1 k2: transforms along i1 for each i2, each result times a root of n, then
    /// transforms along i2 for each k1.
    fn lower_split(self, n1: usize, n2: usize, at: &mut Lowering) -> Result<()> {
        let scratch = at.temp(self.row_count() * self.n * 8);
        let steps = self.steps;
        let low = table(at, (0..1024).map(|k| Complex::root(k % self.n, self.n, -1.0)));
        let high = table(at, (0..self.n.div_ceil(1024)).map(|k| Complex::root(k * 1024 % self.n, self.n, -1.0)));
        let mut rows = self.dense_rows(self.n, |row, to| RowAxis { to, k: 0, ..row });
        rows.push(RowAxis { size: n2, from: 0, to: 0, i: steps.i, k: 1 });
        let side = Side { operand: scratch, form: Form::Complex, stride: 1 };
        let first = Self {
            n: n1,
            scale: 1.0,
            rows,
            y: side,
            kept: self.n,
            steps: Steps { i: steps.i * n2, k: n2, post: None, twist: Some((self.n, low, high)), ..steps },
            ..self.clone()
        };
        first.lower_part(at)?;
        let mut rows = self.dense_rows(self.n, |row, from| RowAxis { from, i: 0, ..row });
        rows.push(RowAxis { size: n1, from: n2 * 8, to: 0, i: 0, k: steps.k });
        let second = Self { n: n2, rows, x: side, given: n2, steps: Steps { i: 1, k: steps.k * n1, pre: None, ..steps }, ..self };
        second.lower_part(at)
    }

    /// As a convolution with a chirp (Bluestein, 1970), by transforms of a power of two.
    fn lower_convolved(self, at: &mut Lowering) -> Result<()> {
        let n = self.n;
        let m = (2 * n - 1).next_power_of_two();
        let scratch = at.temp(self.row_count() * m * 8);
        let factors = table(at, chirp(n, self.sign));
        let spectrum = table(at, chirp_spectrum(n, m, self.sign));
        let side = Side { operand: scratch, form: Form::Complex, stride: 1 };
        let first = Self {
            n: m,
            sign: -1.0,
            scale: 1.0,
            rows: self.dense_rows(m, |row, to| RowAxis { to, k: 0, ..row }),
            y: side,
            given: self.given.min(n),
            kept: m,
            steps: Steps { pre: Some(factors), post: Some(spectrum), ..self.steps },
            ..self.clone()
        };
        first.lower_part(at)?;
        let second = Self {
            n: m,
            sign: 1.0,
            rows: self.dense_rows(m, |row, from| RowAxis { from, i: 0, ..row }),
            x: side,
            given: m,
            kept: self.kept.min(n),
            steps: Steps { pre: None, post: Some(factors), ..self.steps },
            ..self
        };
        second.lower_part(at)
    }

    fn params(&self) -> Result<Vec<u32>> {
        let word = |v: usize| u32::try_from(v).map_err(|_| error!(Unsupported, "{v} is above the limit of 2^32"));
        let mut words = Vec::new();
        for v in [self.rows.len(), self.given, self.kept, self.steps.total, self.bins, self.steps.i, self.steps.k, 0] {
            words.push(word(v)?);
        }
        for row in self.rows.iter().rev() {
            words.push(word(row.size)?);
            words.extend(halves(row.from as u64).into_iter().chain(halves(row.to as u64)));
            words.extend([word(row.i)?, word(row.k)?]);
        }
        Ok(words)
    }

    fn dispatch(self, way: Direct, at: &mut Lowering) -> Result<()> {
        let params = at.constants(&self.params()?);
        let roots = table(at, (0..self.n).map(|k| Complex::root(k, self.n, -1.0)));
        let (low, high) = self.steps.twist.map_or((roots, roots), |(_, low, high)| (low, high));
        // c64 is moved as pairs of words, whatever the kernel's own type is.
        let name = if self.element == ElementType::C64 { "f32" } else { self.element.name() };
        let large = self.n > 2048;
        let (kernel, passes, fit) = match way {
            Direct::Pow2 => (kernel::fft_pow2(if large { "e2" } else { "e1" }, name)?, 0, if large { 1 } else { 2048 / self.n }),
            Direct::Mixed(passes) => (kernel::fft_mixed(name)?, passes as usize, MOST_MIXED / self.n),
        };
        // Neighbouring rows beside each other, on either side.
        let rows_first = self.x.stride > 1 || self.y.stride > 1 || self.steps.i > 1 || self.steps.k > 1;
        let rows = self.row_count();
        let mut dispatch = at
            .dispatch(kernel)
            .read("x", self.x.operand)
            .write("y", self.y.operand)
            .read("params", params)
            .read("roots", roots)
            .read("pre", self.steps.pre.unwrap_or(roots))
            .read("post", self.steps.post.unwrap_or(roots))
            .read("twist_low", low)
            .read("twist_high", high)
            .uint("rows", rows)
            .uint("n", self.n)
            .uint("x_stride", self.x.stride)
            .uint("y_stride", self.y.stride)
            .uint("passes", passes)
            .float("sign", self.sign)
            .float("scale", self.scale)
            .spec("LOAD", self.x.form as u32)
            .spec("STORE", self.y.form as u32)
            .spec("TWIST", self.steps.twist.is_some().into())
            .spec("PRE", self.steps.pre.is_some().into())
            .spec("POST", self.steps.post.is_some().into());
        if way == Direct::Pow2 {
            dispatch = dispatch.spec("LOG_N", self.n.trailing_zeros()).spec("ROWS_FIRST", rows_first.into());
        }
        dispatch.groups(rows.div_ceil(fit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_a_way() {
        assert_eq!(direct(4096), Some(Direct::Pow2));
        assert_eq!(direct(4), Some(Direct::Mixed(4)));
        assert_eq!(direct(1), Some(Direct::Mixed(0)));
        assert_eq!(direct(400), Some(Direct::Mixed(0x4455)));
        assert_eq!((direct(113), split(113)), (None, None));
        assert_eq!(split(65536), Some((256, 256)));
        for n in [8192usize, 10_000, 1 << 20, 1 << 26, 3 * 2048, 7usize.pow(6)] {
            let mut rest = n;
            while direct(rest).is_none() {
                let (first, second) = split(rest).expect("only small factors");
                assert!(first > 1 && first * second == rest);
                rest = second;
            }
        }
    }
}
