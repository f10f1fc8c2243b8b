//! Products with packed weights, and their expansion.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
