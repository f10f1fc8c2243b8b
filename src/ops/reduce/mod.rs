//! Reductions, order, sampling, random numbers.

use super::Entry;

mod softmax;

pub const FAMILIES: &[&[Entry]] = &[softmax::ENTRIES];
