//! The attributes of a builder, from what C gave.

use std::ffi::c_void;
use std::sync::Arc;

use crate::ffi::boundary::{bytes, list, object};
use crate::ffi::graph::caldera_graph;
use crate::ops::{Attribute, Attributes};
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, error};

/// Attributes, or the first fault among them.
pub(super) struct Given(Result<Attributes>);

impl Default for Given {
    fn default() -> Self {
        Self(Ok(Attributes::new()))
    }
}

impl Given {
    pub fn done(self) -> Result<Attributes> {
        self.0
    }

    /// More of them, which may fail.
    pub fn and_then(self, more: impl FnOnce(Self) -> Result<Self>) -> Self {
        match self.0 {
            Ok(_) => more(self).unwrap_or_else(|e| Self(Err(e))),
            Err(_) => self,
        }
    }

    fn put(self, name: &str, value: impl FnOnce() -> Result<Attribute>) -> Self {
        Self(self.0.and_then(|mut all| {
            all.insert(name.into(), value().map_err(|e| e.within(name))?);
            Ok(all)
        }))
    }

    pub fn int(self, name: &str, value: impl Into<i64>) -> Self {
        self.put(name, || Ok(Attribute::Int(value.into())))
    }

    /// 0 stands for "not given".
    pub fn unless_zero(self, name: &str, value: u32) -> Self {
        if value == 0 { self } else { self.int(name, value) }
    }

    /// Anything but 0 is true.
    pub fn flag(self, name: &str, value: u32) -> Self {
        self.int(name, value != 0)
    }

    pub fn float(self, name: &str, value: f64) -> Self {
        self.put(name, || Ok(Attribute::Float(value)))
    }

    pub fn text(self, name: &str, value: &str) -> Self {
        self.put(name, || Ok(Attribute::Text(value.into())))
    }

    pub fn list(self, name: &str, values: Vec<i64>) -> Self {
        self.put(name, || Ok(Attribute::Ints(values)))
    }

    pub fn ints(self, name: &str, values: *const i64, count: u32) -> Self {
        self.put(name, || Ok(Attribute::Ints(list(values, count as usize, "the list")?.to_vec())))
    }

    pub fn floats(self, name: &str, values: *const f64, count: u32) -> Self {
        self.put(name, || Ok(Attribute::Floats(list(values, count as usize, "the list")?.to_vec())))
    }

    /// An element type by its number.
    pub fn element(self, name: &str, number: u32) -> Self {
        self.put(name, || Ok(Attribute::Text(ElementType::from_number(number)?.name().into())))
    }

    /// 0 stands for "not given".
    pub fn element_or_default(self, name: &str, number: u32) -> Self {
        if number == 0 { self } else { self.element(name, number) }
    }

    /// A value of an enum that counts from 0.
    pub fn named(self, name: &str, number: u32, names: &[&str]) -> Self {
        self.put(name, || match names.get(number as usize) {
            Some(text) => Ok(Attribute::Text((*text).into())),
            None => Err(error!(InvalidArgument, "{number} is none of its {} values", names.len())),
        })
    }

    /// A value of an enum that counts from 1; 0 stands for "not given".
    pub fn chosen(self, name: &str, number: u32, names: &[&str]) -> Self {
        match number.checked_sub(1) {
            None => self,
            Some(index) => self.put(name, || match names.get(index as usize) {
                Some(text) => Ok(Attribute::Text((*text).into())),
                None => Err(error!(InvalidArgument, "{number} is none of its {} values", names.len())),
            }),
        }
    }

    /// A copy of a graph.
    pub fn body(self, name: &str, body: *const caldera_graph) -> Self {
        self.put(name, || Ok(Attribute::Graph(Arc::new(object(body, "the graph")?.0.read()?.graph()?.clone()))))
    }

    /// One number of an element type, as a tensor of rank 0.
    pub fn scalar(self, name: &str, number: u32, value: *const c_void) -> Self {
        self.put(name, || {
            let ty = TensorType::checked(ElementType::from_number(number)?, &[])?;
            let size = ty.bytes();
            crate::ensure!(!value.is_null(), InvalidArgument, "the pointer is NULL");
            Ok(Attribute::Tensor(Tensor::from_bytes(ty, bytes(value, size, "the number")?)?))
        })
    }
}
