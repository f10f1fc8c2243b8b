//! Builders of operators on pictures and other grids.

use super::contraction::ACTIVATIONS;
use super::{Given, one, plain};
use crate::ffi::boundary::caldera_status;
use crate::ffi::error::caldera_error;
use crate::ffi::graph::{caldera_graph, caldera_value};
use crate::ffi::options::options;
use crate::{Result, bail, ensure};

/// What `caldera_pool` makes of a window. In brackets: of a window of padding only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_pool_kind {
    /// NaN if one is NaN (-infinity).
    CALDERA_POOL_MAX = 1,
    /// (NaN)
    CALDERA_POOL_MEAN = 2,
    /// NaN if one is NaN (+infinity).
    CALDERA_POOL_MIN = 3,
    /// (0)
    CALDERA_POOL_SUM = 4,
    /// The p-th root of the sum of |x|^p (0).
    CALDERA_POOL_LP = 5,
}

/// Their spelling in attributes, from 1 on.
const POOL_KINDS: &[&str] = &["Max", "Mean", "Min", "Sum", "Lp"];

/// How `caldera_resize` and `caldera_grid_sample` interpolate. 0 means "not given".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_interpolation {
    CALDERA_INTERPOLATE_NEAREST = 1,
    CALDERA_INTERPOLATE_LINEAR = 2,
    CALDERA_INTERPOLATE_CUBIC = 3,
}

/// Their spelling in attributes, from 1 on.
const INTERPOLATIONS: &[&str] = &["Nearest", "Linear", "Cubic"];

/// Where the elements of a resized axis lie, as in ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_coordinate_mode {
    CALDERA_COORDINATE_HALF_PIXEL = 0,
    CALDERA_COORDINATE_ASYMMETRIC = 1,
    CALDERA_COORDINATE_ALIGN_CORNERS = 2,
    CALDERA_COORDINATE_PYTORCH_HALF_PIXEL = 3,
    CALDERA_COORDINATE_HALF_PIXEL_SYMMETRIC = 4,
}

/// Their spelling in attributes, from 0 on.
const COORDINATE_MODES: &[&str] = &["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"];

/// Which element is the nearest, as in ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_nearest_mode {
    CALDERA_NEAREST_ROUND_PREFER_FLOOR = 0,
    CALDERA_NEAREST_ROUND_PREFER_CEIL = 1,
    CALDERA_NEAREST_FLOOR = 2,
    CALDERA_NEAREST_CEIL = 3,
}

/// Their spelling in attributes, from 0 on.
const NEAREST_MODES: &[&str] = &["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"];

/// What `caldera_grid_sample` takes outside of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_border {
    CALDERA_BORDER_ZEROS = 0,
    CALDERA_BORDER_EDGE = 1,
    CALDERA_BORDER_REFLECTION = 2,
}

/// Their spelling in attributes, from 0 on.
const BORDERS: &[&str] = &["zeros", "border", "reflection"];

/// Options of `caldera_conv` and `caldera_conv_transpose`. Start from `CALDERA_CONV_OPTIONS_INIT`. Of each list the first `spatial` are used.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_conv_options {
    /// sizeof(caldera_conv_options).
    pub struct_size: u32,
    /// How many spatial axes there are: 1, 2 or 3. Must be given.
    pub spatial: u32,
    /// 0: 1.
    pub stride: [i64; 3],
    pub pad_begin: [i64; 3],
    pub pad_end: [i64; 3],
    /// 0: 1.
    pub dilation: [i64; 3],
    /// For `caldera_conv_transpose` only.
    pub output_padding: [i64; 3],
    /// 0: 1.
    pub groups: u32,
    /// A `caldera_activation`, for `caldera_conv` only.
    pub act: u32,
}

/// Options of `caldera_pool`. Start from `CALDERA_POOL_OPTIONS_INIT`. Of each list the first `spatial` are used.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_pool_options {
    /// sizeof(caldera_pool_options).
    pub struct_size: u32,
    /// A `caldera_pool_kind`. Must be given.
    pub kind: u32,
    /// How many spatial axes there are: 1, 2 or 3. Must be given.
    pub spatial: u32,
    /// 1: a last window that is not whole is kept, unless it would start in the end padding.
    pub ceil: u32,
    /// 1: CALDERA_POOL_MEAN counts padding, but nothing beyond it.
    pub count_include_pad: u32,
    /// For CALDERA_POOL_LP; 0: 2.
    pub p: u32,
    /// Must be given.
    pub kernel: [i64; 3],
    /// 0: 1.
    pub stride: [i64; 3],
    pub pad_begin: [i64; 3],
    pub pad_end: [i64; 3],
    /// 0: 1.
    pub dilation: [i64; 3],
}

