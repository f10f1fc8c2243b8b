//! A graph as text and as Graphviz dot.

use std::fmt::Write as _;

use super::{Graph, Source, ValueId};

impl Graph {
    fn value_text(&self, id: ValueId) -> String {
        let value = self.value(id);
        match &value.ty {
            Some(ty) => format!("%{} {ty}", id.0),
            None => format!("%{} ?", id.0),
        }
    }

    /// One line a value, in order.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for (kind, ids) in [("input", &self.inputs), ("param", &self.params)] {
            for &id in ids {
                let _ = writeln!(out, "{kind} {} \"{}\"", self.value_text(id), self.value(id).name);
            }
        }
        for (i, value) in self.values.iter().enumerate() {
            if matches!(value.source, Source::Constant(_)) {
                let _ = writeln!(out, "constant {} \"{}\"", self.value_text(ValueId(i as u32)), value.name);
            }
        }
        for node in &self.nodes {
            let outputs: Vec<String> = node.outputs.iter().map(|&id| self.value_text(id)).collect();
            let inputs: Vec<String> = node.inputs.iter().map(|id| id.map_or("-".into(), |id| format!("%{}", id.0))).collect();
            let _ = writeln!(
                out,
                "{} = {}({}) {} \"{}\"",
                outputs.join(", "),
                node.operator.name(),
                inputs.join(", "),
                attributes_text(node),
                node.name
            );
            for (name, body) in node.operator.bodies() {
                let _ = writeln!(out, "  {name}:");
                for line in body.to_text().lines() {
                    let _ = writeln!(out, "    {line}");
                }
            }
        }
        for (name, id) in &self.outputs {
            let _ = writeln!(out, "output {} \"{name}\"", self.value_text(*id));
        }
        out
    }

    /// Graphviz: `dot -Tsvg`.
    pub fn to_dot(&self) -> String {
        let mut out = String::from("digraph caldera {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n");
        self.dot_nodes(&mut out, "");
        out + "}\n"
    }

    /// Nodes and edges; `p` begins the names of those of a graph within a node.
    fn dot_nodes(&self, out: &mut String, p: &str) {
        let escape = |s: &str| s.replace('\\', "\\\\").replace('"', "\\\"");
        for (i, value) in self.values.iter().enumerate() {
            if !matches!(value.source, Source::Node { .. }) {
                let ty = value.ty.as_ref().map_or("?".into(), ToString::to_string);
                let _ = writeln!(out, "  {p}v{i} [shape=ellipse, label=\"{}\\n{ty}\"];", escape(&value.name));
            }
        }
        let from = |id: ValueId| match self.value(id).source {
            Source::Node { node, .. } => format!("{p}n{node}"),
            _ => format!("{p}v{}", id.0),
        };
        for (i, node) in self.nodes.iter().enumerate() {
            let _ = writeln!(out, "  {p}n{i} [label=\"{}\\n{}\"];", node.operator.name(), escape(&node.name));
            for &input in node.inputs.iter().flatten() {
                let ty = self.value(input).ty.as_ref().map_or("?".into(), ToString::to_string);
                let _ = writeln!(out, "  {} -> {p}n{i} [label=\"{ty}\"];", from(input));
            }
            for (name, body) in node.operator.bodies() {
                let inner = format!("{p}n{i}_{name}_");
                let _ = writeln!(out, "  subgraph cluster_{inner} {{\n  label=\"{name}\";");
                body.dot_nodes(out, &inner);
                out.push_str("  }\n");
                for id in &body.inputs {
                    let _ = writeln!(out, "  {p}n{i} -> {inner}v{} [style=dashed];", id.0);
                }
            }
        }
        for (i, (name, id)) in self.outputs.iter().enumerate() {
            let _ = writeln!(out, "  {p}o{i} [shape=ellipse, label=\"{}\"];\n  {} -> {p}o{i};", escape(name), from(*id));
        }
    }
}

fn attributes_text(node: &super::Node) -> String {
    let parts: Vec<String> = node.operator.attributes().iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("{{{}}}", parts.join(", "))
}
