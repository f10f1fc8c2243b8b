//! Resizing as products: each axis of the result is a matrix of weights times that axis of x. For the forms of Resize that the
//! operator does not have.

use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::scalar;
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, bail};

/// How weights follow from coordinates.
pub struct Weights<'a> {
    pub mode: &'a str,
    pub coordinates: &'a str,
    pub nearest: &'a str,
    pub cubic_a: f64,
    /// Taps outside of x count nothing; the others are scaled up to a sum of 1.
    pub exclude_outside: bool,
    /// What is outside of x with tf_crop_and_resize.
    pub extrapolation: f64,
    /// For tf_crop_and_resize, start and end of each axis.
    pub region: Vec<[f64; 2]>,
}

/// One axis: n elements become m, by a scale.
#[derive(Clone, Copy)]
struct Axis {
    n: usize,
    m: usize,
    scale: f64,
    region: [f64; 2],
}

impl Weights<'_> {
    pub fn resize(&self, cx: &mut Context, x: &Operand, scales: &[f64], given: Option<Vec<usize>>) -> Result<Operand> {
        let ty = cx.ty(x)?;
        let dims =
            given.clone().unwrap_or_else(|| ty.dims.iter().zip(scales).map(|(&n, s)| (n as f64 * s).floor() as usize).collect());
        let mut y = x.clone();
        for axis in 0..ty.rank() {
            let (n, m) = (ty.dims[axis], dims[axis]);
            let scale = if given.is_some() { m as f64 / n.max(1) as f64 } else { scales[axis] };
            let at = Axis { n, m, scale, region: self.region.get(axis).copied().unwrap_or([0.0, 1.0]) };
            if n == m && scale == 1.0 && at.region == [0.0, 1.0] {
                continue;
            }
            y = self.axis(cx, &y, axis, at)?;
        }
        Ok(y)
    }

    fn axis(&self, cx: &mut Context, x: &Operand, axis: usize, at: Axis) -> Result<Operand> {
        let ty = cx.ty(x)?;
        let rank = ty.rank();
        let mut weights = vec![0.0; at.n * at.m];
        let mut inside = vec![true; at.m];
        for i in 0..at.m {
            let coordinate = self.coordinate(i, at)?;
            inside[i] = self.coordinates != "tf_crop_and_resize" || (0.0..=at.n as f64 - 1.0).contains(&coordinate);
            for (k, w) in self.taps(coordinate, at.n)? {
                weights[k * at.m + i] += w;
            }
        }
        // The axis to the end, times [n, m], and back.
        let mut perm: Vec<usize> = (0..rank).collect();
        perm.swap(axis, rank - 1);
        let matrix = Operand::constant(Tensor::from_f64(TensorType::new(ty.element, [at.n, at.m]), &weights));
        let y = cx.transpose(x, &perm)?;
        let y = if rank == 1 {
            let row = cx.reshape(&y, &[1, at.n])?;
            let row = cx.matmul(&row, &matrix)?;
            cx.reshape(&row, &[at.m])?
        } else {
            cx.matmul(&y, &matrix)?
        };
        let y = cx.transpose(&y, &perm)?;
        if inside.iter().all(|&i| i) {
            return Ok(y);
        }
        let mut shape = vec![1; rank];
        shape[axis] = at.m;
        let inside: Vec<f64> = inside.into_iter().map(f64::from).collect();
        let inside = Operand::constant(Tensor::from_f64(TensorType::new(ElementType::Bool, shape), &inside));
        cx.select(&inside, &y, &scalar(ty.element, self.extrapolation))
    }

    /// Where in x the element i of the result lies.
    fn coordinate(&self, i: usize, at: Axis) -> Result<f64> {
        let (i, n) = (i as f64, at.n as f64);
        // The length before it is cut to a whole number.
        let length = n * at.scale;
        let half_pixel = (i + 0.5) / at.scale - 0.5;
        Ok(match self.coordinates {
            "half_pixel" => half_pixel,
            "asymmetric" => i / at.scale,
            "pytorch_half_pixel" if length > 1.0 => half_pixel,
            "align_corners" if length != 1.0 => i * (n - 1.0) / (length - 1.0),
            "pytorch_half_pixel" | "align_corners" => 0.0,
            "half_pixel_symmetric" => n / 2.0 * (1.0 - at.m as f64 / length) + half_pixel,
            "tf_crop_and_resize" => {
                let [start, end] = at.region;
                let step = if length > 1.0 { (end - start) * (n - 1.0) / (length - 1.0) } else { 0.0 };
                let first = if length > 1.0 { start * (n - 1.0) } else { 0.5 * (start + end) * (n - 1.0) };
                first + i * step
            }
            other => bail!(InvalidGraph, "coordinate_transformation_mode {other}"),
        })
    }

    /// Elements of x and their weights.
    fn taps(&self, x: f64, n: usize) -> Result<Vec<(usize, f64)>> {
        let floor = x.floor();
        let part = x - floor;
        let taps: Vec<(f64, f64)> = match self.mode {
            "Nearest" => vec![(self.rounded(x)?, 1.0)],
            "Linear" => vec![(floor, 1.0 - part), (floor + 1.0, part)],
            _ => (-1..3).map(|k| (floor + f64::from(k), self.cubic((part - f64::from(k)).abs()))).collect(),
        };
        let last = n as f64 - 1.0;
        if !self.exclude_outside {
            return Ok(taps.into_iter().map(|(k, w)| (k.clamp(0.0, last) as usize, w)).collect());
        }
        let taps: Vec<(usize, f64)> =
            taps.into_iter().filter(|(k, _)| (0.0..=last).contains(k)).map(|(k, w)| (k as usize, w)).collect();
        let sum: f64 = taps.iter().map(|t| t.1).sum();
        Ok(taps.into_iter().map(|(k, w)| (k, w / sum)).collect())
    }

    fn rounded(&self, x: f64) -> Result<f64> {
        Ok(match self.nearest {
            "floor" => x.floor(),
            "ceil" => x.ceil(),
            "round_prefer_ceil" => (x + 0.5).floor(),
            "round_prefer_floor" => (x - 0.5).ceil(),
            other => bail!(InvalidGraph, "nearest_mode {other}"),
        })
    }

    /// Keys' cubic convolution kernel.
    fn cubic(&self, t: f64) -> f64 {
        let a = self.cubic_a;
        match t {
            t if t <= 1.0 => ((a + 2.0) * t - (a + 3.0)) * t * t + 1.0,
            t if t < 2.0 => ((a * t - 5.0 * a) * t + 8.0 * a) * t - 4.0 * a,
            _ => 0.0,
        }
    }
}
