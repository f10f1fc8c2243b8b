//! Resize: nearest, linear and cubic resampling along any axes.

use super::coordinates::{Fraction, Resampling, Taps};
use crate::kernels::kernel;
use crate::ops::movement::strided::{divider, halves, unit_name};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, list_text, row_strides};
use crate::{Result, attribute_enum, attributes, bail, ensure};

attribute_enum! {
    pub enum ResizeMode {
        Nearest = "Nearest",
        Linear = "Linear",
        Cubic = "Cubic",
    }
}

attribute_enum! {
    /// Where an output lies in the input, as ONNX names it.
    pub enum CoordinateMode {
        HalfPixel = "half_pixel",
        Asymmetric = "asymmetric",
        AlignCorners = "align_corners",
        PytorchHalfPixel = "pytorch_half_pixel",
        HalfPixelSymmetric = "half_pixel_symmetric",
    }
}

attribute_enum! {
    pub enum NearestMode {
        RoundPreferFloor = "round_prefer_floor",
        RoundPreferCeil = "round_prefer_ceil",
        Floor = "floor",
        Ceil = "ceil",
    }
}

attributes! {
    /// Either scales or sizes, one an axis of x.
    pub struct Resize {
        scales: Option<Vec<f64>>,
        sizes: Option<Vec<i64>>,
        mode: ResizeMode,
        coordinate_mode: CoordinateMode = CoordinateMode::HalfPixel,
        nearest_mode: NearestMode = NearestMode::RoundPreferFloor,
        cubic_a: f64 = -0.75,
        antialias: bool = false,
    }
}

crate::entries!(Resize: cases);

/// An axis of the copy: outputs, stride in x, and what each output is made of where the axis is resampled.
struct Axis {
    size: usize,
    stride: usize,
    table: Option<Vec<Taps>>,
}

impl Resize {
    /// Output length and scale of each axis.
    fn lengths(&self, x: &TensorType) -> Result<Vec<(usize, Fraction)>> {
        let rank = x.rank();
        match (&self.scales, &self.sizes) {
            (Some(scales), None) => {
                ensure!(scales.len() == rank, InvalidGraph, "{} scales for {x}", scales.len());
                scales
                    .iter()
                    .zip(&x.dims)
                    .map(|(&s, &n)| {
                        let scale = Fraction::from_f64(s)?;
                        let length = (scale.num * n as i128).div_euclid(scale.den);
                        ensure!(length < 1 << 31, InvalidGraph, "{n} elements times {s} are too many");
                        Ok((length as usize, scale))
                    })
                    .collect()
            }
            (None, Some(sizes)) => {
                ensure!(sizes.len() == rank, InvalidGraph, "{} sizes for {x}", sizes.len());
                let length = |(&m, &n): (&i64, &usize)| {
                    ensure!(
                        (0..1 << 31).contains(&m),
                        InvalidGraph,
                        "sizes {sizes}: {m} is outside 0 to 2^31 - 1",
                        sizes = list_text(&sizes)
                    );
                    Ok((m as usize, Fraction::new(m.max(1).into(), n.max(1) as i128)))
                };
                sizes.iter().zip(&x.dims).map(length).collect()
            }
            _ => bail!(InvalidGraph, "needs scales or sizes, and not both"),
        }
    }

    /// The axes of x, neighbours that are only walked through as one.
    fn axes(&self, x: &TensorType) -> Result<Vec<Axis>> {
        let strides = row_strides(&x.dims);
        let mut out: Vec<Axis> = Vec::new();
        for (a, (output, scale)) in self.lengths(x)?.into_iter().enumerate() {
            let sampling = Resampling {
                mode: self.mode,
                coordinates: self.coordinate_mode,
                nearest: self.nearest_mode,
                cubic_a: self.cubic_a,
                antialias: self.antialias,
                input: x.dims[a],
                output,
                scale,
            };
            // A scale of exactly 1 leaves every coordinate as it is.
            let plain = scale.num == scale.den && output == x.dims[a];
            let table = if plain || output == 0 { None } else { Some(sampling.table()?) };
            match out.last_mut() {
                Some(outer) if table.is_none() && outer.table.is_none() => {
                    *outer = Axis { size: outer.size * output, stride: strides[a], table: None };
                }
                _ => out.push(Axis { size: output, stride: strides[a], table }),
            }
        }
        Ok(out)
    }
}

