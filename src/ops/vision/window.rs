//! Kernels that slide over the spatial axes of x [N, C, spatial..]: their sizes and how many positions they have.

use crate::tensor::{TensorType, list_text};
use crate::{Result, ensure, error};

/// Spatial axes that the operators here take.
pub const MAX_AXES: usize = 3;

/// How a kernel slides, along 1 to 3 spatial axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    pub extent: Vec<usize>,
    pub kernel: Vec<usize>,
    pub stride: Vec<usize>,
    pub begin: Vec<usize>,
    pub end: Vec<usize>,
    pub dilation: Vec<usize>,
}

/// Checks a list of numbers, one a spatial axis.
fn checked(name: &str, values: &[i64], axes: usize, least: i64) -> Result<Vec<usize>> {
    ensure!(
        values.len() == axes,
        InvalidGraph,
        "{name} {values} has {} numbers for {axes} spatial axes",
        values.len(),
        values = list_text(&values)
    );
    let number = |&v: &i64| {
        let fits = (least..1 << 31).contains(&v);
        if fits {
            Ok(v as usize)
        } else {
            Err(error!(InvalidGraph, "{name} {values}: {v} is outside {least} to 2^31 - 1", values = list_text(&values)))
        }
    };
    values.iter().map(number).collect()
}

/// Spatial dims of x, which must have 1 to 3.
pub fn spatial(x: &TensorType) -> Result<Vec<usize>> {
    let axes = x.rank().saturating_sub(2);
    ensure!((1..=MAX_AXES).contains(&axes), InvalidGraph, "takes [N, C, 1 to 3 spatial axes], not {x}");
    let extent = x.dims[2..].to_vec();
    ensure!(extent.iter().all(|&n| n < 1 << 31), Unsupported, "{x}: a spatial axis is above the limit of 2^31");
    Ok(extent)
}

impl Window {
    pub fn new(x: &TensorType, kernel: &[usize], stride: &[i64], begin: &[i64], end: &[i64], dilation: &[i64]) -> Result<Self> {
        let extent = spatial(x)?;
        let axes = extent.len();
        ensure!(kernel.len() == axes, InvalidGraph, "a kernel {kernel} for {x}", kernel = list_text(&kernel));
        ensure!(kernel.iter().all(|k| (1..1 << 31).contains(k)), InvalidGraph, "a kernel {kernel}", kernel = list_text(&kernel));
        Ok(Self {
            extent,
            kernel: kernel.to_vec(),
            stride: checked("stride", stride, axes, 1)?,
            begin: checked("pad_begin", begin, axes, 0)?,
            end: checked("pad_end", end, axes, 0)?,
            dilation: checked("dilation", dilation, axes, 1)?,
        })
    }

    pub fn axes(&self) -> usize {
        self.extent.len()
    }

    /// Elements from the first to the last that the kernel touches.
    pub fn reach(&self, axis: usize) -> usize {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }

    /// Positions along each axis. `ceil` keeps a last one that is not whole, unless it would start in the end padding.
    pub fn counts(&self, ceil: bool) -> Result<Vec<usize>> {
        (0..self.axes())
            .map(|a| {
                let (n, stride) = (self.extent[a], self.stride[a]);
                let padded = n + self.begin[a] + self.end[a];
                let room = padded.checked_sub(self.reach(a));
                let room = room.ok_or_else(|| {
                    error!(
                        InvalidGraph,
                        "the kernel reaches over {} elements of axis {}, which has {padded} with its padding",
                        self.reach(a),
                        a + 2
                    )
                })?;
                let count = if ceil { room.div_ceil(stride) } else { room / stride } + 1;
                let dropped = ceil && (count - 1) * stride >= n + self.begin[a];
                Ok(count - usize::from(dropped))
            })
            .collect()
    }

    /// Offsets of the taps, first axis first, relative to where a position starts in the padded input.
    pub fn taps(&self) -> Vec<Vec<usize>> {
        let mut taps = vec![Vec::new()];
        for axis in 0..self.axes() {
            let along = |tap: Vec<usize>| (0..self.kernel[axis]).map(move |k| [&tap[..], &[k * self.dilation[axis]]].concat());
            taps = taps.into_iter().flat_map(along).collect();
        }
        taps
    }
}

/// Three numbers for up to three axes, filled up in front.
pub fn three<T: Copy>(values: &[T], fill: T) -> [T; 3] {
    let mut out = [fill; 3];
    out[3 - values.len()..].copy_from_slice(values);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::ElementType;

    #[test]
    fn positions_are_counted() {
        let x = TensorType::new(ElementType::F32, [1, 1, 2, 2]);
        let window = Window::new(&x, &[1, 1], &[2, 2], &[0, 0], &[0, 0], &[1, 1]).expect("fits");
        assert_eq!(window.counts(true).expect("fits"), [1, 1]);
        let wide = Window::new(&x, &[3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1]).expect("fits");
        assert!(wide.counts(false).is_err());
        for (stride, begin) in [([0, 1], [0, 0]), ([1, 1], [-1, 0])] {
            assert!(Window::new(&x, &[1, 1], &stride, &begin, &[0, 0], &[1, 1]).is_err());
        }
        assert!(Window::new(&x, &[1], &[1], &[0], &[0], &[1]).is_err());
    }
}
