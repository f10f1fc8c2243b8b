//! From the nodes of a file to a graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::context::Context;
use super::fold::{Folded, Outcome};
use super::types::{InputType, domain_name};
use super::{Bindings, OnnxModel, caldera, microsoft, ml, preview, proto, standard, tensor};
use crate::graph::{Dim, Graph, ValueId};
use crate::ops::{Attributes, build};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Error, Result, Status, bail, ensure, error};

/// A tensor that is known while the file is read. It enters the graph when a node needs it there.
#[derive(Clone, Debug)]
pub struct Known {
    pub tensor: Arc<Tensor>,
    /// An initializer: it becomes a param of this name. Anything else becomes a constant.
    pub param: Option<Rc<str>>,
    /// It follows from an input that was bound to its value: what follows from it is computed, whatever it costs.
    pub bound: bool,
}

/// What a name of the file stands for.
#[derive(Clone, Debug)]
pub enum Operand {
    Known(Known),
    Value(ValueId),
    /// A list of tensors: what the sequence operators hand to each other. Its length is always known.
    Sequence(Rc<Vec<Operand>>),
    /// An optional value that is absent.
    Absent,
    /// The result of a node that is not supported, which has been noted.
    Missing,
}

impl Operand {
    /// True if a part of it is the result of a node that is not supported.
    fn is_missing(&self) -> bool {
        match self {
            Self::Missing => true,
            Self::Sequence(parts) => parts.iter().any(Self::is_missing),
            _ => false,
        }
    }

    fn no_tensor(&self) -> Error {
        match self {
            Self::Sequence(_) => error!(Unsupported, "a sequence where a tensor is expected"),
            Self::Absent => error!(InvalidGraph, "an absent optional where a tensor is expected"),
            // No words: the node that is not supported has been noted, and is told at the end.
            _ => error!(Unsupported, ""),
        }
    }

    pub fn constant(tensor: Tensor) -> Self {
        Self::Known(Known { tensor: Arc::new(tensor), param: None, bound: false })
    }
}

/// The names that a list of nodes sees.
pub struct Scope {
    names: HashMap<String, Operand>,
    /// Versions of the operator sets, by domain.
    versions: Rc<HashMap<String, i64>>,
    /// A function sees nothing of its caller.
    isolated: bool,
}

pub struct Reader<'a> {
    pub model: &'a OnnxModel,
    pub graph: Graph,
    bindings: &'a Bindings,
    /// Values that the caller has for inputs, which could be bound to them.
    at_hand: Option<&'a BTreeMap<String, Tensor>>,
    scopes: Vec<Scope>,
    initializers: HashMap<&'a str, &'a proto::Tensor>,
    /// Names of byte tensors that nodes read as packed blocks.
    packed: HashMap<String, ElementType>,
    params: Vec<(ValueId, Arc<Tensor>)>,
    /// Where known tensors are in the graph, by their address: `kept` holds on to them.
    placed: HashMap<*const Tensor, ValueId>,
    kept: Vec<Arc<Tensor>>,
    folded: Folded,
    /// What is not supported, each with the node.
    missing: Vec<String>,
    /// Inputs whose value had to be known and was not.
    needed: BTreeSet<String>,
    /// Graphs and functions that are being read within each other.
    depth: usize,
    /// Random operators so far: each has a key of its own.
    random: u32,
}

/// Elements of inputs that are bound to their values without a second thought.
const SMALL: usize = 64;

/// More graphs and functions within each other are a cycle, or meant to harm.
const MAX_DEPTH: usize = 64;

type Model = (Graph, Vec<(String, Tensor)>);

