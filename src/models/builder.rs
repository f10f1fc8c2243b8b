//! A graph in the making, and the file it is made from.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{ModelOptions, attributes};
use crate::formats::gguf::{Array, Gguf, Value};
use crate::graph::{Dim, Graph, ValueId};
use crate::ops::{Attribute, build};
use crate::tensor::{Element, ElementType, Tensor};
use crate::{Result, bail, ensure, error};

pub struct Builder<'a> {
    pub gguf: &'a Gguf,
    pub options: &'a ModelOptions,
    pub graph: Graph,
    architecture: &'static str,
    params: HashMap<String, ValueId>,
    /// Names that were asked for, with N for the number of a layer: what this architecture knows.
    known: BTreeSet<String>,
}

/// A part of a layer: from the hidden state to what is added to it. Its second argument is the layer's prefix, "blk.3".
pub type Part<'p> = &'p dyn Fn(&mut Builder, usize, &str, ValueId) -> Result<ValueId>;

impl<'a> Builder<'a> {
    pub fn new(architecture: &'static str, gguf: &'a Gguf, options: &'a ModelOptions) -> Self {
        Self { gguf, options, graph: Graph::new(), architecture, params: HashMap::new(), known: BTreeSet::new() }
    }

    /// The graph; an error if the file has a tensor that nothing asked for.
    pub fn finish(self) -> Result<Graph> {
        let Some(odd) = self.gguf.tensors().iter().find(|t| !self.known.contains(&pattern(&t.name))) else { return Ok(self.graph) };
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        bail!(Unsupported, "the file has a tensor \"{}\", which is not known; known are: {}", odd.name, known.join(", "))
    }

