//! Attention and what stands around it.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
