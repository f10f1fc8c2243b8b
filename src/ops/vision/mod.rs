//! Operators on images and other grids.

use super::Entry;

mod conv;
mod depth_space;
mod im2col;
mod pool;
mod sweep;
mod window;

pub const FAMILIES: &[&[Entry]] = &[conv::ENTRIES, pool::ENTRIES, im2col::ENTRIES, depth_space::ENTRIES];
