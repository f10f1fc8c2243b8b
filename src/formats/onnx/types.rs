//! What a file says about the types of its inputs.

use super::proto::{self, DimensionValue, TypeKind};
use super::{Bindings, tensor};
use crate::graph::Dim;
use crate::tensor::{ElementType, Tensor};
use crate::{Result, bail, ensure, error};

/// Element type and, if the file says it, shape of an input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputType {
    pub name: String,
    pub element: ElementType,
    /// None: the file does not say how many dimensions there are.
    pub dims: Option<Vec<Dim>>,
}

impl InputType {
    pub(super) fn read(info: &proto::ValueInfo) -> Result<Self> {
        let name = &info.name;
        let of = |e: crate::Error| e.within(format!("input \"{name}\""));
        let tensor = match info.ty.as_ref().and_then(|t| t.kind.as_ref()) {
            Some(TypeKind::Tensor(tensor)) => tensor,
            Some(TypeKind::Optional(inner)) => match inner.element.as_ref().and_then(|t| t.kind.as_ref()) {
                Some(TypeKind::Tensor(tensor)) => tensor,
                _ => bail!(Unsupported, "input \"{name}\" is an optional of no tensor"),
            },
            Some(TypeKind::Sequence(_)) => bail!(Unsupported, "input \"{name}\" is a sequence"),
            Some(TypeKind::Map(_)) => bail!(Unsupported, "input \"{name}\" is a map"),
            Some(TypeKind::SparseTensor(_)) => bail!(Unsupported, "input \"{name}\" is a sparse tensor"),
            None => bail!(File, "input \"{name}\" has no type"),
        };
        let dims = match &tensor.shape {
            Some(shape) => Some(dims(name, shape)?),
            None => None,
        };
        Ok(Self { name: name.clone(), element: tensor::element_type(tensor.element).map_err(of)?, dims })
    }

    pub fn symbols(&self) -> impl Iterator<Item = &String> {
        self.dims.iter().flatten().filter_map(|dim| match dim {
            Dim::Symbol(name) => Some(name),
            Dim::Fixed(_) => None,
        })
    }

    /// Takes sizes of symbolic dimensions from a value; an error where the value does not fit.
    pub(super) fn bind(&self, value: &Tensor, bindings: &mut Bindings) -> Result<()> {
        ensure!(value.element() == self.element, InvalidArgument, "got {}, the model takes {}", value.ty(), self.element);
        let Some(dims) = &self.dims else {
            bindings.shapes.insert(self.name.clone(), value.dims().to_vec());
            return Ok(());
        };
        ensure!(dims.len() == value.dims().len(), InvalidArgument, "got {}, the model takes {} dimensions", value.ty(), dims.len());
        for (axis, (dim, &size)) in dims.iter().zip(value.dims()).enumerate() {
            let wanted = match dim {
                Dim::Fixed(n) => *n,
                Dim::Symbol(symbol) => *bindings.dims.entry(symbol.clone()).or_insert(size),
            };
            ensure!(wanted == size, InvalidArgument, "got {}, dimension {axis} must be {wanted}", value.ty());
        }
        Ok(())
    }
}

fn dims(input: &str, shape: &proto::Shape) -> Result<Vec<Dim>> {
    let dim = |(axis, dim): (usize, &proto::Dimension)| match &dim.value {
        Some(DimensionValue::Size(n)) => match usize::try_from(*n) {
            Ok(n) => Ok(Dim::Fixed(n)),
            Err(_) => Err(error!(File, "input \"{input}\": dimension {axis} is {n}")),
        },
        Some(DimensionValue::Symbol(name)) if !name.is_empty() => Ok(Dim::Symbol(name.clone())),
        _ => Ok(Dim::Symbol(format!("{input}.{axis}"))),
    };
    shape.dims.iter().enumerate().map(dim).collect()
}

/// The default domain by its name.
pub fn domain_name(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}

/// The number of an input's element type, if it is a tensor.
pub fn element_number(info: &proto::ValueInfo) -> Option<i32> {
    match info.ty.as_ref()?.kind.as_ref()? {
        TypeKind::Tensor(tensor) => Some(tensor.element),
        _ => None,
    }
}
