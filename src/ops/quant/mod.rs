//! Products with packed weights, and their expansion.

use super::Entry;

mod affine;
mod choose;
mod expand;
mod grouped;
mod matmul;
mod product;

pub use matmul::{DequantMatMul, Scheme};

pub const FAMILIES: &[&[Entry]] = &[matmul::ENTRIES, grouped::ENTRIES, expand::ENTRIES];
