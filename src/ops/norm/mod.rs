//! Normalisations.

use super::Entry;

mod rows;

pub const FAMILIES: &[&[Entry]] = &[rows::ENTRIES];
