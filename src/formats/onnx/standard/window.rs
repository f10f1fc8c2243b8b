//! Convolutions and pools: kernels that slide over the spatial axes.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::{int, size, sizes, text};
use crate::formats::onnx::read::Operand;
use crate::ops::Attribute;
use crate::tensor::{ElementType, TensorType};
use crate::{Result, bail, ensure};

pub const ROWS: &[(&str, Convert)] = &[
    ("Conv", conv),
    ("ConvTranspose", conv_transpose),
    ("MaxPool", max_pool),
    ("AveragePool", |cx| pool(cx, "Mean")),
    ("LpPool", |cx| pool(cx, "Lp")),
    ("GlobalAveragePool", |cx| global(cx, "Mean")),
    ("GlobalMaxPool", |cx| global(cx, "Max")),
    ("GlobalLpPool", global_lp),
];

/// How a kernel slides.
pub struct Window {
    pub kernel: Vec<usize>,
    pub stride: Vec<usize>,
    pub dilation: Vec<usize>,
    pub begin: Vec<usize>,
    pub end: Vec<usize>,
    pub ceil: bool,
}

/// Sizes of an attribute, one a spatial axis.
fn spatial(cx: &Context, name: &str, axes: usize, default: usize) -> Result<Vec<usize>> {
    let Some(values) = cx.attributes.ints(name)? else { return Ok(vec![default; axes]) };
    ensure!(values.len() == axes, InvalidGraph, "{name} has {} numbers for {axes} spatial axes", values.len());
    super::shape::sizes(values)
}

impl Window {
    /// Of a node over `x` with this kernel (or its attribute `kernel_shape`).
    pub fn read(cx: &Context, x: &TensorType, kernel: Option<Vec<usize>>) -> Result<Self> {
        ensure!(x.rank() >= 3, InvalidGraph, "takes [batch, channels, spatial ..], not {x}");
        let axes = x.rank() - 2;
        let kernel = match (kernel, cx.attributes.ints("kernel_shape")?) {
            (Some(kernel), _) => kernel,
            (None, Some(kernel)) => super::shape::sizes(kernel)?,
            (None, None) => bail!(InvalidGraph, "there is no kernel_shape"),
        };
        ensure!(kernel.len() == axes, InvalidGraph, "a kernel of {} axes for {x}", kernel.len());
        let stride = spatial(cx, "strides", axes, 1)?;
        let dilation = spatial(cx, "dilations", axes, 1)?;
        ensure!(stride.iter().chain(&dilation).all(|&n| n > 0), InvalidGraph, "strides and dilations start from 1");
        let ceil = cx.flag("ceil_mode", false)?;
        let mut window = Self { kernel, stride, dilation, begin: vec![0; axes], end: vec![0; axes], ceil };
        window.pad(cx, &x.dims[2..])?;
        Ok(window)
    }

    fn pad(&mut self, cx: &Context, extents: &[usize]) -> Result<()> {
        let axes = extents.len();
        let pads = cx.attributes.ints("pads")?;
        match cx.attributes.text("auto_pad")?.unwrap_or("NOTSET") {
            "NOTSET" => {
                let Some(pads) = pads else { return Ok(()) };
                ensure!(pads.len() == 2 * axes, InvalidGraph, "{} pads for {axes} spatial axes", pads.len());
                let pads = super::shape::sizes(pads)?;
                self.begin = pads[..axes].to_vec();
                self.end = pads[axes..].to_vec();
            }
            "VALID" => {}
            mode @ ("SAME_UPPER" | "SAME_LOWER") => {
                for (axis, &n) in extents.iter().enumerate() {
                    let total =
                        ((n.div_ceil(self.stride[axis]).max(1) - 1) * self.stride[axis] + self.reach(axis)).saturating_sub(n);
                    self.begin[axis] = if mode == "SAME_UPPER" { total / 2 } else { total - total / 2 };
                    self.end[axis] = total - self.begin[axis];
                }
            }
            other => bail!(InvalidGraph, "auto_pad {other}"),
        }
        Ok(())
    }

    /// Elements between the first and the last that a kernel touches, both counted.
    pub fn reach(&self, axis: usize) -> usize {
        (self.kernel[axis].max(1) - 1) * self.dilation[axis] + 1
    }

    /// Windows along each spatial axis. One that would start in the end padding is dropped.
    pub fn counts(&self, extents: &[usize]) -> Vec<usize> {
        let count = |(axis, &n): (usize, &usize)| {
            let room = (n + self.begin[axis] + self.end[axis]).checked_sub(self.reach(axis));
            let Some(room) = room else { return 0 };
            let count = if self.ceil { room.div_ceil(self.stride[axis]) } else { room / self.stride[axis] } + 1;
            let dropped = self.ceil && (count - 1) * self.stride[axis] >= n + self.begin[axis];
            count - usize::from(dropped)
        };
        extents.iter().enumerate().map(count).collect()
    }

    pub fn attributes(&self) -> Vec<(&'static str, Attribute)> {
        vec![
            ("stride", sizes(&self.stride)),
            ("pad_begin", sizes(&self.begin)),
            ("pad_end", sizes(&self.end)),
            ("dilation", sizes(&self.dilation)),
        ]
    }
}

fn groups(cx: &Context) -> Result<Attribute> {
    Ok(int(cx.attributes.int("group")?.unwrap_or(1)))
}

