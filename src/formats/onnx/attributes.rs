//! Attributes of a node of a file.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::external::External;
use super::proto::{self, AttributeType};
use super::tensor;
use crate::ops::Attribute;
use crate::tensor::Tensor;
use crate::{Result, bail, ensure, error};

/// The attributes of a node. It remembers which were asked for: one that nobody asked for changes the meaning of a node in a way
/// that its reader does not know, and is an error.
pub struct NodeAttributes<'a> {
    all: &'a [proto::Attribute],
    read: RefCell<BTreeSet<&'a str>>,
}

impl<'a> NodeAttributes<'a> {
    pub fn new(node: &'a proto::Node) -> Self {
        Self { all: &node.attributes, read: RefCell::default() }
    }

    pub fn find(&self, name: &str) -> Option<&'a proto::Attribute> {
        let attribute = self.all.iter().find(|a| a.name == name)?;
        self.read.borrow_mut().insert(&attribute.name);
        Some(attribute)
    }

    /// Attributes that have no effect here.
    pub fn ignore(&self, names: &[&str]) {
        for name in names {
            self.find(name);
        }
    }

    pub fn finish(&self) -> Result<()> {
        let read = self.read.borrow();
        match self.all.iter().find(|a| !read.contains(a.name.as_str())) {
            Some(a) => bail!(Unsupported, "attribute \"{}\" is not known", a.name),
            None => Ok(()),
        }
    }

    fn typed(&self, name: &str, kind: AttributeType) -> Result<Option<&'a proto::Attribute>> {
        let Some(attribute) = self.find(name) else { return Ok(None) };
        let found = kind_of(attribute);
        ensure!(found == kind, File, "attribute \"{name}\" is of type {found}, not {kind}");
        Ok(Some(attribute))
    }

    pub fn int(&self, name: &str) -> Result<Option<i64>> {
        Ok(self.typed(name, AttributeType::Int)?.map(|a| a.i.unwrap_or(0)))
    }

    pub fn float(&self, name: &str) -> Result<Option<f64>> {
        Ok(self.typed(name, AttributeType::Float)?.map(|a| decimal(a.f.unwrap_or(0.0))))
    }

    pub fn ints(&self, name: &str) -> Result<Option<&'a [i64]>> {
        Ok(self.typed(name, AttributeType::Ints)?.map(|a| a.ints.as_slice()))
    }

    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>> {
        Ok(self.typed(name, AttributeType::Floats)?.map(|a| a.floats.iter().copied().map(decimal).collect()))
    }

    pub fn text(&self, name: &str) -> Result<Option<&'a str>> {
        match self.typed(name, AttributeType::String)? {
            Some(attribute) => text_of(attribute).map(Some),
            None => Ok(None),
        }
    }

    pub fn texts(&self, name: &str) -> Result<Option<Vec<&'a str>>> {
        let Some(attribute) = self.typed(name, AttributeType::Strings)? else { return Ok(None) };
        attribute.strings.iter().map(|s| utf8(name, s)).collect::<Result<_>>().map(Some)
    }

    pub fn tensor(&self, name: &str, external: &External) -> Result<Option<Tensor>> {
        match self.typed(name, AttributeType::Tensor)? {
            Some(attribute) => tensor_of(attribute, external).map(Some),
            None => Ok(None),
        }
    }

    pub fn graph(&self, name: &str) -> Result<Option<&'a proto::Graph>> {
        Ok(self.typed(name, AttributeType::Graph)?.and_then(|a| a.g.as_ref()))
    }
}

/// The type of an attribute; files of the first versions leave it to the fields.
fn kind_of(attribute: &proto::Attribute) -> AttributeType {
    let told = attribute.kind.and_then(|k| AttributeType::try_from(k).ok()).unwrap_or(AttributeType::Undefined);
    let by_field = [
        (attribute.f.is_some(), AttributeType::Float),
        (attribute.i.is_some(), AttributeType::Int),
        (attribute.s.is_some(), AttributeType::String),
        (attribute.t.is_some(), AttributeType::Tensor),
        (attribute.g.is_some(), AttributeType::Graph),
        (!attribute.floats.is_empty(), AttributeType::Floats),
        (!attribute.ints.is_empty(), AttributeType::Ints),
        (!attribute.strings.is_empty(), AttributeType::Strings),
    ];
    match told {
        AttributeType::Undefined => by_field.iter().find(|f| f.0).map_or(AttributeType::Undefined, |f| f.1),
        told => told,
    }
}

fn utf8<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| error!(File, "attribute \"{name}\" is no UTF-8 text"))
}

fn text_of(attribute: &proto::Attribute) -> Result<&str> {
    utf8(&attribute.name, attribute.s.as_deref().unwrap_or_default())
}

fn tensor_of(attribute: &proto::Attribute, external: &External) -> Result<Tensor> {
    match &attribute.t {
        Some(t) => tensor::read(t, external).map_err(|e| e.within(format!("attribute \"{}\"", attribute.name))),
        None => bail!(File, "attribute \"{}\" has no tensor", attribute.name),
    }
}

/// An attribute of the domain caldera, where the form in files is the operators' own.
pub fn native(attribute: &proto::Attribute, external: &External) -> Result<Attribute> {
    Ok(match kind_of(attribute) {
        AttributeType::Float => Attribute::Float(decimal(attribute.f.unwrap_or(0.0))),
        AttributeType::Int => Attribute::Int(attribute.i.unwrap_or(0)),
        AttributeType::String => Attribute::Text(text_of(attribute)?.into()),
        AttributeType::Tensor => Attribute::Tensor(tensor_of(attribute, external)?),
        AttributeType::Floats => Attribute::Floats(attribute.floats.iter().copied().map(decimal).collect()),
        AttributeType::Ints => Attribute::Ints(attribute.ints.clone()),
        other => bail!(File, "attribute \"{}\" is of type {other}, which no operator takes", attribute.name),
    })
}

/// The shortest decimal that a file's f32 stands for, as f64: 0.01 and not 0.009999999776, so that what was written as a number of 64 bits is
/// read back as the same number.
fn decimal(v: f32) -> f64 {
    v.to_string().parse().unwrap_or(v.into())
}
