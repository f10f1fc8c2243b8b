//! RoiAlign: regions of pictures, each resampled to a grid of cells.

use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference, checked_index};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    /// What a cell is made of its samples.
    pub enum RoiMode {
        Average = "avg",
        /// The largest weighted corner value of all samples.
        Largest = "max",
    }
}

attribute_enum! {
    pub enum RoiCoordinates {
        HalfPixel = "half_pixel",
        /// No shift by half a pixel, and a region has at least one pixel.
        OutputHalfPixel = "output_half_pixel",
    }
}

attributes! {
    /// x [N,C,H,W], rois [R,4] as (x1, y1, x2, y2), batch [R]: the picture of each region. y [R,C,output_height,output_width].
    pub struct RoiAlign {
        output_height: usize = 1,
        output_width: usize = 1,
        spatial_scale: f64 = 1.0,
        /// Samples along each side of a cell; 0: as many as it has pixels, rounded up.
        sampling_ratio: usize = 0,
        mode: RoiMode = RoiMode::Average,
        coordinate_transformation_mode: RoiCoordinates = RoiCoordinates::HalfPixel,
    }
}

crate::entries!(RoiAlign: cases);

/// A region along one axis.
struct Side {
    start: f64,
    length: f64,
    samples: usize,
}

impl RoiAlign {
    fn side(&self, from: f64, to: f64, cells: usize) -> Side {
        let half_pixel = self.coordinate_transformation_mode == RoiCoordinates::HalfPixel;
        let start = from * self.spatial_scale - if half_pixel { 0.5 } else { 0.0 };
        let length = (to - from) * self.spatial_scale;
        let length = if half_pixel { length } else { length.max(1.0) };
        let samples = if self.sampling_ratio > 0 { self.sampling_ratio } else { (length / cells as f64).ceil().max(0.0) as usize };
        Side { start, length, samples }
    }

    /// For each sample of a cell, the elements it lies between and the weight of the second; none outside of the axis.
    fn samples(side: &Side, cells: usize, cell: usize, n: usize) -> Vec<Option<(usize, usize, f64)>> {
        let place = |i: usize| {
            let at = side.start + side.length * ((cell * side.samples + i) as f64 + 0.5) / (cells * side.samples) as f64;
            if !(-1.0..=n as f64).contains(&at) {
                return None;
            }
            let at = at.clamp(0.0, (n - 1) as f64);
            let low = at.floor() as usize;
            Some((low, (low + 1).min(n - 1), at - low as f64))
        };
        (0..side.samples).map(place).collect()
    }

    fn cell(&self, x: &[f64], width: usize, rows: &[Option<(usize, usize, f64)>], columns: &[Option<(usize, usize, f64)>]) -> f64 {
        let (mut sum, mut largest) = (0.0, f64::NEG_INFINITY);
        for row in rows {
            for column in columns {
                let (Some((y0, y1, wy)), Some((x0, x1, wx))) = (row, column) else {
                    largest = if largest.is_nan() { largest } else { largest.max(0.0) };
                    continue;
                };
                let q = [
                    (1.0 - wy) * (1.0 - wx) * x[y0 * width + x0],
                    (1.0 - wy) * wx * x[y0 * width + x1],
                    wy * (1.0 - wx) * x[y1 * width + x0],
                    wy * wx * x[y1 * width + x1],
                ];
                sum += q.iter().sum::<f64>();
                let best = if q.iter().any(|v| v.is_nan()) { f64::NAN } else { q.into_iter().fold(f64::NEG_INFINITY, f64::max) };
                largest = if largest.is_nan() || best.is_nan() { f64::NAN } else { largest.max(best) };
            }
        }
        let count = rows.len() * columns.len();
        match self.mode {
            RoiMode::Average => sum / count.max(1) as f64,
            RoiMode::Largest if count == 0 => 0.0,
            RoiMode::Largest => largest,
        }
    }
}

