//! Normalisations.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
