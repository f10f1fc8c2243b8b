//! The graph: values, nodes, names, types.

mod build;
mod print;
mod rewrite;

pub use rewrite::Rewriter;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::ops::OperatorRef;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, error};

/// A value of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

impl ValueId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A dimension of a graph input: a number, or a name that is bound to one before compiling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dim {
    Fixed(usize),
    Symbol(String),
}

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Filled at each run, or by a bound handle.
    Input(Vec<Dim>),
    /// A weight, filled once.
    Param,
    Constant(Arc<Tensor>),
    /// Output `output` of node `node`.
    Node {
        node: usize,
        output: usize,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    pub name: String,
    pub element: Option<ElementType>,
    /// None while it depends on a symbolic dimension that is not bound.
    pub ty: Option<TensorType>,
    pub source: Source,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub operator: OperatorRef,
    pub name: String,
    pub inputs: Vec<Option<ValueId>>,
    pub outputs: Vec<ValueId>,
}

impl Node {
    /// "MatMul \"attn.3\"".
    pub fn title(&self) -> String {
        format!("{} \"{}\"", self.operator.name(), self.name)
    }
}

/// A graph of operators. Nodes are in an order in which each comes after what it reads.
#[derive(Clone, Default, PartialEq)]
pub struct Graph {
    pub(crate) values: Vec<Value>,
    pub(crate) nodes: Vec<Node>,
    pub(crate) inputs: Vec<ValueId>,
    pub(crate) params: Vec<ValueId>,
    pub(crate) outputs: Vec<(String, ValueId)>,
    pub(crate) bindings: BTreeMap<String, usize>,
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        let operator = self.operator.name() == other.operator.name() && self.operator.attributes() == other.operator.attributes();
        operator && self.name == other.name && self.inputs == other.inputs && self.outputs == other.outputs
    }
}

/// One line: graphs stand in titles of operators.
impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_text().trim_end().replace('\n', "; "))
    }
}

impl Graph {
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn inputs(&self) -> &[ValueId] {
        &self.inputs
    }

    pub fn params(&self) -> &[ValueId] {
        &self.params
    }

    /// Names and values of the outputs.
    pub fn outputs(&self) -> &[(String, ValueId)] {
        &self.outputs
    }

    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.index()]
    }

    /// The type, or an error that names the symbolic dimensions still to be bound.
    pub fn ty(&self, id: ValueId) -> Result<&TensorType> {
        self.value(id).ty.as_ref().ok_or_else(|| {
            error!(
                InvalidGraph,
                "the shape of \"{}\" is not known before these dimensions are bound: {}",
                self.value(id).name,
                self.unbound().join(", ")
            )
        })
    }

    /// The constant behind a value, if it is one.
    pub fn constant_of(&self, id: ValueId) -> Option<&Arc<Tensor>> {
        match &self.value(id).source {
            Source::Constant(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// A dimension with the size that was bound to it, if one was.
    pub fn bound(&self, dim: &Dim) -> Dim {
        match dim {
            Dim::Symbol(name) => self.bindings.get(name).map_or_else(|| dim.clone(), |&n| Dim::Fixed(n)),
            Dim::Fixed(_) => dim.clone(),
        }
    }

    /// Names of symbolic dimensions.
    pub fn symbols(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for &input in &self.inputs {
            let Source::Input(dims) = &self.value(input).source else { continue };
            for dim in dims {
                if let Dim::Symbol(name) = dim
                    && !names.contains(name)
                {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// Those that are not bound.
    pub fn unbound(&self) -> Vec<String> {
        let mut names = self.symbols();
        names.retain(|name| !self.bindings.contains_key(name));
        names
    }
}
