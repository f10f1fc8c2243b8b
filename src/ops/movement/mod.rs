//! Operators that move elements and compute nothing.

use super::Entry;

mod bit_cast;
mod concat;
mod gather;
mod gather_elements;
mod generate;
mod index;
mod pad;
pub mod rearrange;
mod repeat;
mod scatter;
mod scatter_lower;
mod shape;
mod slice;
pub mod strided;
pub mod transpose;
mod types;

pub const FAMILIES: &[&[Entry]] = &[
    shape::ENTRIES,
    bit_cast::ENTRIES,
    transpose::ENTRIES,
    slice::ENTRIES,
    concat::ENTRIES,
    repeat::ENTRIES,
    pad::ENTRIES,
    gather::ENTRIES,
    gather_elements::ENTRIES,
    scatter::ENTRIES,
    generate::ENTRIES,
];
