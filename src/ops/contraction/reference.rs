//! Products in f64 on the CPU.

use rayon::prelude::*;

/// A matrix inside a slice of f64: where it starts and how far apart its rows and columns are.
#[derive(Clone, Copy)]
pub struct MatrixView<'a> {
    pub values: &'a [f64],
    pub start: usize,
    pub row: usize,
    pub col: usize,
}

impl MatrixView<'_> {
    fn at(&self, row: usize, col: usize) -> f64 {
        self.values[self.start + row * self.row + col * self.col]
    }

    fn check(&self, rows: usize, cols: usize) {
        if rows > 0 && cols > 0 {
            let last = self.start + (rows - 1) * self.row + (cols - 1) * self.col;
            assert!(last < self.values.len(), "element {last} of {} in a product", self.values.len());
        }
    }
}

/// Products with fewer multiplications than this are computed by plain loops.
const SMALL: usize = 32 * 32 * 32;

/// out [m,n] = a [m,k] x b [k,n], dense and row-major.
pub fn multiply(m: usize, n: usize, k: usize, a: MatrixView, b: MatrixView, out: &mut [f64]) {
    assert_eq!(out.len(), m * n, "the result of a product of [{m},{k}] and [{k},{n}]");
    a.check(m, k);
    b.check(k, n);
    if m * n * k < SMALL {
        for (i, o) in out.iter_mut().enumerate() {
            *o = (0..k).map(|t| a.at(i / n, t) * b.at(t, i % n)).sum();
        }
        return;
    }
    let threads = if m * n * k < SMALL * 64 { gemm::Parallelism::None } else { gemm::Parallelism::Rayon(0) };
    // SAFETY: `check` showed that every element of a and b that strides reach is inside its slice, and `out` holds m * n elements.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.values.as_ptr().add(a.start),
            a.col as isize,
            a.row as isize,
            b.values.as_ptr().add(b.start),
            b.col as isize,
            b.row as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            threads,
        );
    }
}

/// Products of a batch, each written to its own m * n elements of the result: `operands` gives the two matrices of one.
pub fn multiply_batch<'a>(
    batch: usize,
    [m, n, k]: [usize; 3],
    operands: impl Fn(usize) -> (MatrixView<'a>, MatrixView<'a>) + Sync,
) -> Vec<f64> {
    let mut out = vec![0.0; batch * m * n];
    if m * n == 0 {
        return out;
    }
    let one = |(i, out): (usize, &mut [f64])| {
        let (a, b) = operands(i);
        multiply(m, n, k, a, b, out);
    };
    if batch > 1 && batch * m * n * k > SMALL {
        out.par_chunks_mut(m * n).enumerate().with_min_len((SMALL / (m * n * k.max(1))).max(1)).for_each(one);
    } else {
        out.chunks_mut(m * n).enumerate().for_each(one);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_and_small_products_agree() {
        let (m, n, k) = (37, 41, 67);
        let a: Vec<f64> = (0..m * k).map(|i| (i % 13) as f64 - 6.0).collect();
        let b: Vec<f64> = (0..n * k).map(|i| (i % 7) as f64 - 3.0).collect();
        let view = |values, row, col| MatrixView { values, start: 0, row, col };
        let mut out = vec![0.0; m * n];
        multiply(m, n, k, view(&a, 1, m), view(&b, 1, k), &mut out);
        for i in 0..m {
            for j in 0..n {
                let want: f64 = (0..k).map(|t| a[i + t * m] * b[t + j * k]).sum();
                assert_eq!(out[i * n + j], want);
            }
        }
    }
}