/// Reads the model. The second part names the inputs whose values had to be known and were not, when that is why it failed.
/// `at_hand` has values of inputs that the caller would bind when asked to.
pub(super) fn read(
    model: &OnnxModel,
    bindings: &Bindings,
    at_hand: Option<&BTreeMap<String, Tensor>>,
) -> (Result<Model>, BTreeSet<String>) {
    let proto = model.graph_proto();
    let mut reader = Reader {
        model,
        graph: Graph::new(),
        bindings,
        at_hand,
        scopes: Vec::new(),
        initializers: proto.initializers.iter().map(|t| (t.name.as_str(), t)).collect(),
        packed: HashMap::new(),
        params: Vec::new(),
        placed: HashMap::new(),
        kept: Vec::new(),
        folded: Folded::default(),
        missing: Vec::new(),
        needed: BTreeSet::new(),
        depth: 0,
        random: 0,
    };
    let result = reader.model_graph(proto);
    (result.map(|()| (reader.graph.clone(), reader.take_params())), reader.needed)
}

impl<'a> Reader<'a> {
    fn model_graph(&mut self, proto: &proto::Graph) -> Result<()> {
        ensure!(proto.sparse_initializers.is_empty(), Unsupported, "sparse initializers are not supported");
        let versions: HashMap<String, i64> =
            self.model.proto.opset_import.iter().map(|set| (domain_name(&set.domain).to_string(), set.version)).collect();
        self.scopes.push(Scope { names: HashMap::new(), versions: Rc::new(versions), isolated: true });
        caldera::packed_names(&proto.nodes, &mut self.packed)?;
        self.inputs()?;
        for node in &proto.nodes {
            self.node(node)?;
        }
        ensure!(self.missing.is_empty(), Unsupported, "not supported: {}", self.missing.join("; "));
        for output in &proto.outputs {
            self.output(&output.name).map_err(|e| e.within(format!("output \"{}\"", output.name)))?;
        }
        Ok(())
    }

    fn inputs(&mut self) -> Result<()> {
        let symbols = self.model.symbols()?;
        for (name, &size) in &self.bindings.dims {
            ensure!(symbols.contains(name), InvalidArgument, "the model has no symbolic dimension \"{name}\"");
            self.graph.bindings.insert(name.clone(), size);
        }
        let names = self.model.all_input_names();
        for name in self.bindings.inputs.keys().chain(self.bindings.shapes.keys()) {
            ensure!(names.contains(&name.as_str()), InvalidArgument, "the model has no input \"{name}\"");
        }
        let model = self.model;
        for info in &model.graph_proto().inputs {
            if let Some(value) = self.bindings.inputs.get(&info.name) {
                InputType::read(info)?
                    .bind(value, &mut self.bindings.clone())
                    .map_err(|e| e.within(format!("input \"{}\"", info.name)))?;
                let known = Known { tensor: Arc::new(value.clone()), param: None, bound: true };
                self.define(&info.name, Operand::Known(known))?;
            } else if !self.initializers.contains_key(info.name.as_str()) {
                let id = self.input(InputType::read(info)?)?;
                self.define(&info.name, Operand::Value(id))?;
            }
        }
        Ok(())
    }

    fn input(&mut self, ty: InputType) -> Result<ValueId> {
        let name = &ty.name;
        let dims = match (&ty.dims, self.bindings.shapes.get(name)) {
            (Some(dims), _) => dims.clone(),
            (None, Some(shape)) => shape.iter().map(|&n| Dim::Fixed(n)).collect(),
            (None, None) => bail!(InvalidGraph, "input \"{name}\": the file does not say its shape; it must be given"),
        };
        let Some(&weight_type) = self.packed.get(name) else { return self.graph.input(name, ty.element, &dims) };
        let of = |e: Error| e.within(format!("input \"{name}\""));
        let fixed: Option<Vec<usize>> = dims.iter().map(|d| if let Dim::Fixed(n) = d { Some(*n) } else { None }).collect();
        let Some(fixed) = fixed else { bail!(Unsupported, "input \"{name}\": packed weights of a symbolic shape") };
        let packed = tensor::packed_type(weight_type, &TensorType::new(ty.element, fixed)).map_err(of)?;
        let dims: Vec<Dim> = packed.dims.iter().map(|&n| Dim::Fixed(n)).collect();
        self.graph.input(name, weight_type, &dims)
    }

