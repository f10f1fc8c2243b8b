//! From a graph to a model: every node in the domain caldera, by its attributes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use prost::Message as _;
use prost::bytes::Bytes;

use super::proto::{self, AttributeType, DimensionValue, TypeKind};
use super::{DOMAIN, caldera, tensor};
use crate::formats::replace_file;
use crate::graph::{Dim, Graph, Node, Source, ValueId};
use crate::ops::Attribute;
use crate::tensor::{ElementType, Tensor};
use crate::{Result, bail, ensure, error};

/// The version of the file format that is written, and of the standard operators (Constant, Identity) beside those of DOMAIN.
const IR_VERSION: i64 = 10;
const STANDARD_VERSION: i64 = 21;

/// Weights of more bytes than this in sum go into a file of their own: a protobuf message holds at most 2 GiB.
const INLINE_BYTES: usize = 1 << 30;

/// The graph as a model in memory. `params` has the value of every param.
pub fn write_model(graph: &Graph, params: &BTreeMap<String, Tensor>) -> Result<Vec<u8>> {
    Ok(Writer::new(graph).model(params, &mut None)?.encode_to_vec())
}

/// Writes the graph as a model file. Large weights go into a file beside it, named after it with ".data" at the end.
pub fn save_model(path: impl AsRef<Path>, graph: &Graph, params: &BTreeMap<String, Tensor>) -> Result<()> {
    let path = path.as_ref();
    let large = params.values().map(|t| t.bytes().len()).sum::<usize>() > INLINE_BYTES;
    save(path, graph, params, large).map_err(|e| e.within(path.display()))
}

fn save(path: &Path, graph: &Graph, params: &BTreeMap<String, Tensor>, large: bool) -> Result<()> {
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else { bail!(InvalidArgument, "the file's name is no text") };
    let mut data = large.then(|| DataFile { name: format!("{name}.data"), bytes: Vec::new() });
    let model = Writer::new(graph).model(params, &mut data)?;
    if let Some(data) = data {
        replace_file(&path.with_file_name(&data.name), &data.bytes).map_err(|e| error!(File, "{}: {e}", data.name))?;
    }
    replace_file(path, &model.encode_to_vec()).map_err(|e| error!(File, "{e}"))
}

/// Weights on their way into a file beside the model.
struct DataFile {
    name: String,
    bytes: Vec<u8>,
}

impl DataFile {
    fn append(&mut self, tensor: &mut proto::Tensor) {
        let raw = tensor.raw_data.take().unwrap_or_default();
        // Pages of 4096 bytes, so that a reader can map each tensor by itself.
        self.bytes.resize(self.bytes.len().next_multiple_of(4096), 0);
        let entry = |key: &str, value: String| proto::Entry { key: key.into(), value };
        tensor.external_data = vec![
            entry("location", self.name.clone()),
            entry("offset", self.bytes.len().to_string()),
            entry("length", raw.len().to_string()),
        ];
        tensor.data_location = 1;
        self.bytes.extend_from_slice(&raw);
    }
}

/// Gives every value of a graph a name of its own and makes the messages.
struct Writer<'g> {
    graph: &'g Graph,
    names: HashMap<ValueId, String>,
    /// Names of the outputs.
    outputs: Vec<String>,
    taken: HashSet<String>,
}

impl<'g> Writer<'g> {
    fn new(graph: &'g Graph) -> Self {
        let mut writer = Self { graph, names: HashMap::new(), outputs: Vec::new(), taken: HashSet::new() };
        writer.name_sources();
        writer.outputs = graph.outputs().iter().map(|(name, _)| name.clone()).collect();
        writer.taken.extend(writer.outputs.iter().cloned());
        writer.name_rest();
        writer
    }

