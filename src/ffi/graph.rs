//! Graphs as C sees them: making one, reading one from a file, asking about it.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::boundary::{
    Exclusive, boundary, bytes, caldera_status, fill_text, give, list, list_mut, object, quietly, sizes, tensor_type, text, wanted,
};
use super::error::caldera_error;
use super::weights::caldera_weights;
use crate::formats::onnx::{Bindings, OnnxModel, save_model};
use crate::graph::{Dim, Graph, ValueId};
use crate::ops::OperatorRef;
use crate::tensor::{ElementType, Tensor};
use crate::{Error, Result, Status, bail, ensure, error};

/// A value of a graph: an input, a param, a constant, or the result of an operator. Valid for the graph that gave it.
pub type caldera_value = u32;

/// Stands for an optional input that is left out.
pub const CALDERA_NO_VALUE: caldera_value = 0xFFFF_FFFF;

/// A graph under construction, or read from a file.
///
/// One thread at a time may change it (a second gets BUSY); functions that take it const may overlap. It may be freed once it is compiled.
pub struct caldera_graph(pub(super) Exclusive<GraphObject>);

/// A graph, and the file it came from while that is not all known.
pub(super) struct GraphObject {
    graph: Graph,
    /// Weights that came with the file.
    pub params: Vec<(String, Tensor)>,
    file: Option<(OnnxModel, Bindings)>,
    /// Why the file is no graph yet.
    pending: Option<Error>,
    /// Values and outputs that the file gave.
    as_read: [usize; 2],
}

impl GraphObject {
    pub fn new(graph: Graph, params: Vec<(String, Tensor)>) -> Self {
        Self { graph, params, file: None, pending: None, as_read: [0; 2] }
    }

    fn open(model: OnnxModel) -> Result<Self> {
        let mut object = Self { file: Some((model, Bindings::default())), ..Self::new(Graph::new(), Vec::new()) };
        object.read_file()?;
        Ok(object)
    }

    /// Reads the file with what is bound so far. Shapes that are not known yet are no error before compile.
    fn read_file(&mut self) -> Result<()> {
        let Some((model, bindings)) = &self.file else { return Ok(()) };
        match model.graph(bindings) {
            Ok((graph, params)) => {
                (self.graph, self.params, self.pending) = (graph, params, None);
                self.as_read = self.sizes();
                Ok(())
            }
            Err(error) => {
                let open = model.symbols()?.iter().any(|s| !bindings.dims.contains_key(s)) || bindings.inputs.is_empty();
                let may_mend = matches!(error.status, Status::InvalidGraph | Status::InvalidArgument);
                if !(open && may_mend) {
                    return Err(error);
                }
                self.pending = Some(error);
                Ok(())
            }
        }
    }

    fn sizes(&self) -> [usize; 2] {
        [self.graph.values().len(), self.graph.outputs().len()]
    }

    /// Binding reads the file anew: what was added since would be lost.
    fn check_rereadable(&self) -> Result<()> {
        ensure!(
            self.sizes() == self.as_read,
            InvalidArgument,
            "values or outputs were added to the graph of a file: bind before that"
        );
        Ok(())
    }

    /// The graph, or why it is none yet.
    pub fn graph(&self) -> Result<&Graph> {
        let (Some(problem), Some((model, bindings))) = (&self.pending, &self.file) else { return Ok(&self.graph) };
        let mut open = model.symbols()?;
        open.retain(|s| !bindings.dims.contains_key(s));
        let what = if open.is_empty() { "an input".into() } else { open.join(", ") };
        bail!(InvalidGraph, "the file is no graph before this is bound: {what}; {problem}")
    }

    fn graph_mut(&mut self) -> Result<&mut Graph> {
        self.graph()?;
        Ok(&mut self.graph)
    }

    /// Adds a node; absent inputs are CALDERA_NO_VALUE.
    pub fn add(&mut self, operator: OperatorRef, name: &str, inputs: &[caldera_value]) -> Result<Vec<caldera_value>> {
        let inputs: Vec<Option<ValueId>> = inputs.iter().map(|&v| (v != CALDERA_NO_VALUE).then_some(ValueId(v))).collect();
        Ok(self.graph_mut()?.add(operator, name, &inputs)?.into_iter().map(|id| id.0).collect())
    }

