//! ONNX models: to a graph and from one.

mod attention;
mod attributes;
mod caldera;
mod context;
mod express;
mod external;
mod fold;
mod microsoft;
mod ml;
mod preview;
mod proto;
mod read;
mod standard;
mod tensor;
#[cfg(test)]
mod tests;
mod types;
mod write;

use std::collections::BTreeMap;
use std::path::Path;

use prost::Message as _;
use prost::bytes::Bytes;

use crate::graph::Graph;
use crate::tensor::Tensor;
use crate::{Result, bail, ensure, error, listed};

pub use tensor::{read_tensor, write_tensor};
pub use types::InputType;
pub use write::{save_model, write_model};

/// The domain whose nodes are the operators of this library, by name.
pub const DOMAIN: &str = "caldera";

/// What is fixed before a model becomes a graph.
#[derive(Clone, Debug, Default)]
pub struct Bindings {
    /// Sizes of symbolic dimensions. One that is not named here stays symbolic, where the operators allow it.
    pub dims: BTreeMap<String, usize>,
    /// Values of inputs on which shapes or branches depend. These are then no inputs of the graph.
    pub inputs: BTreeMap<String, Tensor>,
    /// Shapes of inputs, for those of which the file does not say how many dimensions they have.
    pub shapes: BTreeMap<String, Vec<usize>>,
}

/// A model that became a graph.
#[derive(Debug)]
pub struct Loaded {
    pub graph: Graph,
    /// The values of the graph's params.
    pub params: Vec<(String, Tensor)>,
    /// Inputs that were bound to their values, because shapes or branches depend on them.
    pub bound: Vec<String>,
}

/// An ONNX file, parsed.
#[derive(Debug)]
pub struct OnnxModel {
    proto: proto::Model,
    external: external::External,
}

