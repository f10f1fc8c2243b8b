//! Attention and what stands around it.

use super::Entry;

mod attention;
mod kv_append;
mod rope;

pub const FAMILIES: &[&[Entry]] = &[rope::ENTRIES, attention::ENTRIES, kv_append::ENTRIES];