    fn output(&mut self, name: &str) -> Result<()> {
        let operand = self.lookup(name)?;
        let id = self.value(&operand)?;
        let id = match self.graph.value(id).source {
            crate::graph::Source::Node { .. } => id,
            // An output is a value that some kernel writes.
            _ => self.graph.add1(build("StopGradient", &Attributes::new())?, name, &[id])?,
        };
        self.graph.output(name, id)
    }

    /// Reads a node: its outputs become names of the innermost scope. What is not supported is noted and the reading goes on, so
    /// that all of it can be told at once.
    fn node(&mut self, node: &proto::Node) -> Result<()> {
        let title = title(node);
        let outputs = match self.node_outputs(node) {
            Err(e) if e.status == Status::Unsupported => {
                // Within a graph of a node, what is not supported has been told already.
                if !e.message.is_empty() {
                    self.missing.push(format!("{title} ({})", e.message));
                }
                vec![Operand::Missing; node.outputs.len()]
            }
            result => result.map_err(|e| e.within(&title))?,
        };
        for (k, name) in node.outputs.iter().enumerate().filter(|(_, name)| !name.is_empty()) {
            match outputs.get(k) {
                Some(operand) => self.define(name, operand.clone()).map_err(|e| e.within(&title))?,
                None => bail!(InvalidGraph, "{title}: there is no output {k} \"{name}\", only {}", outputs.len()),
            }
        }
        Ok(())
    }

    fn node_outputs(&mut self, node: &proto::Node) -> Result<Vec<Operand>> {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for name in &node.inputs {
            inputs.push(if name.is_empty() { None } else { Some(self.lookup(name)?) });
            // Inside a function, an input that the caller leaves out.
            if matches!(inputs.last(), Some(Some(Operand::Absent))) && node.op_type != "OptionalHasElement" {
                inputs.pop();
                inputs.push(None);
            }
        }
        if inputs.iter().flatten().any(Operand::is_missing) {
            return Ok(vec![Operand::Missing; node.outputs.len()]);
        }
        let domain = domain_name(&node.domain);
        if let Some(function) = self.function(domain, node) {
            return self.call(function, node, inputs);
        }
        let Some(&version) = self.scope().versions.get(domain) else {
            bail!(File, "the model does not import the operator set \"{domain}\"");
        };
        let mut context = Context::new(self, node, inputs, version);
        let outputs = match domain {
            super::DOMAIN => caldera::convert(&mut context),
            "ai.onnx" => standard::convert(&mut context),
            "com.microsoft" => microsoft::convert(&mut context),
            "ai.onnx.ml" => ml::convert(&mut context),
            "ai.onnx.preview" => preview::convert(&mut context),
            _ => bail!(Unsupported, "domain \"{domain}\""),
        }?;
        // Versions before 6 say which inputs may be overwritten.
        context.attributes.ignore(&["consumed_inputs"]);
        context.attributes.finish()?;
        Ok(outputs)
    }

