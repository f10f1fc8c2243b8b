//! Operators that move elements and compute nothing.

use super::Entry;

mod concat;
mod gather;
mod gather_elements;
mod index;
pub mod rearrange;
mod repeat;
mod shape;
mod slice;
pub mod strided;
pub mod transpose;
mod types;

pub const FAMILIES: &[&[Entry]] = &[
    shape::ENTRIES,
    transpose::ENTRIES,
    slice::ENTRIES,
    concat::ENTRIES,
    repeat::ENTRIES,
    gather::ENTRIES,
    gather_elements::ENTRIES,
];
