//! Conv and ConvTranspose over 1, 2 or 3 spatial axes.

use super::sweep::{Operands, Phase, Sweep, Tap};
use super::window::{Window, three};
use crate::ops::contraction::Activation;
use crate::ops::{Attribute, Attributes, Case, Inputs, Lowering, Operator, Reference};
use crate::tensor::{ElementType, Tensor, TensorType, element_count, list_text};
use crate::{Result, attributes, ensure, error};

attributes! {
    /// x [N,Cin,spatial..], w [Cout,Cin/groups,k..], [bias [Cout]].
    pub struct Conv {
        stride: Vec<i64>,
        pad_begin: Vec<i64>,
        pad_end: Vec<i64>,
        dilation: Vec<i64>,
        groups: usize = 1,
        act: Activation = Activation::None,
    }
}

attributes! {
    /// The transpose of a Conv: x [N,Cin,spatial..], w [Cin,Cout/groups,k..], [bias [Cout]].
    pub struct ConvTranspose {
        stride: Vec<i64>,
        pad_begin: Vec<i64>,
        pad_end: Vec<i64>,
        dilation: Vec<i64>,
        output_padding: Vec<i64>,
        groups: usize = 1,
    }
}

crate::entries!(Conv: conv_cases, ConvTranspose: transpose_cases);

/// What both operators can be described by.
trait Convolution {
    fn act(&self) -> Activation;
    /// The result's dims, and how it is computed.
    fn sweep(&self, x: &TensorType, w: &TensorType) -> Result<(Vec<usize>, Sweep)>;
}

/// Checks x and w; gives the groups' share of x's channels.
fn check_operands(x: &TensorType, w: &TensorType, groups: usize) -> Result<usize> {
    ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
    ensure!(w.element == x.element, InvalidGraph, "x is {}, w is {}: the types must be the same", x.element, w.element);
    super::window::spatial(x)?;
    ensure!(w.rank() == x.rank(), InvalidGraph, "x is {x}, w is {w}: the ranks differ");
    let channels = x.dims[1];
    ensure!(groups > 0 && channels % groups == 0, InvalidGraph, "{channels} channels do not make {groups} groups");
    Ok(channels / groups)
}

impl Convolution for Conv {
    fn act(&self) -> Activation {
        self.act
    }

    fn sweep(&self, x: &TensorType, w: &TensorType) -> Result<(Vec<usize>, Sweep)> {
        let channels = check_operands(x, w, self.groups)?;
        let groups = self.groups;
        ensure!(
            w.dims[1] == channels,
            InvalidGraph,
            "w {w} takes {} channels a group, x {x} has {channels} in each of {groups}",
            w.dims[1]
        );
        ensure!(w.dims[0] % groups == 0, InvalidGraph, "{} output channels do not make {groups} groups", w.dims[0]);
        let window = Window::new(x, &w.dims[2..], &self.stride, &self.pad_begin, &self.pad_end, &self.dilation)?;
        let counts = window.counts(false)?;
        let volume = element_count(&w.dims[2..]);
        let begin: [usize; 3] = three(&window.begin, 0);
        let tap = |(weight, at): (usize, Vec<usize>)| {
            let at: [usize; 3] = three(&at, 0);
            Tap { weight, at: std::array::from_fn(|a| at[a] as i64 - begin[a] as i64) }
        };
        let taps = window.taps().into_iter().enumerate().map(tap).collect();
        let y_extent = three(&counts, 1);
        let rows = w.dims[0] / groups;
        let sweep = Sweep {
            element: x.element,
            batch: x.dims[0],
            groups,
            rows,
            channels,
            extent: three(&window.extent, 1),
            step: three(&window.stride, 1),
            y_extent,
            out_step: [1; 3],
            w_group: rows * channels * volume,
            w_row: channels * volume,
            w_channel: volume,
            phases: vec![Phase { taps, counts: y_extent, start: [0; 3] }],
        };
        Ok(([&[x.dims[0], w.dims[0]], &counts[..]].concat(), sweep))
    }
}