    /// Adds a node whose bodies have params with these values. They become values of this graph, as the params become its own.
    pub fn add_with(
        &mut self,
        operator: OperatorRef,
        name: &str,
        inputs: &[caldera_value],
        params: Vec<(String, Tensor)>,
    ) -> Result<Vec<caldera_value>> {
        let mut more: Vec<(String, Tensor)> = Vec::new();
        for (name, value) in params {
            match self.params.iter().chain(&more).find(|p| p.0 == name) {
                Some(other) => ensure!(other.1 == value, InvalidGraph, "param \"{name}\" has different values in two graphs"),
                None => more.push((name, value)),
            }
        }
        let made = self.add(operator, name, inputs)?;
        self.params.extend(more);
        Ok(made)
    }

    pub fn check(&self, value: caldera_value) -> Result<ValueId> {
        let count = self.graph()?.values().len();
        ensure!((value as usize) < count, InvalidArgument, "value {value} is not of this graph, which has {count}");
        Ok(ValueId(value))
    }
}

/// Makes an empty graph. Free it with `caldera_graph_free`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_new(graph: *mut *mut caldera_graph, error: *mut *mut caldera_error) -> caldera_status {
    boundary(error, || {
        wanted(graph, "graph")?;
        give(graph, Box::into_raw(Box::new(caldera_graph(Exclusive::new(GraphObject::new(Graph::new(), Vec::new()))))));
        Ok(())
    })
}

/// Frees a graph. Executables made of it live on. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_free(graph: *mut caldera_graph) {
    quietly(|| {
        if !graph.is_null() {
            // SAFETY: the caller gives back what Caldera made, once.
            drop(unsafe { Box::from_raw(graph) });
        }
    });
}

/// An input: filled at each run, or by a bound handle. `type` is a `caldera_type`.
///
/// A dimension of -1 is symbolic: `dim_names[i]` names it, and `caldera_graph_bind_dim` gives it a size before compiling. `dim_names` may be NULL if
/// no dimension is symbolic. Errors: INVALID_GRAPH (a name that is taken or empty, a packed type, more than 8 dimensions), INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_input(
    graph: *mut caldera_graph,
    name: *const c_char,
    r#type: u32,
    dims: *const i64,
    dim_names: *const *const c_char,
    rank: u32,
    value: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let graph = object(graph, "graph")?;
        wanted(value, "value")?;
        let (name, element) = (text(name, "name")?, ElementType::from_number(r#type)?);
        let names = if dim_names.is_null() { &[] } else { list(dim_names, rank as usize, "dim_names")? };
        let mut all = Vec::new();
        for (i, &d) in list(dims, rank as usize, "dims")?.iter().enumerate() {
            all.push(match d {
                -1 => match names.get(i) {
                    Some(&name) => Dim::Symbol(text(name, "the name of a symbolic dimension")?.into()),
                    None => bail!(InvalidArgument, "input \"{name}\": dimension {i} is symbolic, but dim_names is NULL"),
                },
                _ => Dim::Fixed(usize::try_from(d).map_err(|_| error!(InvalidArgument, "input \"{name}\": a dimension of {d}"))?),
            });
        }
        let id = graph.0.write()?.graph_mut()?.input(name, element, &all)?;
        give(value, id.0);
        Ok(())
    })
}

/// A weight: set once, shared by every executable that is compiled against the same weights. `type` may be a packed block type.
///
/// Errors: INVALID_GRAPH (a name that is taken or empty, rows that are no multiple of the block, more than 8 dimensions), INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_param(
    graph: *mut caldera_graph,
    name: *const c_char,
    r#type: u32,
    dims: *const i64,
    rank: u32,
    value: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let graph = object(graph, "graph")?;
        wanted(value, "value")?;
        let (name, element, dims) = (text(name, "name")?, ElementType::from_number(r#type)?, sizes(dims, rank)?);
        let id = graph.0.write()?.graph_mut()?.param(name, element, &dims)?;
        give(value, id.0);
        Ok(())
    })
}

/// Data inside the graph, copied by the call. `size` is in bytes and must be what type and dims need.
///
/// Errors: INVALID_ARGUMENT (an unknown type, a bad shape, a size that does not fit).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_constant(
    graph: *mut caldera_graph,
    r#type: u32,
    dims: *const i64,
    rank: u32,
    data: *const c_void,
    size: usize,
    value: *mut caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let graph = object(graph, "graph")?;
        wanted(value, "value")?;
        let ty = tensor_type(r#type, dims, rank)?;
        let tensor = Tensor::from_bytes(ty, bytes(data, size, "data")?)?;
        let mut graph = graph.0.write()?;
        let graph = graph.graph_mut()?;
        let name = format!("constant.{}", graph.values().len());
        give(value, graph.constant(&name, Arc::new(tensor))?.0);
        Ok(())
    })
}

