//! `caldera inspect`: what is in a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use caldera::formats::gguf::{Gguf, Value};
use caldera::formats::onnx::{Bindings, InputType, OnnxModel};
use caldera::formats::safetensors::SafetensorsFile;
use caldera::graph::{Dim, Graph};
use caldera::passes;
use caldera::plan::{MemoryReport, Options, Program};
use caldera::{Result, bail};
use serde_json::json;

use crate::out::say;
use crate::values;

/// Shows what is in an ONNX, GGUF or safetensors file
#[derive(clap::Args)]
pub struct Arguments {
    /// The file
    file: PathBuf,
    /// Print the graph for Graphviz (dot -Tsvg)
    #[arg(long)]
    dot: bool,
    /// Print the graph as text, one line a value
    #[arg(long)]
    graph: bool,
    /// The size of a symbolic dimension
    #[arg(long, value_name = "NAME=SIZE")]
    dim: Vec<String>,
    /// The value of an input on which shapes or branches depend: name=file.npy
    #[arg(long, value_name = "NAME=FILE")]
    input: Vec<String>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn main(arguments: &Arguments) -> Result<ExitCode> {
    match arguments.file.extension().and_then(|e| e.to_str()) {
        Some("gguf") => gguf(arguments)?,
        Some("safetensors") => safetensors(arguments)?,
        Some("onnx") => onnx(arguments)?,
        _ => bail!(InvalidArgument, "{}: .onnx, .gguf and .safetensors files are known", arguments.file.display()),
    }
    Ok(ExitCode::SUCCESS)
}

fn no_graph(arguments: &Arguments, path: &Path) -> Result<()> {
    if arguments.dot || arguments.graph {
        bail!(InvalidArgument, "{}: such a file holds no graph", path.display());
    }
    Ok(())
}

fn dims_text(dims: Option<&[Dim]>) -> String {
    let Some(dims) = dims else { return "of any shape".into() };
    let parts: Vec<String> = dims
        .iter()
        .map(|dim| match dim {
            Dim::Fixed(n) => n.to_string(),
            Dim::Symbol(name) => name.clone(),
        })
        .collect();
    format!("[{}]", parts.join(","))
}

fn onnx(arguments: &Arguments) -> Result<()> {
    let model = OnnxModel::open(&arguments.file)?;
    let bindings = Bindings { dims: values::dims(&arguments.dim)?, inputs: values::read(&arguments.input)?, ..Bindings::default() };
    let loaded = model.graph(&bindings);
    if arguments.dot || arguments.graph {
        let graph = loaded?.0;
        say!("{}", if arguments.dot { graph.to_dot() } else { graph.to_text() });
        return Ok(());
    }
    let inputs: Vec<InputType> = model.input_names().into_iter().map(|name| model.input_type(name)).collect::<Result<_>>()?;
    let plan = loaded.and_then(|(graph, _)| plan(&graph));
    if arguments.json {
        say!("{}", onnx_json(&model, &inputs, &plan));
        return Ok(());
    }
    let sets: Vec<String> = model.operator_sets().iter().map(|(domain, version)| format!("{domain} {version}")).collect();
    say!("operator sets  {}", sets.join(", "));
    if !model.doc_string().is_empty() {
        say!("says           {}", model.doc_string());
    }
    for input in &inputs {
        say!("input          {} {} {}", input.name, input.element, dims_text(input.dims.as_deref()));
    }
    for name in model.output_names() {
        say!("output         {name}");
    }
    say!("operators");
    for (name, count) in by_count(model.operator_counts()) {
        say!("{count:>8}  {name}");
    }
    match plan {
        Ok(plan) => plan.print(),
        Err(why) => say!("no plan: {why}"),
    }
    Ok(())
}

fn by_count(counts: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// What compiling makes of a graph.
struct Plan {
    nodes: usize,
    params: usize,
    memory: MemoryReport,
}

fn plan(graph: &Graph) -> Result<Plan> {
    let unbound = graph.unbound();
    if !unbound.is_empty() {
        bail!(InvalidArgument, "these dimensions are not bound: {} (--dim name=size)", unbound.join(", "));
    }
    let program = Program::new(passes::optimize(graph, true)?, None, &Options::default())?;
    Ok(Plan { nodes: program.graph.nodes().len(), params: program.params.len(), memory: program.memory })
}

impl Plan {
    fn rows(&self) -> [(&'static str, usize); 6] {
        let m = &self.memory;
        [
            ("weights", m.weights),
            ("constants", m.constants),
            ("inputs and outputs", m.ports),
            ("activations", m.arena),
            ("activations, lower bound", m.lower_bound),
            ("activations, without reuse", m.no_reuse),
        ]
    }

    fn print(&self) {
        say!("plan: {} nodes, {} params, bytes of memory:", self.nodes, self.params);
        for (name, bytes) in self.rows() {
            say!("{bytes:>16}  {name}");
        }
    }

    fn json(&self) -> serde_json::Value {
        let m = &self.memory;
        json!({
            "nodes": self.nodes,
            "params": self.params,
            "bytes": {
                "weights": m.weights, "constants": m.constants, "ports": m.ports,
                "arena": m.arena, "lower_bound": m.lower_bound, "no_reuse": m.no_reuse,
            },
        })
    }
}

fn onnx_json(model: &OnnxModel, inputs: &[InputType], plan: &Result<Plan>) -> serde_json::Value {
    let dim = |dim: &Dim| match dim {
        Dim::Fixed(n) => json!(n),
        Dim::Symbol(name) => json!(name),
    };
    let input = |input: &InputType| {
        let dims = input.dims.as_ref().map(|dims| dims.iter().map(dim).collect::<Vec<_>>());
        json!({"name": input.name, "type": input.element.name(), "dims": dims})
    };
    let sets: BTreeMap<&str, i64> = model.operator_sets().into_iter().collect();
    json!({
        "operator_sets": sets,
        "inputs": inputs.iter().map(input).collect::<Vec<_>>(),
        "outputs": model.output_names(),
        "operators": model.operator_counts(),
        "plan": plan.as_ref().ok().map(Plan::json),
        "no_plan": plan.as_ref().err().map(ToString::to_string),
    })
}

fn value_text(value: &Value) -> String {
    match value {
        Value::Uint(v) => v.to_string(),
        Value::Int(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Bool(v) => v.to_string(),
        Value::Text(v) => {
            let short: String = v.chars().take(60).collect();
            format!("\"{}\"{}", short.escape_debug(), if short.len() < v.len() { " .." } else { "" })
        }
        Value::Array(v) => {
            let first: Vec<String> = v.values().take(4).map(|v| value_text(&v)).collect();
            format!("{} x {}: {}{}", v.len(), v.kind().name(), first.join(" "), if v.len() > 4 { " .." } else { "" })
        }
    }
}

/// Tensors, elements and bytes by element type.
fn totals<'a>(types: impl Iterator<Item = &'a caldera::tensor::TensorType>) -> BTreeMap<&'static str, [usize; 3]> {
    let mut totals = BTreeMap::new();
    for ty in types {
        let row: &mut [usize; 3] = totals.entry(ty.element.name()).or_default();
        for (sum, n) in row.iter_mut().zip([1, ty.elements(), ty.bytes()]) {
            *sum += n;
        }
    }
    totals
}

fn print_totals(totals: &BTreeMap<&'static str, [usize; 3]>) {
    for (name, [tensors, elements, bytes]) in totals {
        say!("{name:<8} {tensors:>6} tensors {elements:>14} elements {bytes:>14} bytes");
    }
}

fn gguf(arguments: &Arguments) -> Result<()> {
    no_graph(arguments, &arguments.file)?;
    let file = Gguf::open(&arguments.file)?;
    let totals = totals(file.tensors().iter().map(|t| &t.ty));
    if arguments.json {
        let metadata: BTreeMap<&str, String> = file.metadata().iter().map(|(k, v)| (k.as_str(), value_text(v))).collect();
        let tensor =
            |t: &caldera::formats::gguf::GgufTensor| json!({"name": t.name, "type": t.ty.element.name(), "dims": t.ty.dims});
        let tensors: Vec<_> = file.tensors().iter().map(tensor).collect();
        say!("{}", json!({"version": file.version(), "metadata": metadata, "tensors": tensors, "totals": totals}));
        return Ok(());
    }
    say!("GGUF version {}", file.version());
    for (key, value) in file.metadata() {
        say!("{key} = {}", value_text(value));
    }
    for tensor in file.tensors() {
        say!("{:<40} {}", tensor.name, tensor.ty);
    }
    print_totals(&totals);
    Ok(())
}

fn safetensors(arguments: &Arguments) -> Result<()> {
    no_graph(arguments, &arguments.file)?;
    let file = SafetensorsFile::open(&arguments.file)?;
    let types = file.names().into_iter().map(|name| file.tensor(&name).map(|(ty, _)| (name, ty))).collect::<Result<Vec<_>>>()?;
    let totals = totals(types.iter().map(|(_, ty)| ty));
    if arguments.json {
        let tensors: Vec<_> =
            types.iter().map(|(name, ty)| json!({"name": name, "type": ty.element.name(), "dims": ty.dims})).collect();
        say!("{}", json!({"tensors": tensors, "totals": totals}));
        return Ok(());
    }
    types.iter().for_each(|(name, ty)| say!("{name:<40} {ty}"));
    print_totals(&totals);
    Ok(())
}