    fn function(&self, domain: &str, node: &proto::Node) -> Option<&'a proto::Function> {
        if domain == "ai.onnx" || domain == super::DOMAIN {
            return None;
        }
        let mut functions = self.model.proto.functions.iter();
        functions.find(|f| domain_name(&f.domain) == domain && f.name == node.op_type && f.overload == node.overload)
    }

    /// Reads the nodes of a function in place of the node that calls it.
    fn call(&mut self, function: &proto::Function, node: &proto::Node, inputs: Vec<Option<Operand>>) -> Result<Vec<Operand>> {
        let mut versions: HashMap<String, i64> = (*self.scope().versions).clone();
        versions.extend(function.opset_import.iter().map(|set| (domain_name(&set.domain).to_string(), set.version)));
        let mut names = HashMap::new();
        for (k, name) in function.inputs.iter().enumerate() {
            names.insert(name.clone(), inputs.get(k).cloned().flatten().unwrap_or(Operand::Absent));
        }
        let nodes: Vec<proto::Node> = function.nodes.iter().map(|inner| with_attributes(inner, function, node)).collect();
        let scope = Scope { names, versions: Rc::new(versions), isolated: true };
        self.within(scope, &nodes, &function.outputs)
    }

    /// Reads a graph within the graph: it sees the names around it. Gives its outputs.
    pub fn subgraph(&mut self, graph: &proto::Graph, inputs: &[Operand]) -> Result<Vec<Operand>> {
        ensure!(
            graph.inputs.len() == inputs.len(),
            File,
            "graph \"{}\" takes {} inputs, not {}",
            graph.name,
            graph.inputs.len(),
            inputs.len()
        );
        let mut names = HashMap::new();
        for tensor in &graph.initializers {
            names.insert(tensor.name.clone(), self.initializer(tensor)?);
        }
        names.extend(graph.inputs.iter().zip(inputs).map(|(info, operand)| (info.name.clone(), operand.clone())));
        let scope = Scope { names, versions: self.scope().versions.clone(), isolated: false };
        let outputs: Vec<String> = graph.outputs.iter().map(|o| o.name.clone()).collect();
        self.within(scope, &graph.nodes, &outputs)
    }

    /// Reads a graph that is whole in itself, as those in the domain caldera are: it sees no name around it. `given` is what its inputs will be.
    pub fn body(&mut self, proto: &proto::Graph, given: &[Option<Operand>]) -> Result<Graph> {
        ensure!(self.depth < MAX_DEPTH, File, "more than {MAX_DEPTH} graphs or functions within each other");
        let mut packed = HashMap::new();
        for (input, operand) in proto.inputs.iter().zip(given) {
            let element = operand.as_ref().and_then(|operand| self.element(operand));
            packed.extend(element.filter(|e| e.is_block()).map(|e| (input.name.clone(), e)));
        }
        caldera::packed_names(&proto.nodes, &mut packed)?;
        let scope = Scope { names: HashMap::new(), versions: self.scope().versions.clone(), isolated: true };
        self.scopes.push(scope);
        self.depth += 1;
        // What belongs to the graph around it waits.
        let (graph, packed) = (std::mem::take(&mut self.graph), std::mem::replace(&mut self.packed, packed));
        let (placed, folded) = (std::mem::take(&mut self.placed), std::mem::take(&mut self.folded));
        let (at_hand, needed) = (self.at_hand.take(), std::mem::take(&mut self.needed));
        let result = self.body_nodes(proto);
        let body = std::mem::replace(&mut self.graph, graph);
        (self.packed, self.placed, self.folded, self.at_hand, self.needed) = (packed, placed, folded, at_hand, needed);
        self.depth -= 1;
        self.scopes.pop();
        result.map(|()| body)
    }

    fn body_nodes(&mut self, proto: &proto::Graph) -> Result<()> {
        for tensor in &proto.initializers {
            if let Operand::Known(known) = self.initializer(tensor)? {
                self.define(&tensor.name, Operand::Known(Known { param: None, ..known }))?;
            }
        }
        for info in &proto.inputs {
            let id = self.input(InputType::read(info)?)?;
            self.define(&info.name, Operand::Value(id))?;
        }
        proto.nodes.iter().try_for_each(|node| self.node(node))?;
        for output in &proto.outputs {
            let operand = self.lookup(&output.name)?;
            let id = self.value(&operand)?;
            self.graph.output(&output.name, id)?;
        }
        Ok(())
    }

    fn within(&mut self, scope: Scope, nodes: &[proto::Node], outputs: &[String]) -> Result<Vec<Operand>> {
        ensure!(self.depth < MAX_DEPTH, File, "more than {MAX_DEPTH} graphs or functions within each other");
        self.depth += 1;
        self.scopes.push(scope);
        let mut read = || {
            nodes.iter().try_for_each(|node| self.node(node))?;
            outputs.iter().map(|name| self.lookup(name)).collect()
        };
        let result = read();
        self.scopes.pop();
        self.depth -= 1;
        result
    }

    /// A key for a random operator.
    pub fn random_key(&mut self) -> u32 {
        self.random += 1;
        self.random
    }

    fn scope(&self) -> &Scope {
        self.scopes.last().expect("the model's own scope stays")
    }

    fn define(&mut self, name: &str, operand: Operand) -> Result<()> {
        let names = &mut self.scopes.last_mut().expect("the model's own scope stays").names;
        ensure!(!names.contains_key(name), File, "\"{name}\" is defined twice");
        names.insert(name.into(), operand);
        Ok(())
    }

    /// What a name stands for.
    pub fn lookup(&mut self, name: &str) -> Result<Operand> {
        let mut outermost = true;
        for (k, scope) in self.scopes.iter().enumerate().rev() {
            if let Some(operand) = scope.names.get(name) {
                return Ok(operand.clone());
            }
            if scope.isolated {
                outermost = k == 0;
                break;
            }
        }
        if let Some(&proto) = self.initializers.get(name).filter(|_| outermost) {
            let operand = self.initializer(proto)?;
            self.scopes[0].names.insert(name.into(), operand.clone());
            return Ok(operand);
        }
        bail!(File, "\"{name}\" is read, but no input, initializer or earlier node gives it")
    }

    fn initializer(&self, proto: &proto::Tensor) -> Result<Operand> {
        let mut value = tensor::read(proto, &self.model.external)?;
        if let Some(&weight_type) = self.packed.get(&proto.name) {
            let ty = tensor::packed_type(weight_type, value.ty()).map_err(|e| e.within(format!("tensor \"{}\"", proto.name)))?;
            value = value.with_type(ty)?;
        }
        Ok(Operand::Known(Known { tensor: Arc::new(value), param: Some(proto.name.as_str().into()), bound: false }))
    }

    /// The value of the graph for an operand.
    pub fn value(&mut self, operand: &Operand) -> Result<ValueId> {
        let known = match operand {
            Operand::Value(id) => return Ok(*id),
            Operand::Known(known) => known,
            other => return Err(other.no_tensor()),
        };
        let address = Arc::as_ptr(&known.tensor);
        if let Some(&id) = self.placed.get(&address) {
            return Ok(id);
        }
        let id = match &known.param {
            Some(name) => {
                let id = self.graph.param(&self.free_name(name), known.tensor.element(), known.tensor.dims())?;
                self.params.push((id, known.tensor.clone()));
                id
            }
            None => self.graph.constant("", known.tensor.clone())?,
        };
        self.placed.insert(address, id);
        self.kept.push(known.tensor.clone());
        Ok(id)
    }

    /// The name, or if an input or param has it already, the name with a number.
    fn free_name(&self, name: &str) -> String {
        let taken = |n: &str| self.graph.inputs.iter().chain(&self.graph.params).any(|&id| self.graph.value(id).name == n);
        let numbered = (1..).map(|k| format!("{name}.{k}"));
        std::iter::once(name.to_string()).chain(numbered).find(|n| !taken(n)).expect("names do not run out")
    }

    /// The tensor behind an operand. Where it depends on inputs of the graph these are noted, and it is an error.
    pub fn known(&mut self, operand: &Operand) -> Result<Arc<Tensor>> {
        let id = match operand {
            Operand::Known(known) => return Ok(known.tensor.clone()),
            Operand::Value(id) => *id,
            other => return Err(other.no_tensor()),
        };
        let params = &self.params;
        let param = |id: ValueId| params.iter().find(|p| p.0 == id).map(|p| p.1.clone());
        match self.folded.value(&self.graph, id, &param)? {
            Outcome::Known(tensor) => Ok(tensor),
            Outcome::Depends(inputs) => {
                let names: Vec<String> = inputs.iter().map(|&id| self.graph.value(id).name.clone()).collect();
                let text: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
                self.needed.extend(names);
                Err(error!(InvalidGraph, "its shape or branch depends on the value of {}: bind it", text.join(", ")))
            }
        }
    }

    /// True if the operand is known, or would be if the caller bound a few numbers that it has at hand: then `known` asks for
    /// that, and a branch or a loop is followed while the file is read. Binding large inputs would compute everything here.
    pub fn is_within_reach(&mut self, operand: &Operand) -> Result<bool> {
        let Operand::Value(id) = operand else { return Ok(matches!(operand, Operand::Known(_))) };
        let inputs = self.folded.inputs_behind(&self.graph, *id);
        let elements: usize = inputs.iter().filter_map(|&id| self.graph.value(id).ty.as_ref()).map(TensorType::elements).sum();
        let at_hand = |name: &String| self.at_hand.is_some_and(|values| values.contains_key(name));
        Ok(inputs.iter().all(|&id| at_hand(&self.graph.value(id).name)) && elements <= SMALL)
    }

    fn element(&self, operand: &Operand) -> Option<ElementType> {
        match operand {
            Operand::Known(known) => Some(known.tensor.element()),
            Operand::Value(id) => self.graph.value(*id).element,
            _ => None,
        }
    }

    pub fn ty(&self, operand: &Operand) -> Result<TensorType> {
        match operand {
            Operand::Known(known) => Ok(known.tensor.ty().clone()),
            Operand::Value(id) => self.graph.ty(*id).cloned(),
            other => Err(other.no_tensor()),
        }
    }

    fn take_params(&mut self) -> Vec<(String, Tensor)> {
        self.scopes.clear();
        self.kept.clear();
        self.folded = Folded::default();
        let params = std::mem::take(&mut self.params);
        params.into_iter().map(|(id, tensor)| (self.graph.value(id).name.clone(), Arc::unwrap_or_clone(tensor))).collect()
    }
}

