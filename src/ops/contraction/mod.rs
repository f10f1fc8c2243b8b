//! Products that sum over shared axes.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
