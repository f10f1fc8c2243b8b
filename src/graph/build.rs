//! Building a graph, one call a value. Every call checks its part at once.

use std::sync::Arc;

use super::{Dim, Graph, Node, Source, Value, ValueId};
use crate::ops::{Inputs, OperatorRef};
use crate::tensor::{ElementType, Tensor, TensorType, dims_text};
use crate::{Result, bail, ensure, error, listed};

impl Graph {
    pub fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, name: String, element: Option<ElementType>, ty: Option<TensorType>, source: Source) -> Result<ValueId> {
        let id = u32::try_from(self.values.len()).ok().filter(|&n| n < u32::MAX - 1);
        let Some(id) = id else { bail!(InvalidGraph, "a graph holds at most {} values", u32::MAX - 1) };
        self.values.push(Value { name, element, ty, source });
        Ok(ValueId(id))
    }

    fn check_leaf_name(&self, kind: &str, name: &str) -> Result<()> {
        ensure!(!name.is_empty(), InvalidGraph, "an {kind} needs a name");
        let taken = self.inputs.iter().chain(&self.params).any(|&v| self.value(v).name == name);
        ensure!(!taken, InvalidGraph, "there is already an input or param named \"{name}\"");
        Ok(())
    }

    /// A value filled at each run or by a bound handle.
    pub fn input(&mut self, name: &str, element: ElementType, dims: &[Dim]) -> Result<ValueId> {
        self.check_leaf_name("input", name)?;
        for dim in dims {
            ensure!(
                !matches!(dim, Dim::Symbol(s) if s.is_empty()),
                InvalidGraph,
                "input \"{name}\" has a symbolic dimension without a name"
            );
        }
        let ty = self.resolve_dims(element, dims).map_err(|e| e.within(format!("input \"{name}\"")))?;
        let id = self.push(name.into(), Some(element), ty, Source::Input(dims.to_vec()))?;
        self.inputs.push(id);
        Ok(id)
    }

    /// A weight.
    pub fn param(&mut self, name: &str, element: ElementType, dims: &[usize]) -> Result<ValueId> {
        self.check_leaf_name("param", name)?;
        let ty = TensorType::checked(element, dims).map_err(|e| e.within(format!("param \"{name}\"")))?;
        let id = self.push(name.into(), Some(element), Some(ty), Source::Param)?;
        self.params.push(id);
        Ok(id)
    }

    /// Data inside the graph.
    pub fn constant(&mut self, name: &str, tensor: Arc<Tensor>) -> Result<ValueId> {
        let ty = TensorType::checked(tensor.element(), tensor.dims())?;
        self.push(name.into(), Some(ty.element), Some(ty), Source::Constant(tensor))
    }

    /// A node; its name may be empty, then one is made. Returns its outputs.
    pub fn add(&mut self, operator: OperatorRef, name: &str, inputs: &[Option<ValueId>]) -> Result<Vec<ValueId>> {
        let name = if name.is_empty() { format!("{}.{}", operator.name(), self.nodes.len()) } else { name.to_string() };
        let count = self.values.len();
        for &id in inputs.iter().flatten() {
            ensure!(
                id.index() < count,
                InvalidArgument,
                "{} \"{name}\": value {} is not of this graph, which has {count}",
                operator.name(),
                id.0
            );
        }
        let (values, params) = (self.values.len(), self.params.len());
        let added = self.lift_params(operator, inputs).and_then(|(operator, inputs)| self.add_node(operator, name, &inputs));
        if added.is_err() {
            self.values.truncate(values);
            self.params.truncate(params);
        }
        added
    }

    /// Params of an operator's bodies become params of this graph, which the bodies capture.
    fn lift_params(&mut self, operator: OperatorRef, inputs: &[Option<ValueId>]) -> Result<(OperatorRef, Vec<Option<ValueId>>)> {
        let mut inputs = inputs.to_vec();
        let mut lifted: Vec<(String, TensorType)> = Vec::new();
        for (_, body) in operator.bodies() {
            for &id in &body.params {
                let (name, ty) = (&body.value(id).name, body.ty(id)?);
                if let Some((_, before)) = lifted.iter().find(|l| l.0 == *name) {
                    ensure!(before == ty, InvalidGraph, "{}: param \"{name}\" is {before} and {ty}", operator.name());
                } else {
                    lifted.push((name.clone(), ty.clone()));
                }
            }
        }
        if lifted.is_empty() {
            return Ok((operator, inputs));
        }
        let after = operator.inputs_after_captures();
        for (name, ty) in &lifted {
            let id = match self.params.iter().find(|&&id| self.value(id).name == *name) {
                Some(&id) => id,
                None => self.param(name, ty.element, &ty.dims)?,
            };
            ensure!(
                self.ty(id)? == ty,
                InvalidGraph,
                "{}: param \"{name}\" is {} outside, {ty} inside",
                operator.name(),
                self.ty(id)?
            );
            inputs.insert(inputs.len().saturating_sub(after), Some(id));
        }
        let bodies = operator.bodies().into_iter().map(|(_, body)| body.with_captured(&lifted, after).map(Arc::new));
        let made = operator.with_bodies(bodies.collect::<Result<_>>()?);
        Ok((made.ok_or_else(|| error!(Internal, "{} does not take its bodies back", operator.name()))?, inputs))
    }

    /// This graph with inputs in place of its params, and for all params in the list, before the last `after` inputs.
    fn with_captured(&self, params: &[(String, TensorType)], after: usize) -> Result<Graph> {
        let mut body = self.clone();
        body.params.clear();
        for (name, ty) in params {
            let dims: Vec<Dim> = ty.dims.iter().map(|&n| Dim::Fixed(n)).collect();
            let own = self.params.iter().copied().find(|&id| self.value(id).name == *name);
            let id = match own {
                Some(id) => {
                    body.values[id.index()].source = Source::Input(dims);
                    id
                }
                None => body.push(format!("{name}.captured"), Some(ty.element), Some(ty.clone()), Source::Input(dims))?,
            };
            body.inputs.insert(body.inputs.len().saturating_sub(after), id);
        }
        Ok(body)
    }

    fn add_node(&mut self, operator: OperatorRef, name: String, inputs: &[Option<ValueId>]) -> Result<Vec<ValueId>> {
        let node = self.nodes.len();
        let types = self.infer(&*operator, inputs).map_err(|e| e.within(format!("{} \"{name}\"", operator.name())))?;
        let count = match &types {
            Some(types) => types.len(),
            None => operator.output_count(inputs.len()),
        };
        let mut outputs = Vec::with_capacity(count);
        for output in 0..count {
            let ty = types.as_ref().map(|t| t[output].clone());
            let value_name = if count == 1 { name.clone() } else { format!("{name}.{output}") };
            outputs.push(self.push(value_name, ty.as_ref().map(|t| t.element), ty, Source::Node { node, output })?);
        }
        self.nodes.push(Node { operator, name, inputs: inputs.to_vec(), outputs: outputs.clone() });
        Ok(outputs)
    }

    /// A node of one output.
    pub fn add1(&mut self, operator: OperatorRef, name: &str, inputs: &[ValueId]) -> Result<ValueId> {
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        Ok(self.add(operator, name, &inputs)?[0])
    }

    /// Marks a value as an output under a name of its own.
    pub fn output(&mut self, name: &str, value: ValueId) -> Result<()> {
        ensure!(!name.is_empty(), InvalidGraph, "an output needs a name");
        ensure!(value.index() < self.values.len(), InvalidArgument, "output \"{name}\": value {} is not of this graph", value.0);
        ensure!(self.outputs.iter().all(|(n, _)| n != name), InvalidGraph, "there is already an output named \"{name}\"");
        if let Some(element) = self.value(value).element {
            ensure!(!element.is_block(), InvalidGraph, "output \"{name}\" would be of the packed type {element}: add a Dequantize");
        }
        self.outputs.push((name.into(), value));
        Ok(())
    }

    /// Names the node that makes a value.
    pub fn rename(&mut self, value: ValueId, name: &str) -> Result<()> {
        ensure!(!name.is_empty(), InvalidGraph, "a node's name cannot be empty");
        let Source::Node { node, output } = self.value(value).source else {
            bail!(InvalidArgument, "\"{}\" is not the result of an operator", self.value(value).name)
        };
        self.nodes[node].name = name.into();
        self.values[value.index()].name =
            if self.nodes[node].outputs.len() == 1 { name.into() } else { format!("{name}.{output}") };
        Ok(())
    }

    /// Gives a symbolic dimension its size and computes the shapes that follow. Binding again changes it.
    pub fn bind_dim(&mut self, name: &str, size: usize) -> Result<()> {
        let known = self.symbols().iter().any(|s| s == name);
        ensure!(known, InvalidArgument, "the graph has no symbolic dimension \"{name}\"; it has: {}", listed(&self.symbols()));
        let before = self.clone();
        self.bindings.insert(name.into(), size);
        let result = self.infer_all();
        if result.is_err() {
            *self = before;
        }
        result
    }

    fn infer_all(&mut self) -> Result<()> {
        for i in 0..self.inputs.len() {
            let id = self.inputs[i];
            let Source::Input(dims) = &self.value(id).source else { continue };
            let element = self.value(id).element.expect("an input has an element type");
            self.values[id.index()].ty = self.resolve_dims(element, dims)?;
        }
        for i in 0..self.nodes.len() {
            let node = &self.nodes[i];
            let types = self.infer(&*node.operator, &node.inputs).map_err(|e| e.within(node.title()))?;
            for (output, id) in self.nodes[i].outputs.clone().into_iter().enumerate() {
                let value = &mut self.values[id.index()];
                value.ty = types.as_ref().map(|t| t[output].clone());
                value.element = value.ty.as_ref().map(|t| t.element).or(value.element);
            }
        }
        Ok(())
    }

    fn resolve_dims(&self, element: ElementType, dims: &[Dim]) -> Result<Option<TensorType>> {
        let mut sizes = Vec::with_capacity(dims.len());
        for dim in dims {
            match dim {
                Dim::Fixed(n) => sizes.push(*n),
                Dim::Symbol(name) => match self.bindings.get(name) {
                    Some(&n) => sizes.push(n),
                    None => return Ok(None),
                },
            }
        }
        TensorType::checked(element, &sizes).map(Some)
    }

    /// Types of an operator's outputs; none while an input's type is not known.
    fn infer(&self, operator: &dyn crate::ops::Operator, inputs: &[Option<ValueId>]) -> Result<Option<Vec<TensorType>>> {
        let mut types = Vec::with_capacity(inputs.len());
        for input in inputs {
            match input {
                None => types.push(None),
                Some(id) => match &self.value(*id).ty {
                    Some(ty) => types.push(Some(ty)),
                    None => return Ok(None),
                },
            }
        }
        let outputs = operator.infer(&Inputs(&types))?;
        for ty in &outputs {
            TensorType::checked(ty.element, &ty.dims).map_err(|e| e.within(format!("result {}", dims_text(&ty.dims))))?;
        }
        Ok(Some(outputs))
    }
}
