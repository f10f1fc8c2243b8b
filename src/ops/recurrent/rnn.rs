//! Rnn: the plain recurrent network.

use super::network::{Cell, RnnActivation, network_operator};
use super::network_cases::cases;
use crate::attributes;
use crate::ops::Attribute;

attributes! {
    /// h = act(W x + W h + bias). Inputs as those of Lstm, without c0.
    pub struct Rnn { hidden: usize, layers: usize = 1, bidirectional: bool = false, act: RnnActivation = RnnActivation::Tanh }
}

crate::entries!(Rnn: || {
    let act = |act: RnnActivation| [("act", Attribute::Text(act.text().into()))];
    [cases("Rnn", &act(RnnActivation::Tanh), 1), cases("Rnn", &act(RnnActivation::Relu), 1)].concat()
});

network_operator!(Rnn, |op| Cell::Rnn(op.act));
