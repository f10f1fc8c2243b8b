//! Attention and what stands around it.

use super::Entry;

mod attention;
mod attention_cases;
mod attention_lower;
mod block;
mod kv_append;
mod rope;

pub use attention::{Attention, HeadLayout, MaskKind};

pub const FAMILIES: &[&[Entry]] = &[rope::ENTRIES, attention::ENTRIES, kv_append::ENTRIES, block::ENTRIES];