    /// For a graph within this one: no name of it is one of those around it.
    fn within<'b>(&self, body: &'b Graph) -> Writer<'b> {
        let mut writer = Writer { graph: body, names: HashMap::new(), outputs: Vec::new(), taken: self.taken.clone() };
        writer.name_sources();
        let mut told = HashSet::new();
        for (name, id) in body.outputs() {
            let is_node = matches!(body.value(*id).source, Source::Node { .. });
            let name = if is_node && told.insert(*id) { writer.names[id].clone() } else { writer.take(name) };
            writer.outputs.push(name);
        }
        writer.name_rest();
        writer
    }

    /// Names what is given from outside, and results that are outputs.
    fn name_sources(&mut self) {
        let graph = self.graph;
        for &id in graph.inputs().iter().chain(graph.params()) {
            self.name(id, &graph.value(id).name);
        }
        for (name, id) in graph.outputs() {
            if matches!(graph.value(*id).source, Source::Node { .. }) && !self.names.contains_key(id) {
                self.name(*id, name);
            }
        }
    }

    fn name_rest(&mut self) {
        for k in 0..self.graph.values().len() {
            let id = ValueId(k as u32);
            if !self.names.contains_key(&id) {
                self.name(id, &self.graph.value(id).name);
            }
        }
    }

    fn name(&mut self, id: ValueId, wanted: &str) {
        let name = if wanted.is_empty() { self.take(&format!("v{}", id.0)) } else { self.take(wanted) };
        self.names.insert(id, name);
    }

    /// The name, or if it is taken the name with a number.
    fn take(&mut self, wanted: &str) -> String {
        let numbered = (1..).map(|k| format!("{wanted}.{k}"));
        let name =
            std::iter::once(wanted.to_string()).chain(numbered).find(|n| !self.taken.contains(n)).expect("names do not run out");
        self.taken.insert(name.clone());
        name
    }

    fn model(&self, params: &BTreeMap<String, Tensor>, data: &mut Option<DataFile>) -> Result<proto::Model> {
        let set = |domain: &str, version| proto::OperatorSet { domain: domain.into(), version };
        Ok(proto::Model {
            ir_version: Some(IR_VERSION),
            producer_name: "caldera".into(),
            producer_version: env!("CARGO_PKG_VERSION").into(),
            graph: Some(self.graph(params, data)?),
            opset_import: vec![set("", STANDARD_VERSION), set(DOMAIN, caldera::VERSION)],
            ..Default::default()
        })
    }

    fn graph(&self, params: &BTreeMap<String, Tensor>, data: &mut Option<DataFile>) -> Result<proto::Graph> {
        let graph = self.graph;
        let mut out = proto::Graph { name: "graph".into(), ..Default::default() };
        for &id in graph.params() {
            let value = graph.value(id);
            let Some(tensor) = params.get(&value.name) else { bail!(InvalidArgument, "param \"{}\" has no value", value.name) };
            ensure!(
                Some(tensor.ty()) == value.ty.as_ref(),
                InvalidArgument,
                "param \"{}\" is {}, not {}",
                value.name,
                graph.ty(id)?,
                tensor.ty()
            );
            let mut stored = tensor::write(&self.names[&id], tensor);
            if let Some(data) = data {
                data.append(&mut stored);
            }
            out.initializers.push(stored);
        }
        for (k, value) in graph.values().iter().enumerate() {
            if let Source::Constant(tensor) = &value.source {
                out.nodes.push(constant(&self.names[&ValueId(k as u32)], tensor));
            }
        }
        out.inputs = graph.inputs().iter().map(|&id| self.input(id)).collect();
        for node in graph.nodes() {
            out.nodes.push(self.node(node).map_err(|e| e.within(node.title()))?);
        }
        for ((_, id), name) in graph.outputs().iter().zip(&self.outputs) {
            if *name != self.names[id] {
                out.nodes.push(identity(&self.names[id], name));
            }
            out.outputs.push(self.output(name, *id));
        }
        Ok(out)
    }

    fn node(&self, node: &Node) -> Result<proto::Node> {
        let mut attributes = Vec::new();
        for (name, value) in node.operator.attributes() {
            attributes.push(match &value {
                Attribute::Graph(body) => self.body(&name, body).map_err(|e| e.within(&name))?,
                plain => attribute(&name, plain)?,
            });
        }
        let has_bodies = !node.operator.bodies().is_empty();
        // Which of a body's inputs are packed is said within it.
        for (k, id) in node.inputs.iter().enumerate().filter(|_| !has_bodies) {
            let element = id.and_then(|id| self.graph.value(id).element);
            if let Some(element) = element.filter(|e| e.is_block()) {
                let at = caldera::weight_input(node.operator.name());
                ensure!(k == at, Unsupported, "input {k} is of type {element}, a file has packed weights at input {at} only");
                attributes.push(attribute("weight_type", &Attribute::Text(element.name().into()))?);
            }
        }
        Ok(proto::Node {
            inputs: node.inputs.iter().map(|id| id.map_or(String::new(), |id| self.names[&id].clone())).collect(),
            outputs: node.outputs.iter().map(|id| self.names[id].clone()).collect(),
            name: node.name.clone(),
            op_type: node.operator.name().into(),
            domain: DOMAIN.into(),
            attributes,
            ..Default::default()
        })
    }

    fn body(&self, name: &str, body: &Graph) -> Result<proto::Attribute> {
        let graph = self.within(body).graph(&BTreeMap::new(), &mut None)?;
        Ok(proto::Attribute { g: Some(proto::Graph { name: name.into(), ..graph }), ..named(name, AttributeType::Graph) })
    }

    fn input(&self, id: ValueId) -> proto::ValueInfo {
        let value = self.graph.value(id);
        let element = value.element.unwrap_or(ElementType::F32);
        let mut dims: Vec<Dim> = match &value.source {
            Source::Input(dims) => dims.iter().map(|d| self.graph.bound(d)).collect(),
            _ => Vec::new(),
        };
        if element.is_block()
            && let Some(Dim::Fixed(row)) = dims.last_mut()
        {
            *row = *row / element.block_elements() * element.block_bytes();
        }
        info(&self.names[&id], tensor::element_number(element), Some(&dims))
    }

    fn output(&self, name: &str, id: ValueId) -> proto::ValueInfo {
        let value = self.graph.value(id);
        let dims: Option<Vec<Dim>> = value.ty.as_ref().map(|ty| ty.dims.iter().map(|&n| Dim::Fixed(n)).collect());
        info(name, value.element.map_or(0, tensor::element_number), dims.as_deref())
    }
}

