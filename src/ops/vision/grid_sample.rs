//! GridSample: a picture sampled where a grid says.

use super::window::{spatial, three};
use crate::kernels::kernel;
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count};
use crate::{Result, attribute_enum, attributes, ensure};

attribute_enum! {
    /// The numbers are those of shaders/vision/grid_sample.comp.
    pub enum SampleMode {
        /// Half to even.
        Nearest = "nearest",
        Linear = "linear",
        Cubic = "cubic",
    }
}

attribute_enum! {
    /// What lies outside of x.
    pub enum SamplePadding {
        Zeros = "zeros",
        Border = "border",
        Reflection = "reflection",
    }
}

attributes! {
    /// x [N,C,spatial..], grid [N,out..,axes] with coordinates in -1..1, those of x's last axis first. y [N,C,out..].
    pub struct GridSample {
        mode: SampleMode = SampleMode::Linear,
        padding_mode: SamplePadding = SamplePadding::Zeros,
        align_corners: bool = false,
    }
}

crate::entries!(GridSample: cases);

impl GridSample {
    /// Elements and weights along an axis of `n` elements at coordinate g.
    fn taps(&self, g: f64, n: usize) -> Vec<(Option<usize>, f64)> {
        let n = n as f64;
        let place = if self.align_corners { (g + 1.0) / 2.0 * (n - 1.0) } else { ((g + 1.0) * n - 1.0) / 2.0 };
        // Far outside only the side matters, of infinity too.
        let place = place.clamp(-1e9, 1e9);
        let floor = place.floor();
        let r = place - floor;
        let cubic = |d: f64| {
            let a = -0.75;
            if d <= 1.0 { ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0 } else { ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a }
        };
        match self.mode {
            SampleMode::Nearest => vec![(self.padded(place.round_ties_even(), n), 1.0)],
            SampleMode::Linear => vec![(self.padded(floor, n), 1.0 - r), (self.padded(floor + 1.0, n), r)],
            SampleMode::Cubic => (-1..3).map(|k| (self.padded(floor + f64::from(k), n), cubic((f64::from(k) - r).abs()))).collect(),
        }
    }

    /// The element that a tap stands for.
    fn padded(&self, i: f64, n: f64) -> Option<usize> {
        if (0.0..n).contains(&i) {
            return Some(i as usize);
        }
        match self.padding_mode {
            SamplePadding::Zeros => None,
            SamplePadding::Border => Some(i.clamp(0.0, n - 1.0) as usize),
            SamplePadding::Reflection if self.align_corners => {
                let period = (2.0 * (n - 1.0)).max(1.0);
                let i = i.abs().rem_euclid(period);
                Some(if i < n { i } else { period - i } as usize)
            }
            SamplePadding::Reflection => {
                let i = if i < 0.0 { -1.0 - i } else { i }.rem_euclid(2.0 * n);
                Some(if i < n { i } else { 2.0 * n - 1.0 - i } as usize)
            }
        }
    }

    fn sampled(&self, x: &[f64], extent: &[usize], at: &[f64]) -> f64 {
        if at.iter().any(|g| g.is_nan() || (g.is_infinite() && self.padding_mode == SamplePadding::Reflection)) {
            return f64::NAN;
        }
        let mut made_of = vec![(0, 1.0)];
        for (&n, &g) in extent.iter().zip(at.iter().rev()) {
            let taps = self.taps(g, n);
            made_of = made_of
                .iter()
                .flat_map(|&(place, w)| taps.iter().filter_map(move |&(i, v)| Some((place * n + i?, w * v))))
                .collect();
        }
        made_of.into_iter().map(|(place, w)| w * x[place]).sum()
    }
}

