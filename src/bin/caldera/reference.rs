//! Runs a graph by the references of its operators, one node after the other.

use std::collections::BTreeMap;

use caldera::graph::{Graph, Source};
use caldera::ops::{self, Inputs, RunNumbers};
use caldera::tensor::Tensor;
use caldera::{Result, error};

use crate::runner::Runner;

pub struct Reference;

impl Runner for Reference {
    fn run(&mut self, graph: Graph, params: Vec<(String, Tensor)>, inputs: &BTreeMap<String, Tensor>) -> Result<Vec<Tensor>> {
        let mut values: Vec<Option<Tensor>> = vec![None; graph.values().len()];
        for (value, slot) in graph.values().iter().zip(&mut values) {
            match &value.source {
                Source::Constant(tensor) => *slot = Some((**tensor).clone()),
                Source::Input(_) => {
                    let given =
                        inputs.get(&value.name).ok_or_else(|| error!(InvalidArgument, "input \"{}\" is not given", value.name))?;
                    let ty = value.ty.clone().ok_or_else(|| error!(InvalidGraph, "input \"{}\" has no known shape", value.name))?;
                    *slot = Some(given.clone().with_type(ty).map_err(|e| e.within(format!("input \"{}\"", value.name)))?);
                }
                Source::Param | Source::Node { .. } => {}
            }
        }
        for (name, tensor) in params {
            let id = graph.params().iter().find(|&&id| graph.value(id).name == name);
            let id = id.ok_or_else(|| error!(InvalidArgument, "there is no param \"{name}\""))?;
            values[id.index()] = Some(tensor);
        }
        for node in graph.nodes() {
            let inputs: Vec<Option<&Tensor>> = node.inputs.iter().map(|id| id.and_then(|id| values[id.index()].as_ref())).collect();
            let types: Vec<_> = node.outputs.iter().map(|&id| graph.ty(id).cloned()).collect::<Result<_>>()?;
            let at =
                ops::Reference { inputs: Inputs(&inputs), outputs: &types, run: RunNumbers::default(), unchecked_indices: false };
            let outputs = node.operator.reference(&at).map_err(|e| e.within(node.title()))?;
            for (id, tensor) in node.outputs.iter().zip(outputs) {
                values[id.index()] = Some(tensor);
            }
        }
        let output =
            |id: caldera::graph::ValueId| values[id.index()].clone().ok_or_else(|| error!(Internal, "an output was not computed"));
        graph.outputs().iter().map(|(_, id)| output(*id)).collect()
    }
}