fn info(name: &str, element: i32, dims: Option<&[Dim]>) -> proto::ValueInfo {
    let value = |dim: &Dim| match dim {
        Dim::Fixed(n) => DimensionValue::Size(*n as i64),
        Dim::Symbol(name) => DimensionValue::Symbol(name.clone()),
    };
    let shape =
        dims.map(|dims| proto::Shape { dims: dims.iter().map(|dim| proto::Dimension { value: Some(value(dim)) }).collect() });
    let kind = TypeKind::Tensor(proto::TensorType { element, shape });
    proto::ValueInfo { name: name.into(), ty: Some(proto::Type { kind: Some(kind) }) }
}

fn constant(name: &str, tensor: &Tensor) -> proto::Node {
    let value = proto::Attribute { t: Some(tensor::write("", tensor)), ..named("value", AttributeType::Tensor) };
    proto::Node { outputs: vec![name.into()], op_type: "Constant".into(), attributes: vec![value], ..Default::default() }
}

fn identity(from: &str, to: &str) -> proto::Node {
    proto::Node { inputs: vec![from.into()], outputs: vec![to.into()], op_type: "Identity".into(), ..Default::default() }
}

fn named(name: &str, kind: AttributeType) -> proto::Attribute {
    proto::Attribute { name: name.into(), kind: Some(kind as i32), ..Default::default() }
}

