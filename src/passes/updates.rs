//! Copies the old value where an operator that writes in place (KvAppend) would destroy what is still read.

use crate::Result;
use crate::graph::{Graph, Source, ValueId};
use crate::ops::{Copy, Inputs, share};

pub fn run(graph: &Graph) -> Result<Graph> {
    let families = families(graph)?;
    let (uses, outputs) = graph.uses();
    graph.rewrite(|r, i| {
        let node = &r.old.nodes()[i];
        for (_, input) in node.operator.updates() {
            let Some(cache) = node.inputs[input] else { continue };
            let family = families[cache.index()];
            let constant = matches!(r.old.value(family).source, Source::Param | Source::Constant(_));
            let read_later: Vec<ValueId> = (0..r.old.values().len() as u32)
                .map(ValueId)
                .filter(|v| families[v.index()] == family)
                .filter(|v| outputs[v.index()] || uses[v.index()].iter().any(|&u| u > i))
                .filter(|v| made_before(r.old, *v, i))
                .collect();
            if constant {
                // Nobody may write a weight: the update goes to a copy.
                let old = r.value(cache)?;
                let copy = r.new.add1(share(Copy), &format!("{}.copy", node.name), &[old])?;
                let mut inputs = r.values(&node.inputs)?;
                inputs[input] = Some(copy);
                let made = r.new.add(node.operator.clone(), &node.name, &inputs)?;
                node.outputs.iter().zip(made).for_each(|(&o, n)| r.replace(o, n));
                return Ok(());
            }
            let cache_now = r.value(cache)?;
            for value in read_later {
                let now = r.value(value)?;
                let name = format!("{}.before", r.old.value(value).name);
                let copy = r.new.add1(share(Copy), &name, &[now])?;
                r.replace(value, copy);
            }
            // The node itself still writes the original.
            let mut inputs = r.values(&node.inputs)?;
            inputs[input] = Some(cache_now);
            let made = r.new.add(node.operator.clone(), &node.name, &inputs)?;
            node.outputs.iter().zip(made).for_each(|(&o, n)| r.replace(o, n));
            return Ok(());
        }
        r.keep(i)
    })
}

fn made_before(graph: &Graph, value: ValueId, node: usize) -> bool {
    match graph.value(value).source {
        Source::Node { node: maker, .. } => maker < node,
        _ => true,
    }
}

/// For each value, the value whose storage it is a view of (itself if of none).
fn families(graph: &Graph) -> Result<Vec<ValueId>> {
    let mut out: Vec<ValueId> = (0..graph.values().len() as u32).map(ValueId).collect();
    for node in graph.nodes() {
        let types = node.inputs.iter().map(|id| id.map(|id| graph.ty(id)).transpose()).collect::<Result<Vec<_>>>()?;
        let outs = node.outputs.iter().map(|&id| graph.ty(id).cloned()).collect::<Result<Vec<_>>>()?;
        let views = node.operator.views(&Inputs(&types), &outs);
        for (o, id) in node.outputs.iter().enumerate() {
            let view = views.get(o).copied().flatten().map(|v| v.0);
            let update = node.operator.updates().into_iter().find(|u| u.0 == o).map(|u| u.1);
            if let Some(of) = view.or(update).and_then(|i| node.inputs[i]) {
                out[id.index()] = out[of.index()];
            }
        }
    }
    Ok(out)
}