/// The words of the shader's `params`, and the places of the axes that are resampled.
fn words(axes: &[Axis]) -> Result<(Vec<u32>, Vec<usize>)> {
    let (mut words, mut tables, mut sampled) = (Vec::new(), Vec::new(), Vec::new());
    for (place, axis) in axes.iter().rev().enumerate() {
        let [multiplier, shift] = divider(axis.size)?;
        let [low, high] = halves(axis.stride as u64);
        let taps = axis.table.as_ref().map_or(0, |t| t[0].len());
        words.extend([axis.size as u32, multiplier, shift, low, high, taps as u32, (axes.len() * 8 + tables.len()) as u32, 0]);
        if let Some(table) = &axis.table {
            sampled.push(place);
            tables.extend(table.iter().flatten().flat_map(|&(index, weight)| [index as u32, (weight as f32).to_bits()]));
        }
    }
    words.extend(tables);
    Ok((words, sampled))
}

impl Operator for Resize {
    fn name(&self) -> &'static str {
        "Resize"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        let x = ins.get(0)?;
        let fits = x.element.is_float() || (self.mode == ResizeMode::Nearest && !x.element.is_block());
        ensure!(fits, InvalidGraph, "mode {} does not take {}", self.mode.text(), x.element);
        let dims: Vec<usize> = self.lengths(x)?.iter().map(|l| l.0).collect();
        for (&m, &n) in dims.iter().zip(&x.dims) {
            ensure!(n > 0 || m == 0, InvalidGraph, "an axis of no elements cannot become {m}");
        }
        Ok(vec![x.with_dims(dims)])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let x = at.input(0)?;
        let ty = at.output_type(0).clone();
        let axes = self.axes(x.ty())?;
        let sizes: Vec<usize> = axes.iter().map(|a| a.size).collect();
        let steps = row_strides(&sizes);
        // Element and weight of everything that output i is made of.
        let made_of = |i: usize| {
            axes.iter().zip(&steps).fold(vec![(0, 1.0)], |sum, (axis, step)| {
                let c = i / step % axis.size;
                let plain = vec![(c, 1.0)];
                let taps = axis.table.as_ref().map_or(&plain, |t| &t[c]);
                sum.iter().flat_map(|&(at, w)| taps.iter().map(move |&(index, v)| (at + index * axis.stride, w * v))).collect()
            })
        };
        if self.mode == ResizeMode::Nearest {
            let bytes = ty.element.block_bytes();
            let mut y = Tensor::zeros(ty);
            for (i, out) in y.bytes_mut().chunks_exact_mut(bytes).enumerate() {
                out.copy_from_slice(&x.bytes()[made_of(i)[0].0 * bytes..][..bytes]);
            }
            return Ok(vec![y]);
        }
        let values = x.to_f64();
        let y: Vec<f64> = (0..ty.elements()).map(|i| made_of(i).into_iter().map(|(at, w)| w * values[at]).sum()).collect();
        Ok(vec![Tensor::from_f64(ty, &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, y) = (at.input_type(0), at.output_type(0));
        let count = y.elements();
        ensure!(count < 1 << 31, Unsupported, "{y} has {count} elements, above the limit of 2^31");
        let axes = self.axes(x)?;
        let (words, sampled) = words(&axes)?;
        // With nothing to resample it is a copy.
        let nearest = self.mode == ResizeMode::Nearest || sampled.is_empty();
        let (a, b) = (sampled.first().copied().unwrap_or(0), sampled.get(1).or(sampled.first()).copied().unwrap_or(0));
        let taps = |place: usize| axes[axes.len() - 1 - place].table.as_ref().map_or(1, |t| t[0].len());
        let others: usize = sampled.iter().skip(2).map(|&place| taps(place)).product();
        let params = at.constants(&words);
        let (from, to) = (at.input(0), at.output(0));
        let kernel =
            if nearest { kernel::resize_nearest(&unit_name(x.element.block_bytes()))? } else { kernel::resize(x.element.name())? };
        at.dispatch(kernel)
            .read("x", from)
            .write("y", to)
            .read("params", params)
            .uint("count", count)
            .uint("axes", axes.len())
            .uint("axis_a", a)
            .uint("axis_b", b)
            .uint("others", others)
            .threads(count)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        let axes = ins.opt(0).and_then(|x| self.axes(x).ok()).unwrap_or_default();
        axes.iter().filter_map(|a| a.table.as_ref()).map(|t| t[0].len()).product()
    }
}

fn cases() -> Vec<Case> {
    let text = |v: &str| Attribute::Text(v.into());
    let ints = |v: &[i64]| Attribute::Ints(v.to_vec());
    let mut out = Vec::new();
    for &mode in ResizeMode::ALL {
        for &coordinates in CoordinateMode::ALL {
            let modes = [("mode", text(mode.text())), ("coordinate_mode", text(coordinates.text()))];
            let sizes = [&modes[..], &[("sizes", ints(&[1, 2, 8, 4]))]].concat();
            out.push(Case::new("Resize", &sizes).input(ElementType::F32, &[1, 2, 5, 7]));
            let scales = [&modes[..], &[("scales", Attribute::Floats(vec![1.0, 1.0, 0.6, 1.7]))]].concat();
            out.push(Case::new("Resize", &scales).input(ElementType::F32, &[1, 1, 7, 5]));
        }
        for element in [ElementType::F16, ElementType::Bf16, ElementType::F64] {
            let attributes = [("mode", text(mode.text())), ("sizes", ints(&[2, 3, 11, 13]))];
            out.push(Case::new("Resize", &attributes).input(element, &[2, 3, 5, 17]));
        }
        let volume = [("mode", text(mode.text())), ("sizes", ints(&[2, 1, 5, 3, 7]))];
        out.push(Case::new("Resize", &volume).input(ElementType::F32, &[1, 1, 3, 4, 5]));
        let smooth = [("mode", text(mode.text())), ("sizes", ints(&[1, 1, 4, 5])), ("antialias", Attribute::Int(1))];
        out.push(Case::new("Resize", &smooth).input(ElementType::F32, &[1, 1, 19, 12]));
        let rows = [("mode", text(mode.text())), ("sizes", ints(&[65537, 2]))];
        out.push(Case::new("Resize", &rows).fill(ElementType::F32, &[65537, 3], Fill::Range(1.0, 2.0)));
        let same = [("mode", text(mode.text())), ("sizes", ints(&[3, 4]))];
        out.push(Case::new("Resize", &same).input(ElementType::F32, &[3, 4]));
        let empty = [("mode", text(mode.text())), ("sizes", ints(&[0, 1, 6]))];
        out.push(Case::new("Resize", &empty).input(ElementType::F32, &[0, 1, 4]));
    }
    for &nearest in NearestMode::ALL {
        let attributes = [("mode", text("Nearest")), ("nearest_mode", text(nearest.text())), ("sizes", ints(&[3, 10]))];
        out.push(Case::new("Resize", &attributes).input(ElementType::U8, &[5, 4]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_or_sizes_are_needed() {
        let x = TensorType::new(ElementType::F32, [1, 1, 4, 4]);
        let resize = |scales: Option<Vec<f64>>, sizes: Option<Vec<i64>>| {
            let op = Resize {
                scales,
                sizes,
                mode: ResizeMode::Linear,
                coordinate_mode: CoordinateMode::HalfPixel,
                nearest_mode: NearestMode::Floor,
                cubic_a: -0.75,
                antialias: false,
            };
            op.infer(&Inputs(&[Some(&x)]))
        };
        assert_eq!(resize(Some(vec![1.0, 1.0, 0.7, 1.99]), None).expect("fits")[0].dims, [1, 1, 2, 7]);
        assert!(resize(None, None).is_err());
        assert!(resize(Some(vec![1.0; 4]), Some(vec![1; 4])).is_err());
        assert!(resize(Some(vec![1.0; 3]), None).is_err());
        assert!(resize(Some(vec![1.0, 1.0, 0.0, 1.0]), None).is_err());
        assert!(resize(None, Some(vec![1, 1, -1, 4])).is_err());
    }
}