/// Options of `caldera_resize`. Start from `CALDERA_RESIZE_OPTIONS_INIT`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_resize_options {
    /// sizeof(caldera_resize_options).
    pub struct_size: u32,
    /// A `caldera_interpolation`. Must be given.
    pub mode: u32,
    /// A `caldera_coordinate_mode`.
    pub coordinate_mode: u32,
    /// A `caldera_nearest_mode`.
    pub nearest_mode: u32,
    /// 1: the filter widens when an axis shrinks.
    pub antialias: u32,
    /// How many of `sizes` or `scales` there are: the rank of x.
    pub rank: u32,
    /// The dimensions of the result, or NULL.
    pub sizes: *const i64,
    /// How much longer each axis gets, or NULL: floor(scale n). One of the two must be given.
    pub scales: *const f64,
    /// The coefficient of CALDERA_INTERPOLATE_CUBIC; 0: -0.75.
    pub cubic_a: f64,
}

/// The first `spatial` of a list; 0 stands for `zero`.
fn spatial(list: &[i64; 3], count: u32, zero: i64) -> Vec<i64> {
    list[..count as usize].iter().map(|&v| if v == 0 { zero } else { v }).collect()
}

fn check_spatial(count: u32) -> Result<()> {
    ensure!((1..=3).contains(&count), InvalidArgument, "options: spatial is {count}: 1, 2 or 3 axes are possible");
    Ok(())
}

fn conv(a: Given, pointer: *const caldera_conv_options, transposed: bool) -> Given {
    a.and_then(|a| {
        let Some(o) = options(pointer, "options")? else { bail!(InvalidArgument, "options is NULL") };
        check_spatial(o.spatial)?;
        let a = a.list("stride", spatial(&o.stride, o.spatial, 1)).list("dilation", spatial(&o.dilation, o.spatial, 1));
        let a = a.list("pad_begin", spatial(&o.pad_begin, o.spatial, 0)).list("pad_end", spatial(&o.pad_end, o.spatial, 0));
        let a = a.unless_zero("groups", o.groups);
        if transposed {
            ensure!(o.act == 0, InvalidArgument, "options: act is for caldera_conv only");
            return Ok(a.list("output_padding", spatial(&o.output_padding, o.spatial, 0)));
        }
        ensure!(o.output_padding == [0; 3], InvalidArgument, "options: output_padding is for caldera_conv_transpose only");
        Ok(a.named("act", o.act, ACTIVATIONS))
    })
}

fn pool(a: Given, pointer: *const caldera_pool_options) -> Given {
    a.and_then(|a| {
        let Some(o) = options(pointer, "options")? else { bail!(InvalidArgument, "options is NULL") };
        check_spatial(o.spatial)?;
        let a = a.chosen("kind", o.kind, POOL_KINDS).list("kernel", spatial(&o.kernel, o.spatial, 0));
        let a = a.list("stride", spatial(&o.stride, o.spatial, 1)).list("dilation", spatial(&o.dilation, o.spatial, 1));
        let a = a.list("pad_begin", spatial(&o.pad_begin, o.spatial, 0)).list("pad_end", spatial(&o.pad_end, o.spatial, 0));
        let a = a.flag("ceil", o.ceil).flag("count_include_pad", o.count_include_pad);
        Ok(a.unless_zero("p", o.p))
    })
}

fn resize(a: Given, pointer: *const caldera_resize_options) -> Given {
    a.and_then(|a| {
        let Some(o) = options(pointer, "options")? else { bail!(InvalidArgument, "options is NULL") };
        let a = a.chosen("mode", o.mode, INTERPOLATIONS).named("coordinate_mode", o.coordinate_mode, COORDINATE_MODES);
        let a = a.named("nearest_mode", o.nearest_mode, NEAREST_MODES).flag("antialias", o.antialias);
        let a = if o.cubic_a == 0.0 { a } else { a.float("cubic_a", o.cubic_a) };
        match (o.sizes.is_null(), o.scales.is_null()) {
            (false, true) => Ok(a.ints("sizes", o.sizes, o.rank)),
            (true, false) => Ok(a.floats("scales", o.scales, o.rank)),
            _ => bail!(InvalidArgument, "options: one of sizes and scales must be given"),
        }
    })
}

/// Convolution: x [N, Cin, spatial..], w [Cout, Cin / groups, kernel..], bias [Cout] or CALDERA_NO_VALUE; the result is [N,
/// Cout, spatial..]. Floats. 1, 2 or 3 spatial axes.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_conv(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    bias: caldera_value,
    options: *const caldera_conv_options,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Conv", graph, &[x, w, bias], |a| conv(a, options, false), out, error)
}

/// The transpose of a convolution: x [N, Cin, spatial..], w [Cin, Cout / groups, kernel..], bias [Cout] or CALDERA_NO_VALUE;
/// the result is [N, Cout, spatial..]. Floats. 1, 2 or 3 spatial axes.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_conv_transpose(
    graph: *mut caldera_graph,
    x: caldera_value,
    w: caldera_value,
    bias: caldera_value,
    options: *const caldera_conv_options,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("ConvTranspose", graph, &[x, w, bias], |a| conv(a, options, true), out, error)
}

/// Windows of x [N, C, spatial..], each made one element.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_pool(
    graph: *mut caldera_graph,
    x: caldera_value,
    options: *const caldera_pool_options,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Pool", graph, &[x], |a| pool(a, options), out, error)
}