fn attribute(name: &str, value: &Attribute) -> Result<proto::Attribute> {
    Ok(match value {
        Attribute::Int(v) => proto::Attribute { i: Some(*v), ..named(name, AttributeType::Int) },
        Attribute::Float(v) => proto::Attribute { f: Some(*v as f32), ..named(name, AttributeType::Float) },
        Attribute::Text(v) => {
            proto::Attribute { s: Some(Bytes::copy_from_slice(v.as_bytes())), ..named(name, AttributeType::String) }
        }
        Attribute::Ints(v) => proto::Attribute { ints: v.clone(), ..named(name, AttributeType::Ints) },
        Attribute::Floats(v) => {
            proto::Attribute { floats: v.iter().map(|&x| x as f32).collect(), ..named(name, AttributeType::Floats) }
        }
        Attribute::Tensor(v) => proto::Attribute { t: Some(tensor::write("", v)), ..named(name, AttributeType::Tensor) },
        Attribute::Graph(_) => bail!(Internal, "attribute \"{name}\" is a graph, which its writer writes"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::onnx::{Bindings, OnnxModel};
    use crate::ops::{Attributes, build, table};

    /// The text of a graph without what writing may change: the order of params.
    fn sorted_text(graph: &Graph) -> Vec<String> {
        let mut lines: Vec<String> = graph.to_text().lines().map(str::to_string).collect();
        lines.sort();
        lines
    }

    /// The text of a graph; without names if there are graphs within it, whose names a file may change.
    fn text(graph: &Graph) -> String {
        let text = graph.to_text();
        match graph.nodes().iter().all(|node| node.operator.bodies().is_empty()) {
            true => text,
            false => text.split('"').step_by(2).collect(),
        }
    }

    #[test]
    fn every_operator_survives_a_round_trip() {
        for entry in table() {
            let mut cases = (entry.cases)();
            if cases[0].operator.bodies().is_empty() {
                cases.truncate(3);
            }
            for case in cases {
                let mut graph = Graph::new();
                let add = |(k, input): (usize, &Option<(crate::tensor::TensorType, crate::ops::Fill)>)| {
                    let (ty, _) = input.as_ref()?;
                    let dims: Vec<Dim> = ty.dims.iter().map(|&n| Dim::Fixed(n)).collect();
                    Some(graph.input(&format!("x{k}"), ty.element, &dims).expect("an input"))
                };
                let inputs: Vec<Option<ValueId>> = case.inputs.iter().enumerate().map(add).collect();
                let outputs = graph.add(case.operator.clone(), "node", &inputs).expect("the case is right");
                for (k, &id) in outputs.iter().enumerate() {
                    graph.output(&format!("y{k}"), id).expect("an output");
                }
                let bytes = write_model(&graph, &BTreeMap::new()).expect("writes");
                let model = OnnxModel::from_bytes(&bytes).expect("parses");
                let (back, _) = model.graph(&Bindings::default()).unwrap_or_else(|e| panic!("{}: {e}", case.title()));
                assert_eq!(text(&graph), text(&back), "{}", case.title());
            }
        }
    }

    #[test]
    fn leaves_survive_a_round_trip() {
        let mut graph = Graph::new();
        let x = graph.input("x", ElementType::F32, &[Dim::Symbol("n".into()), Dim::Fixed(3)]).expect("an input");
        let w = graph.param("x.w", ElementType::F32, &[2, 3]).expect("a param");
        let c = graph.constant("", Tensor::from_slice(&[1], &[2.5f32]).into()).expect("a constant");
        let softmax = build("Softmax", &Attributes::from([("axis".to_string(), Attribute::Int(-1))])).expect("an operator");
        for (k, id) in [x, w, c].into_iter().enumerate() {
            let y = graph.add1(softmax.clone(), "", &[id]).expect("a node");
            graph.output(&format!("y{k}"), y).expect("an output");
            graph.output(&format!("again{k}"), y).expect("an output");
        }
        let params = BTreeMap::from([("x.w".to_string(), Tensor::from_slice(&[2, 3], &[1f32, 2., 3., 4., 5., 6.]))]);
        let folder = std::env::temp_dir().join(format!("caldera-write-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        for large in [false, true] {
            let path = folder.join("model.onnx");
            save(&path, &graph, &params, large).expect("writes");
            let model = OnnxModel::open(&path).expect("parses");
            let (back, values) = model.graph(&Bindings::default()).expect("reads");
            assert_eq!(sorted_text(&graph).len(), sorted_text(&back).len());
            assert_eq!(graph.outputs().len(), back.outputs().len());
            assert_eq!(values, [("x.w".to_string(), params["x.w"].clone())]);
            assert_eq!(model.symbols().expect("types"), ["n"]);
        }
        std::fs::remove_dir_all(&folder).expect("removed");
    }

    /// Two branches, each with a name "w" of its own: packed weights in one, the batch in the other.
    #[test]
    fn bodies_with_packed_weights_survive_a_round_trip() {
        let n = || Dim::Symbol("n".into());
        let branch = |packed: bool| {
            let mut body = Graph::new();
            let x = body.input(if packed { "x" } else { "w" }, ElementType::F32, &[n(), Dim::Fixed(32)]).expect("an input");
            let y = match packed {
                true => {
                    let w = body.param("w", ElementType::Q8_0, &[3, 32]).expect("a param");
                    let scheme = Attributes::from([("scheme".to_string(), Attribute::Text("q8_0".into()))]);
                    body.add1(build("DequantMatMul", &scheme).expect("an operator"), "", &[x, w])
                }
                false => {
                    let cut = [("axis", 1), ("start", 0), ("len", 3)].map(|(name, v)| (name.to_string(), Attribute::Int(v)));
                    body.add1(build("Narrow", &Attributes::from(cut)).expect("an operator"), "", &[x])
                }
            };
            body.output("y", y.expect("a node")).expect("an output");
            Attribute::Graph(body.into())
        };
        let branches = Attributes::from([("then".to_string(), branch(true)), ("else".to_string(), branch(false))]);
        let mut graph = Graph::new();
        let pred = graph.input("p", ElementType::Bool, &[]).expect("an input");
        let x = graph.input("x", ElementType::F32, &[n(), Dim::Fixed(32)]).expect("an input");
        let y = graph.add(build("If", &branches).expect("an operator"), "", &[Some(pred), Some(x)]).expect("a node");
        graph.output("y", y[0]).expect("an output");
        let weights = Tensor::zeros(crate::tensor::TensorType::new(ElementType::Q8_0, [3, 32]));
        let params = BTreeMap::from([("w".to_string(), weights.clone())]);
        let bytes = write_model(&graph, &params).expect("writes");
        let (mut back, values) = OnnxModel::from_bytes(&bytes).expect("parses").graph(&Bindings::default()).expect("reads");
        assert_eq!(values, [("w".to_string(), weights)]);
        back.bind_dim("n", 2).expect("the branches take any n");
        assert_eq!(back.ty(back.outputs()[0].1).expect("a type").dims, [2, 3]);
    }
}
