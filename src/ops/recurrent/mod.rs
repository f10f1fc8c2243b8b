//! Recurrent and state-space operators.

use super::Entry;

mod causal_conv;
mod diagonal;
mod gated_delta;
mod mamba2;
mod selective_scan;
mod types;

pub const FAMILIES: &[&[Entry]] = &[selective_scan::ENTRIES, mamba2::ENTRIES, gated_delta::ENTRIES, causal_conv::ENTRIES];
