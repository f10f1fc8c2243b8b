//! DepthToSpace, SpaceToDepth and ResizeNearest2x: pictures whose elements are only moved.

use crate::ops::movement::rearrange::{Rearrange, rearrange};
use crate::ops::movement::strided::StridedCopy;
use crate::ops::{Attribute, Case};
use crate::tensor::{ElementType, TensorType};
use crate::{Result, attribute_enum, attributes, ensure, error};

attribute_enum! {
    /// How the channels of DepthToSpace are split: (block row, block column, channel) or (channel, block row, block column).
    pub enum DepthMode {
        Dcr = "DCR",
        Crd = "CRD",
    }
}

attributes! {
    /// Channels become blocks of pixels.
    pub struct DepthToSpace { blocksize: usize, mode: DepthMode = DepthMode::Dcr }
}

attributes! {
    /// Blocks of pixels become channels (block row, block column, channel).
    pub struct SpaceToDepth { blocksize: usize }
}

attributes! {
    /// Each pixel four times.
    pub struct ResizeNearest2x {}
}

crate::entries!(DepthToSpace: depth_cases, SpaceToDepth: space_cases, ResizeNearest2x: double_cases);
rearrange!(DepthToSpace, SpaceToDepth, ResizeNearest2x);

fn picture(x: &TensorType) -> Result<[usize; 4]> {
    <[usize; 4]>::try_from(&x.dims[..]).map_err(|_| error!(InvalidGraph, "takes [N, C, H, W], not {x}"))
}

/// The dims of operands that the shape rule has accepted.
fn dims_of(x: &TensorType) -> [usize; 4] {
    picture(x).expect("the shape rule checked the rank")
}

/// The copy over axes of sizes and strides in elements, in the order of the result.
fn walk(x: &TensorType, axes: &[(usize, usize)]) -> StridedCopy {
    let sizes: Vec<usize> = axes.iter().map(|a| a.0).collect();
    let from: Vec<i64> = axes.iter().map(|a| a.1 as i64).collect();
    StridedCopy::to_dense(x.element.block_bytes(), &sizes, &from)
}

impl Rearrange for DepthToSpace {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let [n, c, h, w] = picture(x)?;
        let b = self.blocksize;
        ensure!((1..1 << 16).contains(&b) && c % (b * b) == 0, InvalidGraph, "{c} channels do not make blocks of {b} x {b}");
        Ok(vec![n, c / (b * b), h * b, w * b])
    }

    fn copy(&self, x: &TensorType, y: &TensorType) -> StridedCopy {
        let ([n, c, h, w], b, less) = (dims_of(x), self.blocksize, y.dims[1]);
        let plane = h * w;
        let (row, column, channel) = match self.mode {
            DepthMode::Dcr => (b * less * plane, less * plane, plane),
            DepthMode::Crd => (b * plane, plane, b * b * plane),
        };
        walk(x, &[(n, c * plane), (less, channel), (h, w), (b, row), (w, 1), (b, column)])
    }
}

impl Rearrange for SpaceToDepth {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let [n, c, h, w] = picture(x)?;
        let b = self.blocksize;
        let fits = (1..1 << 16).contains(&b) && h % b == 0 && w % b == 0;
        ensure!(fits, InvalidGraph, "{h} x {w} pixels do not make blocks of {b} x {b}");
        let channels = c.checked_mul(b * b).ok_or_else(|| error!(InvalidGraph, "{c} channels times {} are too many", b * b))?;
        Ok(vec![n, channels, h / b, w / b])
    }

    fn copy(&self, x: &TensorType, _y: &TensorType) -> StridedCopy {
        let ([n, c, h, w], b) = (dims_of(x), self.blocksize);
        walk(x, &[(n, c * h * w), (b, w), (b, 1), (c, h * w), (h / b, b * w), (w / b, b)])
    }
}

impl Rearrange for ResizeNearest2x {
    fn dims(&self, x: &TensorType) -> Result<Vec<usize>> {
        let [n, c, h, w] = picture(x)?;
        Ok(vec![n, c, 2 * h, 2 * w])
    }

    fn copy(&self, x: &TensorType, _y: &TensorType) -> StridedCopy {
        let [n, c, h, w] = dims_of(x);
        walk(x, &[(n * c, h * w), (h, w), (2, 0), (w, 1), (2, 0)])
    }
}

const TYPES: [ElementType; 4] = [ElementType::F32, ElementType::F16, ElementType::U8, ElementType::F64];

fn depth_cases() -> Vec<Case> {
    let mut out = Vec::new();
    for element in TYPES {
        for &mode in DepthMode::ALL {
            for (b, dims) in [(2, [2, 8, 3, 5]), (3, [1, 18, 2, 3]), (1, [1, 2, 3, 4]), (2, [0, 4, 2, 2])] {
                let attributes = [("blocksize", Attribute::Int(b)), ("mode", Attribute::Text(mode.text().into()))];
                out.push(Case::new("DepthToSpace", &attributes).input(element, &dims));
            }
        }
    }
    out
}

fn space_cases() -> Vec<Case> {
    let mut out = Vec::new();
    for element in TYPES {
        for (b, dims) in [(2, [2, 3, 4, 6]), (3, [1, 2, 6, 9]), (4, [1, 3, 128, 64])] {
            out.push(Case::new("SpaceToDepth", &[("blocksize", Attribute::Int(b))]).input(element, &dims));
        }
    }
    out
}

fn double_cases() -> Vec<Case> {
    TYPES
        .iter()
        .flat_map(|&e| [[2, 3, 5, 7], [1, 1, 64, 257]].map(|dims| Case::new("ResizeNearest2x", &[]).input(e, &dims)))
        .collect()
}
