//! Lstm: long short-term memory.

use super::network::{Cell, network_operator};
use super::network_cases::cases;
use crate::attributes;

attributes! {
    /// Gates i, f, g, o; c = f c + i g; h = o tanh(c). x [B,S,I], w_ih, w_hh and bias in blocks, layer by layer and in it by direction;
    /// h0, c0 [layers * D,B,H], lengths i32 [B].
    pub struct Lstm { hidden: usize, layers: usize = 1, bidirectional: bool = false }
}

crate::entries!(Lstm: || cases("Lstm", &[], 4));

network_operator!(Lstm, |_op| Cell::Lstm);
