//! Where graphs run.

use std::collections::BTreeMap;

use caldera::graph::Graph;
use caldera::tensor::Tensor;
use caldera::{Result, bail};

use crate::reference::Reference;

/// Runs a graph once on new weights and inputs.
pub trait Runner {
    /// The outputs, in the graph's order.
    fn run(&mut self, graph: Graph, params: Vec<(String, Tensor)>, inputs: &BTreeMap<String, Tensor>) -> Result<Vec<Tensor>>;
}

/// The device of this name: an index, a UUID or "cpu"; without one, what CALDERA_DEVICE names.
pub fn open(device: Option<&str>) -> Result<Box<dyn Runner>> {
    let from_environment = std::env::var("CALDERA_DEVICE").ok();
    match device.or(from_environment.as_deref()) {
        None | Some("cpu") => Ok(Box::new(Reference)),
        Some(other) => bail!(NoDevice, "there is no device \"{other}\""),
    }
}