impl OnnxModel {
    /// Opens a file. Weights beside it (external data) are read when they are needed.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let at = |e: &dyn std::fmt::Display| error!(File, "{}: {e}", path.display());
        let bytes = super::map_file(path).map_err(|e| at(&e))?;
        Self::parse(bytes, external::External::beside(path)).map_err(|e| e.within(path.display()))
    }

    /// Parses a model in memory. It cannot have external data.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::parse(Bytes::copy_from_slice(bytes), external::External::none())
    }

    fn parse(bytes: Bytes, external: external::External) -> Result<Self> {
        let proto = proto::Model::decode(bytes).map_err(|e| error!(File, "not an ONNX model: {e}"))?;
        if proto.graph.is_none() {
            bail!(File, "not an ONNX model: there is no graph in it");
        }
        Ok(Self { proto, external })
    }

    fn graph_proto(&self) -> &proto::Graph {
        self.proto.graph.as_ref().expect("parse checked that there is a graph")
    }

    /// Inputs that a run must be given, in the order of the file: those without an initializer.
    pub fn input_names(&self) -> Vec<&str> {
        self.free_inputs().map(|input| input.name.as_str()).collect()
    }

    /// Every input of the file, those with a default value in it too.
    pub fn all_input_names(&self) -> Vec<&str> {
        self.graph_proto().inputs.iter().map(|input| input.name.as_str()).collect()
    }

    pub fn output_names(&self) -> Vec<&str> {
        self.graph_proto().outputs.iter().map(|output| output.name.as_str()).collect()
    }

    /// What the file says about an input's type.
    pub fn input_type(&self, name: &str) -> Result<InputType> {
        match self.graph_proto().inputs.iter().find(|input| input.name == name) {
            Some(input) => InputType::read(input),
            None => bail!(InvalidArgument, "the model has no input \"{name}\"; it has: {}", listed(&self.all_input_names())),
        }
    }

    fn free_inputs(&self) -> impl Iterator<Item = &proto::ValueInfo> {
        let graph = self.graph_proto();
        graph.inputs.iter().filter(|input| !graph.initializers.iter().any(|t| t.name == input.name))
    }

    /// Names of the symbolic dimensions, in order of appearance.
    pub fn symbols(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        for input in self.free_inputs() {
            for name in InputType::read(input)?.symbols() {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        Ok(names)
    }

    /// An error that names the symbolic dimensions unless this is one.
    pub fn check_symbol(&self, name: &str) -> Result<()> {
        let known = self.symbols()?;
        let is_known = known.iter().any(|s| s == name);
        ensure!(is_known, InvalidArgument, "the model has no symbolic dimension \"{name}\"; it has: {}", listed(&known));
        Ok(())
    }

    /// "12 MatMul": what nodes there are, by domain and type, with their numbers.
    pub fn operator_counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        count_operators(&self.graph_proto().nodes, &mut counts);
        counts
    }

    /// Bits of an element of an input or initializer, where they are fewer than 8.
    fn bits_of(&self, name: &str) -> Option<usize> {
        let graph = self.graph_proto();
        let stored = graph.initializers.iter().find(|t| t.name == name).map(|t| t.data_type);
        let input = || graph.inputs.iter().find(|i| i.name == name).and_then(types::element_number);
        tensor::packed_bits(stored.or_else(input)?)
    }

    /// Names and versions of the operator sets.
    pub fn operator_sets(&self) -> Vec<(&str, i64)> {
        self.proto.opset_import.iter().map(|set| (types::domain_name(&set.domain), set.version)).collect()
    }

    pub fn doc_string(&self) -> &str {
        &self.proto.doc_string
    }

    /// The graph and the values of its params.
    pub fn graph(&self, bindings: &Bindings) -> Result<(Graph, Vec<(String, Tensor)>)> {
        bindings.inputs.keys().try_for_each(|name| self.input_type(name).map(drop))?;
        bindings.dims.keys().try_for_each(|name| self.check_symbol(name))?;
        let (result, _) = read::read(self, bindings, None);
        result
    }

    /// Dimensions, and shapes where the file has none, as these values of inputs have them.
    pub fn bindings_for<'a>(&self, values: impl IntoIterator<Item = (&'a str, &'a Tensor)>) -> Result<Bindings> {
        let mut bindings = Bindings::default();
        for (name, tensor) in values {
            let ty = self.input_type(name)?;
            ty.bind(tensor, &mut bindings).map_err(|e| e.within(format!("input \"{name}\"")))?;
        }
        Ok(bindings)
    }

    /// The graph for these values of its inputs: symbolic dimensions take the sizes that the values have, and inputs on which
    /// shapes or branches depend are bound to their values.
    pub fn graph_for(&self, values: &BTreeMap<String, Tensor>) -> Result<Loaded> {
        let mut bindings = self.bindings_for(values.iter().map(|(name, tensor)| (name.as_str(), tensor)))?;
        loop {
            let (result, needed) = read::read(self, &bindings, Some(values));
            let more: Vec<String> =
                needed.into_iter().filter(|n| values.contains_key(n) && !bindings.inputs.contains_key(n)).collect();
            match result {
                Ok((graph, params)) => {
                    return Ok(Loaded { graph, params, bound: bindings.inputs.into_keys().collect() });
                }
                Err(error) if more.is_empty() => return Err(error),
                Err(_) => bindings.inputs.extend(more.into_iter().map(|name| {
                    let value = values[&name].clone();
                    (name, value)
                })),
            }
        }
    }
}

fn count_operators(nodes: &[proto::Node], counts: &mut BTreeMap<String, usize>) {
    for node in nodes {
        let name = match types::domain_name(&node.domain) {
            "ai.onnx" => node.op_type.clone(),
            domain => format!("{domain}.{}", node.op_type),
        };
        *counts.entry(name).or_default() += 1;
        for attribute in &node.attributes {
            for graph in attribute.g.iter().chain(&attribute.graphs) {
                count_operators(&graph.nodes, counts);
            }
        }
    }
}
