//! Lstm: long short-term memory.

use super::network::{Cell, network_operator};
use super::network_cases::{cases, with_peepholes};
use crate::attributes;

attributes! {
    /// Gates i, f, g, o; c = f c + i g; h = o tanh(c). x [B,S,I], w_ih, w_hh and bias in blocks, layer by layer and in it by direction;
    /// h0, c0 [layers * D,B,H], lengths i32 [B]. With peepholes, blocks [3H] of i, f, o, the sums of i and f also have p c, that of o p times
    /// the new c.
    pub struct Lstm { hidden: usize, layers: usize = 1, bidirectional: bool = false }
}

crate::entries!(Lstm: || [cases("Lstm", &[], 4), with_peepholes()].concat());

network_operator!(Lstm, |_op| Cell::Lstm);