impl Operator for RoiAlign {
    fn name(&self) -> &'static str {
        "RoiAlign"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn checked_inputs(&self) -> &'static [usize] {
        &[2]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (x, rois, batch) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        ensure!(x.element.is_float() && x.rank() == 4, InvalidGraph, "takes floats [N, C, H, W], not {x}");
        let count = rois.dims.first().copied().unwrap_or(0);
        ensure!(*rois == TensorType::new(x.element, [count, 4]), InvalidGraph, "the regions are {rois}, not {} [R,4]", x.element);
        let fits = matches!(batch.element, ElementType::I32 | ElementType::I64) && batch.dims == [count];
        ensure!(fits, InvalidGraph, "the pictures of the regions are {batch}, not i32 or i64 [{count}]");
        let (h, w) = (self.output_height, self.output_width);
        ensure!((1..1 << 15).contains(&h) && (1..1 << 15).contains(&w), InvalidGraph, "an output of {h} x {w}, outside 1..32768");
        ensure!(self.sampling_ratio < 1 << 12, InvalidGraph, "sampling_ratio {} is above 4095", self.sampling_ratio);
        ensure!(self.spatial_scale.is_finite(), InvalidGraph, "spatial_scale {}", self.spatial_scale);
        ensure!(
            count == 0 || x.dims[1] == 0 || x.dims[2..].iter().all(|&n| n > 0),
            InvalidGraph,
            "x {x} has no elements to sample"
        );
        Ok(vec![x.with_dims([count, x.dims[1], h, w])])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, rois, batch) = (at.input(0)?, at.input(1)?, at.input(2)?);
        let [items, channels, height, width] = [0, 1, 2, 3].map(|d| x.dims()[d]);
        let (values, regions, pictures) = (x.to_f64(), rois.to_f64(), batch.to_i128());
        let mut y = Vec::new();
        for (r, region) in regions.chunks_exact(4).enumerate() {
            let item = checked_index(at, pictures[r], items, false, r)?;
            let (cells_down, cells_along) = (self.output_height, self.output_width);
            if region.iter().any(|v| v.is_nan()) {
                y.extend(vec![f64::NAN; channels * cells_down * cells_along]);
                continue;
            }
            let (down, along) = (self.side(region[1], region[3], cells_down), self.side(region[0], region[2], cells_along));
            for c in 0..channels {
                let plane = &values[(item * channels + c) * height * width..];
                for i in 0..cells_down * cells_along {
                    let rows = Self::samples(&down, cells_down, i / cells_along, height);
                    let columns = Self::samples(&along, cells_along, i % cells_along, width);
                    y.push(self.cell(plane, width, &rows, &columns));
                }
            }
        }
        Ok(vec![Tensor::from_f64(at.output_type(0).clone(), &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, batch) = (at.input_type(0), at.input_type(2));
        let [items, channels, height, width] = [0, 1, 2, 3].map(|d| x.dims[d]);
        ensure!(height * width < 1 << 31, Unsupported, "{x}: a plane is above the limit of 2^31 elements");
        let cells = self.output_height * self.output_width;
        let planes = at.output_type(0).dims[0] * channels;
        let lanes = cells.clamp(1, 256).next_power_of_two();
        let chunks = cells.div_ceil(lanes);
        let wide = batch.element == ElementType::I64;
        let (from, rois, pictures, to) = (at.input(0), at.input(1), at.input(2), at.output(0));
        let (state, node) = (at.run_state(), at.node_number());
        at.dispatch(kernel::roi_align(x.element.name())?)
            .read("x", from)
            .read("rois", rois)
            .read("batch", pictures)
            .write("y", to)
            .read_write("state", state)
            .uint("node", node as usize)
            .uint("planes", planes)
            .uint("channels", channels)
            .uint("items", items)
            .uint("height", height)
            .uint("width", width)
            .uint("y_height", self.output_height)
            .uint("y_width", self.output_width)
            .uint("sampling", self.sampling_ratio)
            .uint("chunks", chunks)
            .float("scale", self.spatial_scale)
            .spec("LARGEST", (self.mode == RoiMode::Largest).into())
            .spec("HALF_PIXEL", (self.coordinate_transformation_mode == RoiCoordinates::HalfPixel).into())
            .spec("LANES", lanes as u32)
            .spec("WIDE_INDEX", wide.into())
            .groups(planes.div_ceil(256 / lanes) * chunks)
    }

    fn terms(&self, _ins: &Inputs<TensorType>) -> usize {
        4 * self.sampling_ratio.pow(2).max(1)
    }
}

fn cases() -> Vec<Case> {
    let case = |mode: RoiMode, coordinates: RoiCoordinates, sampling: i64, element, x: &[usize], regions: usize, size: f64| {
        let attributes = [
            ("mode", Attribute::Text(mode.text().into())),
            ("coordinate_transformation_mode", Attribute::Text(coordinates.text().into())),
            ("sampling_ratio", Attribute::Int(sampling)),
            ("output_height", Attribute::Int(3)),
            ("output_width", Attribute::Int(2)),
            ("spatial_scale", Attribute::Float(0.75)),
        ];
        // Corners: the second right of and below the first, mostly.
        let corners: Vec<f64> = (0..28).map(|i| ((i * 37 % 11) as f64 / 11.0 - 0.1 + (i % 4 / 2) as f64 * 0.4) * size).collect();
        Case::new("RoiAlign", &attributes).input(element, x).fill(element, &[regions, 4], Fill::Values(corners)).fill(
            ElementType::I64,
            &[regions],
            Fill::Range(0.0, x[0] as f64),
        )
    };
    let mut out = Vec::new();
    for &mode in RoiMode::ALL {
        for &coordinates in RoiCoordinates::ALL {
            for sampling in [0, 1, 3] {
                out.push(case(mode, coordinates, sampling, ElementType::F32, &[2, 3, 10, 12], 7, 16.0));
            }
        }
        for element in [ElementType::F16, ElementType::Bf16, ElementType::F64] {
            out.push(case(mode, RoiCoordinates::HalfPixel, 2, element, &[1, 2, 6, 7], 5, 8.0));
        }
        out.push(case(mode, RoiCoordinates::HalfPixel, 0, ElementType::F32, &[1, 1, 300, 500], 7, 600.0));
        out.push(case(mode, RoiCoordinates::HalfPixel, 0, ElementType::F32, &[1, 1, 3, 4], 5, 1000.0));
        out.push(case(mode, RoiCoordinates::HalfPixel, 2, ElementType::F32, &[1, 2, 5, 5], 0, 4.0));
    }
    out
}
