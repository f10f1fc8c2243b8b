//! Recurrent and state-space operators.

use super::Entry;

mod causal_conv;
mod diagonal;
mod gated_delta;
mod gru;
mod lstm;
mod mamba2;
mod network;
mod network_cases;
mod network_lower;
mod rnn;
mod selective_scan;
mod types;

pub const FAMILIES: &[&[Entry]] = &[
    lstm::ENTRIES,
    gru::ENTRIES,
    rnn::ENTRIES,
    selective_scan::ENTRIES,
    mamba2::ENTRIES,
    gated_delta::ENTRIES,
    causal_conv::ENTRIES,
];
