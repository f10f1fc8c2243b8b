//! A sum over taps that slide over the spatial axes (shaders/vision/sweep.glsl): convolutions and transposed convolutions.

use crate::kernels::{Caps, kernel};
use crate::ops::contraction::Activation;
use crate::ops::movement::strided::halves;
use crate::ops::{Lowering, Operand};
use crate::tensor::ElementType;
use crate::{Result, ensure, error};

/// One weight of the kernel: where it lies relative to a channel's first, and what it touches relative to j * step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tap {
    pub weight: usize,
    pub at: [i64; 3],
}

/// Positions j < counts write y at start + j * out_step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    pub taps: Vec<Tap>,
    pub counts: [usize; 3],
    pub start: [usize; 3],
}

#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    pub element: ElementType,
    pub batch: usize,
    pub groups: usize,
    /// Output and input channels of a group.
    pub rows: usize,
    pub channels: usize,
    pub extent: [usize; 3],
    pub step: [usize; 3],
    pub y_extent: [usize; 3],
    pub out_step: [usize; 3],
    /// Strides of the weights in elements.
    pub w_group: usize,
    pub w_row: usize,
    pub w_channel: usize,
    /// One for each remainder of an output coordinate by `out_step`, in row-major order.
    pub phases: Vec<Phase>,
}

/// The operands of a sweep.
#[derive(Clone, Copy)]
pub struct Operands {
    pub x: Operand,
    pub w: Operand,
    pub bias: Option<Operand>,
    pub act: Activation,
    pub y: Operand,
}

/// How to compute a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Algorithm {
    /// conv_direct.comp
    Direct,
    /// conv_tiled.comp with tiles of so many rows and columns, and so many parts of the sum.
    Tiled { tile: usize, splits: usize, chunk: usize },
}

/// Fewer rows than this leave most of a tile empty.
const FEW_ROWS: usize = 16;

/// Bytes of partial sums above which a split costs more than it gains.
const MOST_PARTIAL_BYTES: usize = 64 << 20;

impl Sweep {
    fn terms(&self) -> usize {
        self.channels * self.phases.iter().map(|p| p.taps.len()).max().unwrap_or(0)
    }

    fn columns(&self) -> usize {
        self.batch * self.phases.iter().map(|p| p.counts.iter().product()).max().unwrap_or(0)
    }

    fn y_plane(&self) -> usize {
        self.y_extent.iter().product()
    }

    fn x_plane(&self) -> usize {
        self.extent.iter().product()
    }

    fn choose(&self, caps: &Caps) -> Algorithm {
        let (terms, columns) = (self.terms(), self.columns());
        if self.rows < FEW_ROWS || terms < 8 || columns < 8 {
            return Algorithm::Direct;
        }
        let full = if caps.software { 8 } else { 128 };
        let tiles = |tile: usize| self.rows.div_ceil(tile) * columns.div_ceil(tile) * self.groups * self.phases.len();
        let large = self.element != ElementType::F64 && !caps.software && self.rows > 64 && tiles(128) >= full;
        let tile = if large { 128 } else { 64 };
        let sums = self.batch * self.groups * self.rows * self.y_plane();
        let most = (terms / 256).min(MOST_PARTIAL_BYTES / (8 * sums).max(1));
        let splits = (2 * full / tiles(tile)).min(most).max(1);
        let chunk = terms.div_ceil(splits).next_multiple_of(16);
        Algorithm::Tiled { tile, splits: terms.div_ceil(chunk), chunk }
    }

    /// The words of the shader's `params`.
    fn words(&self) -> Result<Vec<u32>> {
        let word = |v: usize| u32::try_from(v).map_err(|_| error!(Unsupported, "{v} is above the limit of 2^32"));
        let signed =
            |v: i64| i32::try_from(v).map(|v| v as u32).map_err(|_| error!(Unsupported, "an offset of {v} is above the limit"));
        let triple = |v: [usize; 3]| -> Result<Vec<u32>> { v.into_iter().map(word).collect() };
        let mut out = vec![word(self.rows)?, word(self.channels)?, word(self.groups)?, word(self.batch)?];
        for (three, one) in [
            (self.extent, self.x_plane()),
            (self.step, self.y_plane()),
            (self.y_extent, self.w_row),
            (self.out_step, self.w_channel),
        ] {
            out.extend(triple(three)?);
            out.push(word(one)?);
        }
        out.extend(halves(self.w_group as u64));
        out.extend([(24 + 8 * self.phases.len() as u32) / 4, self.phases.len() as u32]);
        let mut first = 0;
        for phase in &self.phases {
            out.extend([first, word(phase.taps.len())?]);
            out.extend(triple(phase.counts)?);
            out.extend(triple(phase.start)?);
            first += phase.taps.len() as u32;
        }
        let [_, height, width] = self.extent.map(|n| n as i64);
        for tap in self.phases.iter().flat_map(|p| &p.taps) {
            let [z, y, x] = tap.at;
            // Wraps round for negative offsets; the shader adds it to the place of a position.
            let offset = ((z * height + y) * width + x) as u32;
            out.extend([word(tap.weight)?, offset, signed(z)?, signed(y)?, signed(x)?, 0, 0, 0]);
        }
        Ok(out)
    }

