//! Recurrent and state-space operators.

use super::Entry;

pub const FAMILIES: &[&[Entry]] = &[];