impl Operator for GridSample {
    fn name(&self) -> &'static str {
        "GridSample"
    }

    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(2..=2)?;
        let (x, grid) = (ins.get(0)?, ins.get(1)?);
        ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
        ensure!(
            grid.element == x.element,
            InvalidGraph,
            "x is {}, the grid is {}: the types must be the same",
            x.element,
            grid.element
        );
        let extent = spatial(x)?;
        let fits = grid.rank() == x.rank() && grid.dims[0] == x.dims[0] && grid.last() == extent.len();
        ensure!(fits, InvalidGraph, "the grid {grid} does not fit x {x}: [N, out.., {}] does", extent.len());
        let out = &grid.dims[1..grid.rank() - 1];
        let empty = extent.contains(&0) && element_count(out) > 0 && x.dims[0] > 0;
        ensure!(!empty, InvalidGraph, "x {x} has no elements to sample");
        Ok(vec![x.with_dims([&x.dims[..2], out].concat())])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (x, grid) = (at.input(0)?, at.input(1)?);
        let ty = at.output_type(0).clone();
        let (extent, axes) = (&x.dims()[2..], x.dims().len() - 2);
        let (plane, points, channels) = (element_count(extent), element_count(&ty.dims[2..]), ty.dims[1]);
        let (values, places) = (x.to_f64(), grid.to_f64());
        let value = |i: usize| {
            let (p, o) = (i / points, i % points);
            self.sampled(&values[p * plane..], extent, &places[(p / channels * points + o) * axes..][..axes])
        };
        let y: Vec<f64> = (0..ty.elements()).map(value).collect();
        Ok(vec![Tensor::from_f64(ty, &y)])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (x, y) = (at.input_type(0), at.output_type(0));
        let extent = &x.dims[2..];
        let (planes, points) = (x.dims[0] * x.dims[1], element_count(&y.dims[2..]));
        let fits = element_count(extent) < 1 << 31 && points * extent.len() < 1 << 31 && extent.iter().all(|&n| n < 1 << 24);
        ensure!(fits, Unsupported, "x {x} or y {y} is above the limit of 2^31 elements a plane, 2^24 an axis");
        let [depth, height, width] = three(extent, 1);
        let lanes = points.div_ceil(4).clamp(1, 256).next_power_of_two();
        let chunks = points.div_ceil(lanes * 4);
        let (from, grid, to) = (at.input(0), at.input(1), at.output(0));
        at.dispatch(kernel::grid_sample(x.element.name())?)
            .read("x", from)
            .read("grid", grid)
            .write("y", to)
            .uint("planes", planes)
            .uint("channels", x.dims[1])
            .uint("chunks", chunks)
            .uint("depth", depth)
            .uint("height", height)
            .uint("width", width)
            .uint("points", points)
            .spec("AXES", extent.len() as u32)
            .spec("MODE", self.mode as u32)
            .spec("PADDING", self.padding_mode as u32)
            .spec("ALIGN", self.align_corners.into())
            .spec("LANES", lanes as u32)
            .groups(planes.div_ceil(256 / lanes) * chunks)
    }

    fn terms(&self, ins: &Inputs<TensorType>) -> usize {
        let taps = [1usize, 2, 4][self.mode as usize];
        taps.pow(ins.opt(0).map_or(0, |x| x.rank().saturating_sub(2)) as u32)
    }
}

fn cases() -> Vec<Case> {
    let case = |mode: SampleMode, padding: SamplePadding, align: i64, element, x: &[usize], grid: &[usize]| {
        let attributes = [
            ("mode", Attribute::Text(mode.text().into())),
            ("padding_mode", Attribute::Text(padding.text().into())),
            ("align_corners", Attribute::Int(align)),
        ];
        Case::new("GridSample", &attributes).input(element, x).fill(element, grid, Fill::Range(-2.5, 2.5))
    };
    let mut out = Vec::new();
    for &mode in SampleMode::ALL {
        for &padding in SamplePadding::ALL {
            for align in 0..2 {
                out.push(case(mode, padding, align, ElementType::F32, &[2, 3, 5, 7], &[2, 9, 11, 2]));
            }
        }
        out.push(case(mode, SamplePadding::Reflection, 1, ElementType::F64, &[1, 2, 4, 1], &[1, 3, 5, 2]));
        out.push(case(mode, SamplePadding::Border, 0, ElementType::F16, &[1, 2, 4, 5], &[1, 3, 5, 2]));
        out.push(case(mode, SamplePadding::Zeros, 0, ElementType::F32, &[1, 2, 3, 4, 5], &[1, 2, 3, 4, 3]));
        out.push(case(mode, SamplePadding::Reflection, 0, ElementType::F32, &[1, 2, 9], &[1, 31, 1]));
    }
    let (linear, border) = (SampleMode::Linear, SamplePadding::Border);
    out.push(case(linear, border, 0, ElementType::F32, &[1, 1, 1500, 700], &[1, 40, 40, 2]));
    out.push(case(linear, border, 0, ElementType::F32, &[1, 1, 4, 4], &[1, 65537, 8, 2]));
    out.push(case(linear, border, 0, ElementType::F32, &[1, 2, 4, 4], &[1, 0, 8, 2]));
    for &padding in SamplePadding::ALL {
        let mut odd = case(linear, padding, 0, ElementType::F32, &[1, 1, 4, 4], &[1, 9, 1, 2]);
        let places = [f64::NAN, 0.0, 0.1, f64::INFINITY, f64::NEG_INFINITY, 0.3, 1e30, -1e30, 0.9, -0.2];
        odd.inputs[1] = Some((
            TensorType::new(ElementType::F32, [1, 9, 1, 2]),
            Fill::Values(places[..if padding == SamplePadding::Reflection { 6 } else { 10 }].to_vec()),
        ));
        out.push(odd);
    }
    out
}
