//! Gru: the gated recurrent unit.

use super::network::{Cell, network_operator};
use super::network_cases::{bug_59, cases};
use crate::attributes;
use crate::ops::Attribute;

attributes! {
    /// Gates r, z, n; h = (1 - z) n + z h, with n = tanh(W x + b_in + r (W h + b_hn)), or without `linear_before_reset`
    /// tanh(W x + b_in + W (r h) + b_hn). Inputs as those of Lstm, with two biases and without c0.
    pub struct Gru { hidden: usize, layers: usize = 1, bidirectional: bool = false, linear_before_reset: bool = true }
}

crate::entries!(Gru: || {
    let mode = |after: i64| [("linear_before_reset", Attribute::Int(after))];
    [cases("Gru", &mode(1), 3), cases("Gru", &mode(0), 3), bug_59(&mode(1)), bug_59(&mode(0))].concat()
});

network_operator!(Gru, |op| Cell::Gru { after: op.linear_before_reset });