fn conv(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, w) = (cx.input(0)?, cx.input(1)?);
    let kernel = cx.ty(&w)?.dims.get(2..).unwrap_or(&[]).to_vec();
    cx.attributes.ignore(&["kernel_shape"]);
    let window = Window::read(cx, &cx.ty(&x)?, Some(kernel))?;
    let mut attributes = window.attributes();
    attributes.push(("groups", groups(cx)?));
    let mut inputs = vec![Some(x), Some(w)];
    inputs.extend(cx.opt(2).map(Some));
    cx.emit("Conv", attributes, &inputs)
}

/// Padding crops the result; output_shape says how large it shall be, and the padding follows.
fn conv_transpose(cx: &mut Context) -> Result<Vec<Operand>> {
    let (x, w) = (cx.input(0)?, cx.input(1)?);
    let ty = cx.ty(&x)?;
    let kernel = cx.ty(&w)?.dims.get(2..).unwrap_or(&[]).to_vec();
    cx.attributes.ignore(&["kernel_shape"]);
    let auto = cx.attributes.text("auto_pad")?.unwrap_or("NOTSET");
    let mut window = Window::read(cx, &ty, Some(kernel))?;
    let axes = ty.rank() - 2;
    let mut more = spatial(cx, "output_padding", axes, 0)?;
    let wanted = match cx.attributes.ints("output_shape")? {
        // Some writers give batch and channels too.
        Some(shape) => Some(super::shape::sizes(&shape[shape.len().saturating_sub(axes)..])?),
        None if auto.starts_with("SAME") => Some((0..axes).map(|a| ty.dims[2 + a] * window.stride[a]).collect()),
        None => None,
    };
    if let Some(wanted) = wanted {
        ensure!(wanted.len() == axes, InvalidGraph, "an output_shape of {} axes", wanted.len());
        for axis in 0..axes {
            let full = window.stride[axis] * (ty.dims[2 + axis].max(1) - 1) + more[axis] + window.reach(axis);
            // A result that is larger than all that the kernel reaches has zeros at its end.
            more[axis] += wanted[axis].saturating_sub(full);
            let total = full.saturating_sub(wanted[axis]);
            window.begin[axis] = if auto == "SAME_UPPER" { total / 2 } else { total - total / 2 };
            window.end[axis] = total - window.begin[axis];
        }
    }
    let mut attributes = window.attributes();
    attributes.push(("output_padding", sizes(&more)));
    attributes.push(("groups", groups(cx)?));
    let mut inputs = vec![Some(x), Some(w)];
    inputs.extend(cx.opt(2).map(Some));
    cx.emit("ConvTranspose", attributes, &inputs)
}

fn pool_of(cx: &mut Context, kind: &str, x: &Operand, window: &Window, more: Vec<(&str, Attribute)>) -> Result<Operand> {
    let mut attributes = vec![("kind", text(kind)), ("kernel", sizes(&window.kernel)), ("ceil", int(window.ceil))];
    attributes.extend(window.attributes());
    attributes.extend(more);
    cx.emit1("Pool", attributes, std::slice::from_ref(x))
}

fn pool(cx: &mut Context, kind: &str) -> Result<Vec<Operand>> {
    cx.attributes.ignore(&["storage_order"]);
    let x = cx.input(0)?;
    let window = Window::read(cx, &cx.ty(&x)?, None)?;
    let mut more = Vec::new();
    match kind {
        "Mean" => more.push(("count_include_pad", int(cx.flag("count_include_pad", false)?))),
        "Lp" => more.push(("p", int(cx.attributes.int("p")?.unwrap_or(2)))),
        _ => {}
    }
    Ok(vec![pool_of(cx, kind, &x, &window, more)?])
}

/// Integers are pooled as f32, which holds those of 8 bits. The second output is where in x the largest element is.
fn max_pool(cx: &mut Context) -> Result<Vec<Operand>> {
    let column_major = cx.flag("storage_order", false)?;
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let window = Window::read(cx, &ty, None)?;
    let through = if ty.element.is_float() { ty.element } else { ElementType::F32 };
    let wide = cx.cast(&x, through)?;
    let y = pool_of(cx, "Max", &wide, &window, vec![])?;
    let mut outputs = vec![cx.cast(&y, ty.element)?];
    if cx.node.outputs.get(1).is_some_and(|name| !name.is_empty()) {
        outputs.push(super::unfold::max_indices(cx, &wide, &window, column_major)?);
    }
    Ok(outputs)
}

/// Over all spatial axes, which are kept with one element.
fn global(cx: &mut Context, kind: &str) -> Result<Vec<Operand>> {
    let x = cx.input(0)?;
    let axes: Vec<usize> = (2..cx.ty(&x)?.rank()).collect();
    ensure!(!axes.is_empty(), InvalidGraph, "there are no spatial axes");
    Ok(vec![cx.reduce(kind, &x, &axes, true)?])
}

fn global_lp(cx: &mut Context) -> Result<Vec<Operand>> {
    match cx.attributes.int("p")?.unwrap_or(2) {
        1 => return global(cx, "L1"),
        2 => return global(cx, "L2"),
        _ => {}
    }
    let x = cx.input(0)?;
    let ty = cx.ty(&x)?;
    let p = cx.attributes.int("p")?.unwrap_or(2);
    let axes = ty.rank().saturating_sub(2);
    let window = Window {
        kernel: ty.dims[2..].to_vec(),
        stride: vec![1; axes],
        dilation: vec![1; axes],
        begin: vec![0; axes],
        end: vec![0; axes],
        ceil: false,
    };
    Ok(vec![pool_of(cx, "Lp", &x, &window, vec![("p", size(p.unsigned_abs() as usize))])?])
}