impl ConvTranspose {
    /// Lengths of the result's spatial axes.
    fn lengths(&self, window: &Window) -> Result<Vec<usize>> {
        let axes = window.axes();
        ensure!(
            self.output_padding.len() == axes,
            InvalidGraph,
            "output_padding {} for {axes} spatial axes",
            list_text(&self.output_padding)
        );
        (0..axes)
            .map(|a| {
                let more = usize::try_from(self.output_padding[a]).ok().filter(|&v| v < 1 << 31);
                let more = more.ok_or_else(|| error!(InvalidGraph, "output_padding {}", list_text(&self.output_padding)))?;
                let full = window.extent[a].checked_sub(1).map_or(0, |n| n * window.stride[a]) + window.reach(a) + more;
                let length = full.checked_sub(window.begin[a] + window.end[a]);
                length.ok_or_else(|| {
                    error!(InvalidGraph, "the padding of axis {} crops more than the {full} elements of the result", a + 2)
                })
            })
            .collect()
    }

    /// The taps that reach outputs of remainder `r` by the stride, and how many such outputs there are.
    fn phase(window: &Window, lengths: [usize; 3], r: [usize; 3]) -> Phase {
        let (stride, begin): ([usize; 3], [usize; 3]) = (three(&window.stride, 1), three(&window.begin, 0));
        let mut taps = Vec::new();
        for (weight, at) in window.taps().into_iter().enumerate() {
            let at: [usize; 3] = three(&at, 0);
            let distance: [i64; 3] = std::array::from_fn(|a| (r[a] + begin[a]) as i64 - at[a] as i64);
            if (0..3).all(|a| distance[a] % stride[a] as i64 == 0) {
                taps.push(Tap { weight, at: std::array::from_fn(|a| distance[a] / stride[a] as i64) });
            }
        }
        Phase { taps, counts: std::array::from_fn(|a| lengths[a].saturating_sub(r[a]).div_ceil(stride[a])), start: r }
    }
}

impl Convolution for ConvTranspose {
    fn act(&self) -> Activation {
        Activation::None
    }

    /// An output of coordinate o is reached by the taps k with o + pad - k * dilation = i * stride: for outputs that leave the same
    /// remainder these are the same, so each remainder is a convolution of its own, with stride 1.
    fn sweep(&self, x: &TensorType, w: &TensorType) -> Result<(Vec<usize>, Sweep)> {
        let channels = check_operands(x, w, self.groups)?;
        let groups = self.groups;
        ensure!(w.dims[0] == x.dims[1], InvalidGraph, "w {w} takes {} channels, x is {x}", w.dims[0]);
        let window = Window::new(x, &w.dims[2..], &self.stride, &self.pad_begin, &self.pad_end, &self.dilation)?;
        let lengths = self.lengths(&window)?;
        let (y_extent, out_step): ([usize; 3], [usize; 3]) = (three(&lengths, 1), three(&window.stride, 1));
        let remainders = element_count(&out_step);
        ensure!(
            remainders <= 1 << 16,
            Unsupported,
            "strides {} have {remainders} remainders, above the limit of 65536",
            list_text(&window.stride)
        );
        let [_, sy, sx] = out_step;
        let phases = (0..remainders).map(|r| Self::phase(&window, y_extent, [r / sx / sy, r / sx % sy, r % sx])).collect();
        let (rows, volume) = (w.dims[1], element_count(&w.dims[2..]));
        let sweep = Sweep {
            element: x.element,
            batch: x.dims[0],
            groups,
            rows,
            channels,
            extent: three(&window.extent, 1),
            step: [1; 3],
            y_extent,
            out_step,
            w_group: channels * rows * volume,
            w_row: volume,
            w_channel: rows * volume,
            phases,
        };
        Ok(([&[x.dims[0], groups * rows], &lengths[..]].concat(), sweep))
    }
}

fn infer<T: Convolution>(op: &T, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
    ins.expect(2..=3)?;
    let (x, w) = (ins.get(0)?, ins.get(1)?);
    let (dims, _) = op.sweep(x, w)?;
    if let Some(bias) = ins.opt(2) {
        let want = TensorType::new(x.element, [dims[1]]);
        ensure!(*bias == want, InvalidGraph, "the bias is {bias}, not {want}: one value an output channel");
    }
    Ok(vec![x.with_dims(dims)])
}

fn reference<T: Convolution>(op: &T, at: &Reference) -> Result<Vec<Tensor>> {
    let (x, w) = (at.input(0)?, at.input(1)?);
    let (_, sweep) = op.sweep(x.ty(), w.ty())?;
    let mut y = sweep.reference(&x.to_f64(), &w.to_f64());
    let bias = at.opt(2).map(Tensor::to_f64);
    let ty = at.output_type(0).clone();
    let plane = element_count(&ty.dims[2..]);
    for (i, v) in y.iter_mut().enumerate() {
        let bias = bias.as_ref().map_or(0.0, |b| b[i / plane % ty.dims[1]]);
        *v = op.act().apply(*v + bias);
    }
    Ok(vec![Tensor::from_f64(ty, &y)])
}

