//! Fourier transforms.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
