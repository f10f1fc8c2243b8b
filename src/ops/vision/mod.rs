//! Convolutions, pools, resizing.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
