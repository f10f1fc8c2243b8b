//! Reductions, order, sampling, random numbers.

use super::Entry;

mod arg;
mod cumsum;
mod random;
mod reduction;
mod sample;
mod softmax;
mod topk;

pub use reduction::{Reduce, ReduceKind};

pub const FAMILIES: &[&[Entry]] =
    &[reduction::ENTRIES, arg::ENTRIES, cumsum::ENTRIES, topk::ENTRIES, softmax::ENTRIES, random::ENTRIES, sample::ENTRIES];