/// A node of a function for one call: attributes that refer to the function's own get their values, and names say who called.
fn with_attributes(inner: &proto::Node, function: &proto::Function, caller: &proto::Node) -> proto::Node {
    let mut node = inner.clone();
    if !caller.name.is_empty() {
        node.name = format!("{}/{}", caller.name, if inner.name.is_empty() { &inner.op_type } else { &inner.name });
    }
    node.attributes = attributes_for(&inner.attributes, function, caller);
    node
}

fn attributes_for(attributes: &[proto::Attribute], function: &proto::Function, caller: &proto::Node) -> Vec<proto::Attribute> {
    let given = |name: &str| caller.attributes.iter().chain(&function.attribute_defaults).find(|a| a.name == name);
    let resolve = |attribute: &proto::Attribute| {
        if !attribute.ref_attr_name.is_empty() {
            let value = given(&attribute.ref_attr_name)?;
            return Some(proto::Attribute { name: attribute.name.clone(), ..value.clone() });
        }
        let mut attribute = attribute.clone();
        for graph in attribute.g.iter_mut().chain(&mut attribute.graphs) {
            for node in &mut graph.nodes {
                node.attributes = attributes_for(&node.attributes, function, caller);
            }
        }
        Some(attribute)
    };
    attributes.iter().filter_map(resolve).collect()
}

/// "MatMul \"name\"", by its first output where it has no name.
fn title(node: &proto::Node) -> String {
    let name = if node.name.is_empty() { node.outputs.iter().find(|o| !o.is_empty()) } else { Some(&node.name) };
    let domain = domain_name(&node.domain);
    let operator = if domain == "ai.onnx" { node.op_type.clone() } else { format!("{domain}.{}", node.op_type) };
    format!("{operator} \"{}\"", name.map_or("", String::as_str))
}
