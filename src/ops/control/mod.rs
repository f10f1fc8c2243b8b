//! Control flow.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
