//! Operators on images and other grids.

use super::Entry;

mod conv;
mod sweep;
mod window;

pub const FAMILIES: &[&[Entry]] = &[conv::ENTRIES];
