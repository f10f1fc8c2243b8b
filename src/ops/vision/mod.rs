//! Operators on images and other grids.

use super::Entry;

mod conv;
mod coordinates;
mod depth_space;
mod grid_sample;
mod im2col;
mod pool;
mod resize;
mod roi_align;
mod sweep;
mod window;

pub const FAMILIES: &[&[Entry]] = &[
    conv::ENTRIES,
    pool::ENTRIES,
    im2col::ENTRIES,
    depth_space::ENTRIES,
    resize::ENTRIES,
    grid_sample::ENTRIES,
    roi_align::ENTRIES,
];