    fn key(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    /// A number of the architecture's metadata that must be there.
    pub fn size(&self, key: &str) -> Result<usize> {
        self.opt_size(key)?.ok_or_else(|| error!(File, "the file has no {}", self.key(key)))
    }

    pub fn opt_size(&self, key: &str) -> Result<Option<usize>> {
        let key = self.key(key);
        let value = self.gguf.uint(&key)?;
        value.map(|v| usize::try_from(v).map_err(|_| error!(File, "{key} is {v}: too large"))).transpose()
    }

    pub fn float(&self, key: &str, default: f64) -> Result<f64> {
        Ok(self.opt_float(key)?.unwrap_or(default))
    }

    pub fn opt_float(&self, key: &str) -> Result<Option<f64>> {
        self.gguf.float(&self.key(key))
    }

    pub fn text(&self, key: &str) -> Result<Option<&'a str>> {
        self.gguf.text(&self.key(key))
    }

    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        self.gguf.flag(&self.key(key))
    }

    /// A list, where the value is one.
    pub fn list(&self, key: &str) -> Option<&'a Array> {
        match self.gguf.value(&self.key(key)) {
            Some(Value::Array(list)) => Some(list),
            _ => None,
        }
    }

    pub fn layers(&self) -> Result<usize> {
        let layers = self.size("block_count")?;
        ensure!(layers > 0 && layers < 1 << 16, File, "{} is {layers}", self.key("block_count"));
        Ok(layers)
    }

    /// Epsilon of RMS norms.
    pub fn eps(&self) -> Result<f64> {
        self.float("attention.layer_norm_rms_epsilon", 1e-5)
    }

    /// True if the file has this tensor. Asking makes it a known one.
    pub fn has(&mut self, name: &str) -> bool {
        self.known.insert(pattern(name));
        self.gguf.tensor(name).is_some()
    }

    /// The param of this tensor of the file.
    pub fn param(&mut self, name: &str) -> Result<ValueId> {
        match self.opt_param(name)? {
            Some(id) => Ok(id),
            None => Err(self.missing(name)),
        }
    }

    fn missing(&self, name: &str) -> crate::Error {
        let place = name.rsplitn(3, '.').last().filter(|p| p.starts_with("blk.")).map_or(String::new(), |p| format!("{p}."));
        let there = |n: &&str| if place.is_empty() { !n.starts_with("blk.") } else { n.starts_with(&place) };
        let names: Vec<&str> = self.gguf.tensors().iter().map(|t| t.name.as_str()).filter(there).collect();
        error!(File, "the file has no tensor \"{name}\"; beside it, it has: {}", names.join(", "))
    }

    pub fn opt_param(&mut self, name: &str) -> Result<Option<ValueId>> {
        self.known.insert(pattern(name));
        if let Some(&id) = self.params.get(name) {
            return Ok(Some(id));
        }
        let Some(tensor) = self.gguf.tensor(name) else { return Ok(None) };
        let id = self.graph.param(name, tensor.ty.element, &tensor.ty.dims)?;
        self.params.insert(name.into(), id);
        Ok(Some(id))
    }

    /// The values of a tensor of the file, for what is computed while the graph is made.
    pub fn values(&mut self, name: &str) -> Result<Option<Vec<f64>>> {
        self.known.insert(pattern(name));
        let Some(tensor) = self.gguf.tensor(name) else { return Ok(None) };
        ensure!(tensor.ty.element.is_float(), File, "tensor \"{name}\" is {}, not of floats", tensor.ty);
        Ok(Some(self.gguf.read(tensor)?.to_f64()))
    }

    /// A node, named.
    pub fn node(
        &mut self,
        operator: &str,
        name: &str,
        list: &[(&str, Attribute)],
        inputs: &[Option<ValueId>],
    ) -> Result<Vec<ValueId>> {
        self.graph.add(build(operator, &attributes(list))?, name, inputs)
    }

    /// A node of which the first result is wanted.
    pub fn node1(&mut self, operator: &str, name: &str, list: &[(&str, Attribute)], inputs: &[ValueId]) -> Result<ValueId> {
        let inputs: Vec<Option<ValueId>> = inputs.iter().copied().map(Some).collect();
        Ok(self.node(operator, name, list, &inputs)?[0])
    }

    pub fn constant<T: Element>(&mut self, name: &str, dims: &[usize], values: &[T]) -> Result<ValueId> {
        self.graph.constant(name, Arc::new(Tensor::from_slice(dims, values)))
    }

    pub fn input(&mut self, name: &str, element: ElementType, dims: &[usize]) -> Result<ValueId> {
        let dims: Vec<Dim> = dims.iter().map(|&d| Dim::Fixed(d)).collect();
        self.graph.input(name, element, &dims)
    }

    pub fn element(&self, id: ValueId) -> Result<ElementType> {
        Ok(self.graph.ty(id)?.element)
    }

    pub fn dims(&self, id: ValueId) -> Result<Vec<usize>> {
        Ok(self.graph.ty(id)?.dims.clone())
    }

    pub fn cast(&mut self, x: ValueId, to: ElementType, name: &str) -> Result<ValueId> {
        if self.element(x)? == to {
            return Ok(x);
        }
        self.node1("Cast", name, &[("to", Attribute::Text(to.name().into()))], &[x])
    }

    pub fn reshape(&mut self, x: ValueId, dims: &[usize], name: &str) -> Result<ValueId> {
        if self.graph.ty(x)?.dims == dims {
            return Ok(x);
        }
        let dims = dims.iter().map(|&d| d as i64).collect();
        self.node1("Reshape", name, &[("dims", Attribute::Ints(dims))], &[x])
    }

    /// x times a number.
    pub fn scale(&mut self, x: ValueId, factor: f64, name: &str) -> Result<ValueId> {
        let factor = self.constant(&format!("{name}.factor"), &[1], &[factor as f32])?;
        self.node1("Mul", name, &[], &[x, factor])
    }

    /// Parts of the last axis.
    pub fn split(&mut self, x: ValueId, sizes: &[usize], name: &str) -> Result<Vec<ValueId>> {
        let sizes = sizes.iter().map(|&s| s as i64).collect();
        self.node("Split", name, &[("axis", Attribute::Int(-1)), ("sizes", Attribute::Ints(sizes))], &[Some(x)])
    }

    /// x @ w^T, w as the file stores it, with the bias if the file has one.
    pub fn linear(&mut self, x: ValueId, name: &str) -> Result<ValueId> {
        let w = self.param(&format!("{name}.weight"))?;
        let element = self.element(w)?;
        let y = if element.is_block() {
            self.node1("DequantMatMul", name, &[("scheme", Attribute::Text(element.name().into()))], &[x, w])?
        } else {
            let w = self.cast(w, ElementType::F32, &format!("{name}.f32"))?;
            self.node1("MatMul", name, &[("transpose_b", Attribute::Int(1))], &[x, w])?
        };
        match self.opt_vector(&format!("{name}.bias"))? {
            Some(bias) => self.node1("Add", &format!("{name}.add_bias"), &[], &[y, bias]),
            None => Ok(y),
        }
    }

    /// A tensor of the file as f32.
    pub fn vector(&mut self, name: &str) -> Result<ValueId> {
        let w = self.param(name)?;
        self.cast(w, ElementType::F32, &format!("{name}.f32"))
    }

    pub fn opt_vector(&mut self, name: &str) -> Result<Option<ValueId>> {
        if self.has(name) { self.vector(name).map(Some) } else { Ok(None) }
    }

    pub fn rms_norm(&mut self, x: ValueId, name: &str) -> Result<ValueId> {
        let (gamma, eps) = (self.vector(&format!("{name}.weight"))?, self.eps()?);
        self.node1("RmsNorm", name, &[("eps", Attribute::Float(eps))], &[x, gamma])
    }

    /// The RMS norm of x + residual, and the sum.
    pub fn residual_norm(&mut self, x: ValueId, residual: ValueId, name: &str) -> Result<(ValueId, ValueId)> {
        let (gamma, eps) = (self.vector(&format!("{name}.weight"))?, self.eps()?);
        let inputs = [Some(x), Some(residual), None, Some(gamma)];
        let out = self.node("ResidualRmsNorm", name, &[("eps", Attribute::Float(eps))], &inputs)?;
        Ok((out[0], out[1]))
    }

    /// All layers of a decoder, each x += part(norm(x)) for each of its parts with the name of its norm; then the output norm.
    pub fn pre_norm(&mut self, x: ValueId, parts: &[(&str, Part)]) -> Result<ValueId> {
        let layers = self.layers()?;
        let steps: Vec<(usize, &str, Part)> =
            (0..layers).flat_map(|l| parts.iter().map(move |&(norm, part)| (l, norm, part))).collect();
        let name = |step: Option<&(usize, &str, Part)>| match step {
            Some((layer, norm, _)) => format!("blk.{layer}.{norm}"),
            None => "output_norm".into(),
        };
        let mut sum = x;
        let mut normed = self.rms_norm(x, &name(steps.first()))?;
        for (i, (layer, _, part)) in steps.iter().enumerate() {
            let more = part(self, *layer, &format!("blk.{layer}"), normed)?;
            (normed, sum) = self.residual_norm(more, sum, &name(steps.get(i + 1)))?;
        }
        Ok(normed)
    }

    /// down(act(gate(x)) * up(x)); without a gate of its own, `up` gives both, the gate first.
    pub fn gated(&mut self, x: ValueId, block: &str, act: &str) -> Result<ValueId> {
        let up = self.linear(x, &format!("{block}.ffn_up"))?;
        let operands = if self.has(&format!("{block}.ffn_gate.weight")) {
            vec![self.linear(x, &format!("{block}.ffn_gate"))?, up]
        } else {
            vec![up]
        };
        let y = self.node1("SwiGlu", &format!("{block}.swiglu"), &[("act", Attribute::Text(act.into()))], &operands)?;
        self.linear(y, &format!("{block}.ffn_down"))
    }
}

/// A tensor's name with N for the number of its layer.
fn pattern(name: &str) -> String {
    match name.strip_prefix("blk.").and_then(|rest| rest.split_once('.')) {
        Some((number, rest)) if number.parse::<u32>().is_ok() => format!("blk.N.{rest}"),
        _ => name.into(),
    }
}