    fn check_limits(&self) -> Result<()> {
        let channels = self.groups * self.rows;
        let largest = (self.channels * self.x_plane())
            .max(channels * self.y_plane())
            .max(self.rows * self.w_row + self.channels * self.w_channel);
        ensure!(largest < 1 << 31, Unsupported, "a batch item or the weights have {largest} elements, above the limit of 2^31");
        ensure!(self.columns() < 1 << 31, Unsupported, "{} positions are above the limit of 2^31", self.columns());
        Ok(())
    }

    pub fn lower(&self, at: &mut Lowering, o: Operands) -> Result<()> {
        self.check_limits()?;
        let params = at.constants(&self.words()?);
        match self.choose(at.caps) {
            Algorithm::Direct => self.lower_direct(at, o, params),
            Algorithm::Tiled { tile, splits, chunk } => self.lower_tiled(at, o, params, [tile, splits, chunk]),
        }
    }

    fn lower_direct(&self, at: &mut Lowering, o: Operands, params: Operand) -> Result<()> {
        let planes = self.batch * self.groups * self.rows;
        let lanes = self.y_plane().div_ceil(4).clamp(1, 256).next_power_of_two();
        let chunks = self.y_plane().div_ceil(lanes * 4);
        at.dispatch(kernel::conv_direct(self.element.name())?)
            .read("x", o.x)
            .read("w", o.w)
            .read("bias", o.bias.unwrap_or(o.w))
            .write("y", o.y)
            .read("params", params)
            .uint("planes", planes)
            .uint("chunks", chunks)
            .spec("ACT", o.act as u32)
            .spec("BIAS", o.bias.is_some().into())
            .spec("LANES", lanes as u32)
            .groups(planes.div_ceil(256 / lanes) * chunks)
    }

    fn lower_tiled(&self, at: &mut Lowering, o: Operands, params: Operand, [tile, splits, chunk]: [usize; 3]) -> Result<()> {
        let (row_tiles, col_tiles) = (self.rows.div_ceil(tile), self.columns().div_ceil(tile));
        let name = self.element.name();
        let kernel = if tile == 128 { kernel::conv_tiled_large(name, "large") } else { kernel::conv_tiled(name, "small") };
        let channels = self.groups * self.rows;
        let count = self.batch * channels * self.y_plane();
        let sum_bytes = if self.element == ElementType::F64 { 8 } else { 4 };
        let parts = if splits > 1 { at.temp(splits * count * sum_bytes) } else { o.y };
        let dispatch = at.dispatch(kernel?);
        let dispatch =
            if splits > 1 { dispatch.read("y", o.w).write("parts", parts) } else { dispatch.write("y", o.y).read("parts", o.w) };
        dispatch
            .read("x", o.x)
            .read("w", o.w)
            .read("bias", o.bias.unwrap_or(o.w))
            .read("params", params)
            .uint("row_tiles", row_tiles)
            .uint("col_tiles", col_tiles)
            .uint("splits", splits)
            .uint("chunk", chunk)
            .uint("groups", self.groups)
            .spec("ACT", o.act as u32)
            .spec("BIAS", o.bias.is_some().into())
            .spec("SPLIT", (splits > 1).into())
            .groups(row_tiles * col_tiles * splits * self.groups * self.phases.len())?;
        if splits == 1 {
            return Ok(());
        }
        at.dispatch(kernel::conv_sum(name)?)
            .read("parts", parts)
            .read("bias", o.bias.unwrap_or(o.w))
            .write("y", o.y)
            .uint("count", count)
            .uint("splits", splits)
            .uint("channels", channels)
            .uint("plane", self.y_plane())
            .spec("ACT", o.act as u32)
            .spec("BIAS", o.bias.is_some().into())
            .threads(count)
    }

    /// The sums in f64, before bias and activation.
    pub fn reference(&self, x: &[f64], w: &[f64]) -> Vec<f64> {
        let (x_plane, y_plane, channels) = (self.x_plane(), self.y_plane(), self.groups * self.rows);
        let mut y = vec![0.0; self.batch * channels * y_plane];
        let [depth, height, width] = self.extent.map(|n| n as i64);
        for (plane, out) in y.chunks_exact_mut(y_plane.max(1)).enumerate() {
            let (n, channel) = (plane / channels, plane % channels);
            let (g, m) = (channel / self.rows, channel % self.rows);
            let x = &x[(n * self.groups + g) * self.channels * x_plane..];
            let w = &w[g * self.w_group + m * self.w_row..];
            for phase in &self.phases {
                let [jz, jy, jx] = phase.counts;
                for j in 0..jz * jy * jx {
                    let j = [j / jx / jy, j / jx % jy, j % jx];
                    let base: [i64; 3] = std::array::from_fn(|a| (j[a] * self.step[a]) as i64);
                    let mut sum = 0.0;
                    for tap in &phase.taps {
                        let [z, y, x_at] = [base[0] + tap.at[0], base[1] + tap.at[1], base[2] + tap.at[2]];
                        if !(0..depth).contains(&z) || !(0..height).contains(&y) || !(0..width).contains(&x_at) {
                            continue;
                        }
                        let from = ((z * height + y) * width + x_at) as usize;
                        sum += (0..self.channels).map(|c| w[c * self.w_channel + tap.weight] * x[c * x_plane + from]).sum::<f64>();
                    }
                    let to: [usize; 3] = std::array::from_fn(|a| phase.start[a] + j[a] * self.out_step[a]);
                    out[(to[0] * self.y_extent[1] + to[1]) * self.y_extent[2] + to[2]] = sum;
                }
            }
        }
        y
    }
}
