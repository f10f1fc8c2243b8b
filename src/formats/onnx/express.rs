//! Operators by short names, for nodes that become several of them.

use super::context::Context;
use super::read::Operand;
use crate::Result;
use crate::ops::Attribute;
use crate::tensor::{ElementType, Tensor, TensorType, element_count, normalize_axis};

pub fn int(value: impl Into<i64>) -> Attribute {
    Attribute::Int(value.into())
}

pub fn size(value: usize) -> Attribute {
    Attribute::Int(value as i64)
}

pub fn text(value: &str) -> Attribute {
    Attribute::Text(value.into())
}

pub fn ints(values: &[i64]) -> Attribute {
    Attribute::Ints(values.to_vec())
}

pub fn sizes(values: &[usize]) -> Attribute {
    Attribute::Ints(values.iter().map(|&v| v as i64).collect())
}

/// A tensor of one value repeated.
pub fn full(element: ElementType, dims: &[usize], value: f64) -> Operand {
    let ty = TensorType::new(element, dims);
    let values = vec![value; ty.elements()];
    Operand::constant(Tensor::from_f64(ty, &values))
}

pub fn scalar(element: ElementType, value: f64) -> Operand {
    full(element, &[], value)
}

pub fn shape_tensor(dims: &[usize]) -> Tensor {
    let values: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
    Tensor::from_slice(&[values.len()], &values)
}

impl Context<'_, '_> {
    pub fn unary(&mut self, name: &str, x: &Operand) -> Result<Operand> {
        self.emit1(name, vec![], std::slice::from_ref(x))
    }

    pub fn binary(&mut self, name: &str, a: &Operand, b: &Operand) -> Result<Operand> {
        self.emit1(name, vec![], &[a.clone(), b.clone()])
    }

    /// x and a number of x's type.
    pub fn with_scalar(&mut self, name: &str, x: &Operand, value: f64) -> Result<Operand> {
        let element = self.ty(x)?.element;
        self.binary(name, x, &scalar(element, value))
    }

    pub fn select(&mut self, condition: &Operand, a: &Operand, b: &Operand) -> Result<Operand> {
        self.emit1("Where", vec![], &[condition.clone(), a.clone(), b.clone()])
    }

    pub fn cast(&mut self, x: &Operand, to: ElementType) -> Result<Operand> {
        if self.ty(x)?.element == to {
            return Ok(x.clone());
        }
        self.emit1("Cast", vec![("to", text(to.name()))], std::slice::from_ref(x))
    }

    /// The same elements under other dimensions, all given.
    pub fn reshape(&mut self, x: &Operand, dims: &[usize]) -> Result<Operand> {
        let ty = self.ty(x)?;
        if ty.dims == dims {
            return Ok(x.clone());
        }
        if element_count(dims) == 0 && ty.elements() == 0 {
            // In a Reshape a 0 stands for the size of x there; nothing is in the tensor anyhow.
            return Ok(Operand::constant(Tensor::zeros(ty.with_dims(dims))));
        }
        self.emit1("Reshape", vec![("dims", sizes(dims))], std::slice::from_ref(x))
    }

    pub fn transpose(&mut self, x: &Operand, perm: &[usize]) -> Result<Operand> {
        if perm.iter().enumerate().all(|(i, &p)| i == p) {
            return Ok(x.clone());
        }
        self.emit1("Transpose", vec![("perm", sizes(perm))], std::slice::from_ref(x))
    }

    pub fn expand(&mut self, x: &Operand, dims: &[usize]) -> Result<Operand> {
        if self.ty(x)?.dims == dims {
            return Ok(x.clone());
        }
        self.emit1("Expand", vec![("dims", sizes(dims))], std::slice::from_ref(x))
    }

    pub fn reduce(&mut self, kind: &str, x: &Operand, axes: &[usize], keep: bool) -> Result<Operand> {
        if axes.is_empty() && self.ty(x)?.rank() == 0 && !matches!(kind, "SumSquare" | "L1" | "L2" | "LogSum") {
            return Ok(x.clone());
        }
        let attributes = vec![("kind", text(kind)), ("axes", sizes(axes)), ("keep_dims", int(keep))];
        self.emit1("Reduce", attributes, std::slice::from_ref(x))
    }

    pub fn concat(&mut self, parts: &[Operand], axis: usize) -> Result<Operand> {
        match parts {
            [one] => Ok(one.clone()),
            _ => self.emit1("Concat", vec![("axis", size(axis))], parts),
        }
    }

    /// `len` elements along `axis` from `start`.
    pub fn narrow(&mut self, x: &Operand, axis: usize, start: usize, len: usize) -> Result<Operand> {
        if start == 0 && self.ty(x)?.dims[axis] == len {
            return Ok(x.clone());
        }
        self.emit1("Narrow", vec![("axis", size(axis)), ("start", size(start)), ("len", size(len))], std::slice::from_ref(x))
    }

    pub fn split(&mut self, x: &Operand, axis: usize, parts: &[usize]) -> Result<Vec<Operand>> {
        let mut start = 0;
        let mut out = Vec::with_capacity(parts.len());
        if let [_] = parts {
            return Ok(vec![x.clone()]);
        }
        if !matches!(x, Operand::Known(_)) {
            return self.emit("Split", vec![("axis", size(axis)), ("sizes", sizes(parts))], &[Some(x.clone())]);
        }
        for &len in parts {
            out.push(self.narrow(x, axis, start, len)?);
            start += len;
        }
        Ok(out)
    }

    pub fn matmul(&mut self, a: &Operand, b: &Operand) -> Result<Operand> {
        self.binary("MatMul", a, b)
    }

    /// Axes without those named, and without those of a shape; sorted.
    pub fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>> {
        let mut out = axes.iter().map(|&a| normalize_axis(a, rank)).collect::<Result<Vec<_>>>()?;
        out.sort_unstable();
        Ok(out)
    }

    /// An attribute that is an axis, or a default.
    pub fn axis(&self, default: i64, rank: usize) -> Result<usize> {
        normalize_axis(self.attributes.int("axis")?.unwrap_or(default), rank)
    }

    pub fn flag(&self, name: &str, default: bool) -> Result<bool> {
        Ok(self.attributes.int(name)?.map_or(default, |v| v != 0))
    }

    /// The numbers of an input that must be known.
    pub fn constant_ints(&mut self, i: usize) -> Result<Vec<i64>> {
        let tensor = self.constant(i)?;
        let element = tensor.element();
        crate::ensure!(element.is_integer(), InvalidGraph, "input {i} must be integers, is {}", tensor.ty());
        tensor
            .to_i128()
            .into_iter()
            .map(|v| i64::try_from(v).map_err(|_| crate::error!(InvalidGraph, "input {i} holds {v}")))
            .collect()
    }

    /// The same, of an input that may be absent.
    pub fn opt_constant_ints(&mut self, i: usize) -> Result<Option<Vec<i64>>> {
        if self.opt(i).is_some() { self.constant_ints(i).map(Some) } else { Ok(None) }
    }

    /// Numbers that are an attribute in older versions of an operator and an input in newer ones.
    pub fn ints_attribute_or_input(&mut self, name: &str, i: usize) -> Result<Option<Vec<i64>>> {
        match self.attributes.ints(name)? {
            Some(values) => Ok(Some(values.to_vec())),
            None => self.opt_constant_ints(i),
        }
    }
}
