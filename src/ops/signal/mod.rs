//! Fourier transforms.

use super::Entry;

mod complex;
mod fft;
mod transform;

pub const FAMILIES: &[&[Entry]] = &[fft::ENTRIES];