fn lower<T: Convolution>(op: &T, at: &mut Lowering) -> Result<()> {
    let (_, sweep) = op.sweep(at.input_type(0), at.input_type(1))?;
    let bias = at.has_input(2).then(|| at.input(2));
    let operands = Operands { x: at.input(0), w: at.input(1), bias, act: op.act(), y: at.output(0) };
    sweep.lower(at, operands)
}

macro_rules! convolutions {
    ($($name:ident),*) => {
        $(impl Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> Attributes {
                self.to_attributes()
            }
            fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
                infer(self, ins)
            }
            fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
                reference(self, at)
            }
            fn lower(&self, at: &mut Lowering) -> Result<()> {
                lower(self, at)
            }
            fn terms(&self, ins: &Inputs<TensorType>) -> usize {
                let (Some(x), Some(w)) = (ins.opt(0), ins.opt(1)) else { return 1 };
                element_count(&w.dims[2..]) * x.dims[1] / self.groups.max(1)
            }
        })*
    };
}
convolutions!(Conv, ConvTranspose);

/// Sizes of a case: x, w, stride, begin, end, dilation, groups.
type Shape<'a> = (&'a [usize], &'a [usize], &'a [i64], &'a [i64], &'a [i64], &'a [i64], i64);

fn window_attributes(&(_, _, stride, begin, end, dilation, groups): &Shape) -> Vec<(&'static str, Attribute)> {
    let lists = [("stride", stride), ("pad_begin", begin), ("pad_end", end), ("dilation", dilation)];
    let mut out: Vec<_> = lists.into_iter().map(|(name, v)| (name, Attribute::Ints(v.to_vec()))).collect();
    out.push(("groups", Attribute::Int(groups)));
    out
}

fn conv_cases() -> Vec<Case> {
    let shapes: &[Shape] = &[
        (&[2, 3, 29], &[5, 3, 5], &[2], &[2], &[2], &[1], 1),
        (&[1, 2, 7, 9], &[3, 2, 3, 3], &[2, 1], &[1, 3], &[1, 3], &[1, 2], 1),
        (&[1, 2, 7, 9], &[3, 2, 3, 3], &[2, 1], &[1, 3], &[1, 3], &[3, 1], 1),
        (&[1, 4, 3, 5, 4], &[4, 2, 2, 2, 3], &[1, 1, 1], &[0, 1, 0], &[1, 0, 2], &[1, 2, 1], 2),
        (&[2, 5, 6, 7], &[10, 1, 3, 3], &[1, 1], &[1, 1], &[1, 1], &[1, 1], 5),
        (&[3, 7, 9, 11], &[19, 7, 3, 3], &[1, 1], &[1, 1], &[1, 1], &[1, 1], 1),
        (&[2, 70, 5, 40], &[65, 70, 3, 3], &[1, 2], &[1, 1], &[2, 0], &[1, 1], 1),
        (&[1, 600, 3, 19], &[16, 600, 2, 2], &[1, 1], &[0, 0], &[0, 0], &[1, 1], 1),
        (&[2, 34, 9, 5], &[64, 17, 1, 1], &[1, 1], &[0, 0], &[0, 0], &[1, 1], 2),
        (&[0, 2, 5, 5], &[3, 2, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], 1),
        (&[1, 0, 5, 5], &[3, 0, 3, 3], &[1, 1], &[0, 0], &[0, 0], &[1, 1], 1),
    ];
    let types = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64];
    let mut out = Vec::new();
    for (i, shape) in shapes.iter().enumerate() {
        for element in types {
            let mut attributes = window_attributes(shape);
            // Each kernel is compiled anew for each activation: one type shows them all.
            let act = if element == ElementType::F32 { Activation::ALL[i % 5] } else { Activation::None };
            attributes.push(("act", Attribute::Text(act.text().into())));
            let case = Case::new("Conv", &attributes).input(element, shape.0).input(element, shape.1);
            out.push(if i % 3 == 2 { case } else { case.input(element, &shape.1[..1]) });
        }
    }
    let many: Shape = (&[1, 1, 65537], &[3, 1, 3], &[1], &[1], &[1], &[1], 1);
    out.push(Case::new("Conv", &window_attributes(&many)).input(ElementType::F32, many.0).input(ElementType::F32, many.1));
    let large: Shape = (&[1, 8, 600, 512], &[2, 8, 3, 3], &[1, 1], &[1, 1], &[1, 1], &[1, 1], 1);
    out.push(Case::new("Conv", &window_attributes(&large)).input(ElementType::F32, large.0).input(ElementType::F32, large.1));
    out
}

