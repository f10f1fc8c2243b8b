//! From logits to a token, on the device.

use super::Sampling;
use super::builder::Builder;
use crate::Result;
use crate::graph::ValueId;
use crate::ops::Attribute;

impl Builder<'_> {
    /// The token drawn from logits [B,V], if the options ask for one.
    pub fn sample(&mut self, logits: ValueId) -> Result<()> {
        let Some(Sampling { temperature, top_k, top_p, min_p }) = self.options.sampling else { return Ok(()) };
        let list = [
            ("temperature", Attribute::Float(temperature)),
            ("top_k", Attribute::Int(top_k)),
            ("top_p", Attribute::Float(top_p)),
            ("min_p", Attribute::Float(min_p)),
        ];
        let token = self.node1("Sample", "sample", &list, &[logits])?;
        self.graph.output("token", token)
    }
}
