//! Operators that move elements and compute nothing.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