/// Marks a value as an output under a name of its own. A value may be several outputs.
///
/// Errors: INVALID_ARGUMENT (no value of this graph), INVALID_GRAPH (a name that is taken or empty, a packed type).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_output(
    graph: *mut caldera_graph,
    name: *const c_char,
    value: caldera_value,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (graph, name) = (object(graph, "graph")?, text(name, "name")?);
        let mut graph = graph.0.write()?;
        let id = graph.check(value)?;
        graph.graph_mut()?.output(name, id)
    })
}

/// Names the operator that made a value, for messages, profiles and printing. Without it the name is made of operator and number.
///
/// Errors: INVALID_ARGUMENT (no value of this graph, one that no operator made), INVALID_GRAPH (an empty name).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_set_name(
    graph: *mut caldera_graph,
    value: caldera_value,
    name: *const c_char,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (graph, name) = (object(graph, "graph")?, text(name, "name")?);
        let mut graph = graph.0.write()?;
        let id = graph.check(value)?;
        graph.graph_mut()?.rename(id, name)
    })
}

/// Element type and shape of a value. `*rank` is the room in `dims` on the way in (8 is always enough) and the rank on the way out; `type` and `dims` may
/// be NULL.
///
/// Errors: INVALID_ARGUMENT (no value of this graph, too little room: nothing is written then), INVALID_GRAPH while the shape depends on a symbolic
/// dimension that is not bound.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_value_type(
    graph: *const caldera_graph,
    value: caldera_value,
    r#type: *mut u32,
    dims: *mut i64,
    rank: *mut u32,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let graph = object(graph, "graph")?.0.read()?;
        let ty = graph.graph()?.ty(graph.check(value)?)?;
        if !dims.is_null() {
            wanted(rank, "rank")?;
            // SAFETY: `rank` was checked.
            let room = unsafe { *rank } as usize;
            ensure!(room >= ty.rank(), InvalidArgument, "there is room for {room} dimensions, {ty} has {}", ty.rank());
            for (out, &d) in list_mut(dims, ty.rank(), "dims")?.iter_mut().zip(&ty.dims) {
                *out = d as i64;
            }
        }
        give(rank, ty.rank() as u32);
        give(r#type, ty.element as u32);
        Ok(())
    })
}

/// Gives a symbolic dimension its size. Binding again changes it. A graph from a file is read anew by it: add to it after that.
///
/// Errors: INVALID_ARGUMENT (an unknown name, a negative size, a graph from a file that was added to), INVALID_GRAPH (an operator refuses the shapes that follow; nothing changes then).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_bind_dim(
    graph: *mut caldera_graph,
    name: *const c_char,
    size: i64,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (graph, name) = (object(graph, "graph")?, text(name, "name")?);
        let size = usize::try_from(size).map_err(|_| error!(InvalidArgument, "dimension \"{name}\": a size of {size}"))?;
        let mut graph = graph.0.write()?;
        if graph.file.is_some() {
            graph.check_rereadable()?;
        }
        let Some((model, bindings)) = &mut graph.file else { return graph.graph_mut()?.bind_dim(name, size) };
        model.check_symbol(name)?;
        let before = bindings.dims.insert(name.into(), size);
        let read = graph.read_file();
        if read.is_err()
            && let Some((_, bindings)) = &mut graph.file
        {
            match before {
                Some(before) => drop(bindings.dims.insert(name.into(), before)),
                None => drop(bindings.dims.remove(name)),
            }
        }
        read
    })
}

