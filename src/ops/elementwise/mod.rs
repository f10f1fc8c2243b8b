//! Operators that compute each element from the elements at the same place.

use super::Entry;

mod binary;
mod broadcast;
mod cast;
pub mod function;
mod parametric;
mod select;
pub mod special;
mod swiglu;
mod ternary;
mod unary;

pub use binary::{Binary, Compare, Logical};
pub use cast::Cast;
pub use function::Function;
pub use unary::Unary;

pub const FAMILIES: &[&[Entry]] =
    &[cast::ENTRIES, binary::ENTRIES, select::ENTRIES, unary::ENTRIES, parametric::ENTRIES, ternary::ENTRIES, swiglu::ENTRIES];