/// x with other dimensions, interpolated as Resize of ONNX does.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_resize(
    graph: *mut caldera_graph,
    x: caldera_value,
    options: *const caldera_resize_options,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("Resize", graph, &[x], |a| resize(a, options), out, error)
}

/// Each element of x [N, C, H, W] four times: [N, C, 2 H, 2 W].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_resize_nearest2x(
    graph: *mut caldera_graph,
    x: caldera_value,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    plain("ResizeNearest2x", graph, &[x], out, error)
}

/// The windows of x [N, C, H, W] as rows: (n, i, j) by (c, k, l). Each list has two numbers, for H and W; padding is on both
/// sides, with zeros.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_im2col(
    graph: *mut caldera_graph,
    x: caldera_value,
    kernel: *const i64,
    stride: *const i64,
    padding: *const i64,
    dilation: *const i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "Im2Col",
        graph,
        &[x],
        |a| a.ints("kernel", kernel, 2).ints("stride", stride, 2).ints("padding", padding, 2).ints("dilation", dilation, 2),
        out,
        error,
    )
}

/// Samples x [N, C, spatial..] at the places in grid [N, out.., axes], which are in [-1, 1], x first: [N, C, out..]. `mode` is
/// a `caldera_interpolation` (0: linear), `padding_mode` a `caldera_border`. `align_corners` 1: -1 and 1 are the middles of the
/// outermost elements, not their outer edges.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_grid_sample(
    graph: *mut caldera_graph,
    x: caldera_value,
    grid: caldera_value,
    mode: u32,
    padding_mode: u32,
    align_corners: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "GridSample",
        graph,
        &[x, grid],
        |a| a.chosen("mode", mode, SAMPLE_MODES).named("padding_mode", padding_mode, BORDERS).flag("align_corners", align_corners),
        out,
        error,
    )
}

/// Cuts boxes out of x [N, C, H, W] and resamples them: [R, C, output_height, output_width]. rois [R, 4] are x1, y1, x2, y2;
/// batch [R] of integers says which picture.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_roi_align(
    graph: *mut caldera_graph,
    x: caldera_value,
    rois: caldera_value,
    batch: caldera_value,
    options: *const caldera_roi_align_options,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("RoiAlign", graph, &[x, rois, batch], |a| roi_align(a, options), out, error)
}

/// Channels of x [N, C, H, W] become blocks of pixels: [N, C / b^2, H b, W b]. The channel axis is split into (block row, block
/// column, channel); with `crd` 1 into (channel, block row, block column).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_depth_to_space(
    graph: *mut caldera_graph,
    x: caldera_value,
    blocksize: i64,
    crd: u32,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one(
        "DepthToSpace",
        graph,
        &[x],
        |a| a.int("blocksize", blocksize).named("mode", u32::from(crd != 0), &["DCR", "CRD"]),
        out,
        error,
    )
}

/// Blocks of pixels of x [N, C, H, W] become channels, as (block row, block column, channel): [N, C b^2, H / b, W / b].
#[unsafe(no_mangle)]
pub extern "C" fn caldera_space_to_depth(
    graph: *mut caldera_graph,
    x: caldera_value,
    blocksize: i64,
    out: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    one("SpaceToDepth", graph, &[x], |a| a.int("blocksize", blocksize), out, error)
}

/// The spelling of `caldera_interpolation` for `caldera_grid_sample`.
const SAMPLE_MODES: &[&str] = &["nearest", "linear", "cubic"];

/// Options of `caldera_roi_align`. Start from `CALDERA_ROI_ALIGN_OPTIONS_INIT`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct caldera_roi_align_options {
    /// sizeof(caldera_roi_align_options).
    pub struct_size: u32,
    /// 0: 1.
    pub output_height: u32,
    /// 0: 1.
    pub output_width: u32,
    /// Points a cell and axis; 0: as many as the cell has pixels, rounded up.
    pub sampling_ratio: u32,
    /// 1: the largest of the weighted corner values; 0: the mean.
    pub maximum: u32,
    /// 1: coordinates are not moved by half a pixel, and boxes have a side of at least 1.
    pub output_half_pixel: u32,
    /// Pixels a unit of the boxes; 0: 1.
    pub spatial_scale: f64,
}

fn roi_align(a: Given, pointer: *const caldera_roi_align_options) -> Given {
    a.and_then(|a| {
        let Some(o) = options(pointer, "options")? else { bail!(InvalidArgument, "options is NULL") };
        let a = a.int("output_height", o.output_height.max(1)).int("output_width", o.output_width.max(1));
        let a = a.int("sampling_ratio", o.sampling_ratio).named("mode", u32::from(o.maximum != 0), &["avg", "max"]);
        let modes = &["half_pixel", "output_half_pixel"];
        let a = a.named("coordinate_transformation_mode", u32::from(o.output_half_pixel != 0), modes);
        Ok(a.float("spatial_scale", if o.spatial_scale == 0.0 { 1.0 } else { o.spatial_scale }))
    })
}