fn transpose_cases() -> Vec<Case> {
    let shapes: &[(Shape, &[i64])] = &[
        ((&[1, 3, 7], &[3, 2, 10], &[5], &[3], &[3], &[1], 1), &[1]),
        ((&[2, 3, 5], &[3, 1, 3], &[2], &[0], &[0], &[2], 3), &[0]),
        ((&[1, 2, 5, 7], &[2, 2, 3, 5], &[2, 1], &[2, 1], &[2, 1], &[3, 1], 1), &[0, 0]),
        ((&[1, 1, 3, 3], &[1, 2, 2, 2], &[3, 3], &[0, 0], &[0, 0], &[1, 1], 1), &[0, 0]),
        ((&[1, 4, 2, 3, 3], &[4, 3, 2, 2, 3], &[2, 1, 2], &[0, 0, 1], &[0, 1, 0], &[1, 1, 1], 2), &[1, 0, 1]),
        ((&[2, 20, 6, 5], &[20, 33, 4, 4], &[2, 2], &[1, 1], &[1, 1], &[1, 1], 1), &[0, 1]),
        ((&[1, 300, 3, 3], &[300, 17, 2, 2], &[2, 2], &[0, 0], &[0, 0], &[1, 1], 1), &[0, 0]),
        ((&[0, 2, 3, 3], &[2, 2, 2, 2], &[2, 2], &[0, 0], &[0, 0], &[1, 1], 1), &[0, 0]),
    ];
    let types = [ElementType::F32, ElementType::F16, ElementType::Bf16, ElementType::F64];
    let mut out = Vec::new();
    for (i, (shape, more)) in shapes.iter().enumerate() {
        for element in types {
            let mut attributes = window_attributes(shape);
            attributes.push(("output_padding", Attribute::Ints(more.to_vec())));
            let case = Case::new("ConvTranspose", &attributes).input(element, shape.0).input(element, shape.1);
            let channels = shape.1[1] * shape.6 as usize;
            out.push(if i % 2 == 1 { case } else { case.input(element, &[channels]) });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_transposed_convolutions() {
        let op = ConvTranspose {
            stride: vec![2, 1],
            pad_begin: vec![4, 2],
            pad_end: vec![4, 2],
            dilation: vec![3, 1],
            output_padding: vec![0, 0],
            groups: 1,
        };
        let ty = |dims: &[usize]| TensorType::new(ElementType::F32, dims);
        let (dims, sweep) = op.sweep(&ty(&[20, 16, 50, 50]), &ty(&[16, 33, 3, 5])).expect("fits");
        assert_eq!(dims, [20, 33, 97, 50]);
        // Every tap belongs to one remainder.
        assert_eq!(sweep.phases.iter().map(|p| p.taps.len()).sum::<usize>(), 15);
    }

    #[test]
    fn mistakes_are_named() {
        let ty = |dims: &[usize]| TensorType::new(ElementType::F32, dims);
        let conv = |groups: usize, x: &[usize], w: &[usize]| {
            let (one, zero) = (vec![1, 1], vec![0, 0]);
            let op =
                Conv { stride: one.clone(), pad_begin: zero.clone(), pad_end: zero, dilation: one, groups, act: Activation::None };
            op.sweep(&ty(x), &ty(w))
        };
        assert!(conv(1, &[1, 4, 5, 5], &[3, 4, 3, 3]).is_ok());
        for (groups, x, w) in [
            (1, &[1usize, 4, 5, 5][..], &[3usize, 2, 3, 3][..]),
            (2, &[1, 4, 5, 5], &[3, 2, 3, 3]),
            (3, &[1, 4, 5, 5], &[3, 4, 3, 3]),
            (0, &[1, 4, 5, 5], &[3, 4, 3, 3]),
            (1, &[1, 4, 5, 5], &[3, 4, 6, 3]),
            (1, &[1, 4, 5, 5], &[3, 4, 0, 3]),
            (1, &[1, 4, 5], &[3, 4, 3, 3]),
            (1, &[1, 4], &[3, 4]),
        ] {
            assert!(conv(groups, x, w).is_err(), "{x:?} {w:?}");
        }
    }
}
