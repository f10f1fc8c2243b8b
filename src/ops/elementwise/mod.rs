//! Operators that compute each element from the elements at the same place.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
