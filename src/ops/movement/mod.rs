//! Operators that move elements and compute nothing.

use super::Entry;

mod concat;
pub mod rearrange;
mod repeat;
mod shape;
mod slice;
pub mod strided;
pub mod transpose;
mod types;

pub const FAMILIES: &[&[Entry]] = &[shape::ENTRIES, transpose::ENTRIES, slice::ENTRIES, concat::ENTRIES, repeat::ENTRIES];