/// Binds an input of a graph from a file to a value: for inputs that shapes or an If depend on (a sampling rate, a length). It is then no input of
/// the graph any more. The data is copied.
///
/// Errors: INVALID_ARGUMENT (the graph is not from a file, was added to or has no such input, a bad shape, another type or size), INVALID_GRAPH (an
/// operator refuses the shapes that follow; nothing changes then).
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_bind_input(
    graph: *mut caldera_graph,
    name: *const c_char,
    r#type: u32,
    dims: *const i64,
    rank: u32,
    data: *const c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (graph, name) = (object(graph, "graph")?, text(name, "name")?);
        let ty = tensor_type(r#type, dims, rank)?;
        let tensor = Tensor::from_bytes(ty, bytes(data, size, "data")?)?;
        let mut graph = graph.0.write()?;
        if graph.file.is_some() {
            graph.check_rereadable()?;
        }
        let Some((model, bindings)) = &mut graph.file else {
            bail!(InvalidArgument, "input \"{name}\" cannot be bound: the graph is not from a file; use a constant")
        };
        model.input_type(name)?;
        bindings.inputs.insert(name.into(), tensor);
        let read = graph.read_file();
        if read.is_err()
            && let Some((_, bindings)) = &mut graph.file
        {
            bindings.inputs.remove(name);
        }
        read
    })
}

/// How `caldera_graph_print` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_print_format {
    /// One line a value.
    CALDERA_PRINT_TEXT = 0,
    /// Graphviz.
    CALDERA_PRINT_DOT = 1,
}

/// The graph as text, by count-then-fill: `size` is the room in bytes on the way in, and what the text needs with its zero on the way out. `format`
/// is a `caldera_print_format`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_print(
    graph: *const caldera_graph,
    format: u32,
    out: *mut c_char,
    size: *mut usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let graph = object(graph, "graph")?.0.read()?;
        match format {
            0 => fill_text(&graph.graph()?.to_text(), out, size),
            1 => fill_text(&graph.graph()?.to_dot(), out, size),
            other => bail!(InvalidArgument, "there is no print format {other}"),
        }
    })
}

/// Reads an ONNX file. Weights stay in the file until they are needed; a compile sets them. Free the graph with `caldera_graph_free`.
///
/// Where the file computes with a symbolic dimension, everything but `caldera_graph_bind_dim`, `caldera_graph_bind_input` and `caldera_graph_free` gives
/// INVALID_GRAPH, naming what is still to be bound, until it is.
/// Errors: FILE (unreadable, broken), UNSUPPORTED (lists every operator that is missing), INVALID_GRAPH.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_load_onnx(
    path: *const c_char,
    graph: *mut *mut caldera_graph,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let path = text(path, "path")?;
        wanted(graph, "graph")?;
        let made = GraphObject::open(OnnxModel::open(path)?)?;
        give(graph, Box::into_raw(Box::new(caldera_graph(Exclusive::new(made)))));
        Ok(())
    })
}

/// Writes the graph as it is now as an ONNX file, every operator in the domain `caldera`; reading it back gives the same graph. `weights` has the values
/// of the params; for those of a graph that came from a file it may be NULL. More than 1 GiB of weights go into a file beside it, PATH.data. Each file
/// is replaced as a whole or not at all.
///
/// A dimension that was bound is a number in the file: constants may have been computed from it. One that was not stays a name, to be bound after reading.
/// A graph from a file that computes with a symbolic dimension (most transformers) can be saved only when that is bound.
/// Errors: FILE; INVALID_ARGUMENT (a param without a value, or with another type, naming it), INVALID_GRAPH (no outputs; dimensions or inputs that must
/// be bound first, naming them), DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_save_onnx(
    graph: *const caldera_graph,
    weights: *const caldera_weights,
    path: *const c_char,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (graph, path) = (object(graph, "graph")?, text(path, "path")?);
        // SAFETY: a non-NULL handle is one that Caldera made and that was not freed.
        let weights = unsafe { weights.as_ref() };
        let graph = graph.0.read()?;
        let mut params: BTreeMap<String, Tensor> = graph.params.iter().cloned().collect();
        let nodes = graph.graph()?;
        ensure!(!nodes.outputs().is_empty(), InvalidGraph, "the graph has no output");
        for &id in nodes.params() {
            let name = &nodes.value(id).name;
            if let Some(value) = weights.map(|w| w.0.read(name)).transpose()?.flatten() {
                params.insert(name.clone(), value);
            }
        }
        save_model(path, nodes, &params)
    })
}

/// Reads an ONNX model from memory, which may be freed after the call. It cannot have external data. All else is as for `caldera_graph_load_onnx`.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_graph_load_onnx_memory(
    data: *const c_void,
    size: usize,
    graph: *mut *mut caldera_graph,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let data = bytes(data, size, "data")?;
        wanted(graph, "graph")?;
        let made = GraphObject::open(OnnxModel::from_bytes(data)?)?;
        give(graph, Box::into_raw(Box::new(caldera_graph(Exclusive::new(made)))));
        Ok(())
    })
}
