//! Normalisations.

use super::Entry;

mod batch;
mod channels;
mod columns;
mod rows;

pub const FAMILIES: &[&[Entry]] = &[rows::ENTRIES, channels::ENTRIES, columns::ENTRIES, batch::ENTRIES];
