//! Attributes of operators: from and to the form that files and printing use.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::graph::Graph;
use crate::tensor::{ElementType, Tensor, list_text};
use crate::{Result, bail, error};

/// One attribute, as ONNX types them.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Floats(Vec<f64>),
    Tensor(Tensor),
    Graph(Arc<Graph>),
}

impl std::fmt::Display for Attribute {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v}"),
            Self::Text(v) => write!(f, "{v}"),
            Self::Ints(v) => f.write_str(&list_text(v)),
            Self::Floats(v) => f.write_str(&list_text(v)),
            Self::Tensor(t) => write!(f, "<{}>", t.ty()),
            Self::Graph(_) => write!(f, "<graph>"),
        }
    }
}

pub type Attributes = BTreeMap<String, Attribute>;

/// A Rust type that an attribute is read into and written from.
pub trait AttributeField: Sized {
    /// The value where the attribute is not given and has no default: none, but for optional fields.
    fn absent() -> Option<Self> {
        None
    }
    /// None if the attribute has another type.
    fn read(attribute: &Attribute) -> Option<Self>;
    /// None if the attribute is to be left out.
    fn write(&self) -> Option<Attribute>;
}

macro_rules! plain_fields {
    ($($rust:ty: $variant:ident),* $(,)?) => { $(impl AttributeField for $rust {
        fn read(attribute: &Attribute) -> Option<Self> {
            match attribute { Attribute::$variant(v) => Some(v.clone()), _ => None }
        }
        fn write(&self) -> Option<Attribute> { Some(Attribute::$variant(self.clone())) }
    })* };
}
plain_fields!(i64: Int, Vec<i64>: Ints, Vec<f64>: Floats, String: Text, Arc<Graph>: Graph, Tensor: Tensor);

impl AttributeField for f64 {
    fn read(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Float(v) => Some(*v),
            Attribute::Int(v) => Some(*v as f64),
            _ => None,
        }
    }
    fn write(&self) -> Option<Attribute> {
        Some(Attribute::Float(*self))
    }
}

impl AttributeField for bool {
    fn read(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Int(v @ 0..=1) => Some(*v == 1),
            _ => None,
        }
    }
    fn write(&self) -> Option<Attribute> {
        Some(Attribute::Int((*self).into()))
    }
}

impl AttributeField for usize {
    fn read(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Int(v) => usize::try_from(*v).ok(),
            _ => None,
        }
    }
    fn write(&self) -> Option<Attribute> {
        i64::try_from(*self).ok().map(Attribute::Int)
    }
}

impl AttributeField for ElementType {
    fn read(attribute: &Attribute) -> Option<Self> {
        match attribute {
            Attribute::Text(name) => ElementType::from_name(name).ok(),
            _ => None,
        }
    }
    fn write(&self) -> Option<Attribute> {
        Some(Attribute::Text(self.name().into()))
    }
}

impl<T: AttributeField> AttributeField for Option<T> {
    fn absent() -> Option<Self> {
        Some(None)
    }
    fn read(attribute: &Attribute) -> Option<Self> {
        T::read(attribute).map(Some)
    }
    fn write(&self) -> Option<Attribute> {
        self.as_ref().and_then(T::write)
    }
}

/// Reads attributes one by one; what is left over at the end is an error, so that a misspelt name is never ignored.
pub struct AttributeReader<'a> {
    operator: &'a str,
    left: BTreeMap<&'a str, &'a Attribute>,
}

impl<'a> AttributeReader<'a> {
    pub fn new(operator: &'a str, attributes: &'a Attributes) -> Self {
        Self { operator, left: attributes.iter().map(|(k, v)| (k.as_str(), v)).collect() }
    }

    pub fn field<T: AttributeField>(&mut self, name: &str, default: Option<T>) -> Result<T> {
        match self.left.remove(name) {
            Some(attribute) => T::read(attribute)
                .ok_or_else(|| error!(InvalidGraph, "{}: attribute \"{name}\" cannot be {attribute}", self.operator)),
            None => {
                default.or_else(T::absent).ok_or_else(|| error!(InvalidGraph, "{}: attribute \"{name}\" is missing", self.operator))
            }
        }
    }

    pub fn finish(self) -> Result<()> {
        match self.left.keys().next() {
            Some(name) => bail!(InvalidGraph, "{} has no attribute \"{name}\"", self.operator),
            None => Ok(()),
        }
    }
}

/// Declares an operator's struct with its attributes, in the order and with the defaults of the operator contract. A field
/// without `= default` must be given, but for `Option`s.
#[macro_export]
macro_rules! attributes {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty $(= $default:expr)?),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $($(#[$fmeta])* pub $field: $ty),* }

        impl $name {
            #[allow(unused_mut, unused_variables)]
            pub fn from_attributes(operator: &str, attributes: &$crate::ops::Attributes) -> $crate::Result<Self> {
                let mut reader = $crate::ops::AttributeReader::new(operator, attributes);
                let out = Self { $($field: reader.field(stringify!($field), $crate::attributes!(@default $ty $(, $default)?))?),* };
                reader.finish()?;
                Ok(out)
            }

            #[allow(unused_mut)]
            pub fn to_attributes(&self) -> $crate::ops::Attributes {
                let mut out = $crate::ops::Attributes::new();
                $(if let Some(value) = $crate::ops::AttributeField::write(&self.$field) { out.insert(stringify!($field).to_string(), value); })*
                out
            }
        }
    };
    (@default $ty:ty) => { None };
    (@default $ty:ty, $default:expr) => { Some($default) };
}

/// Declares an enum whose values are spelled in attributes as in the operator contract.
#[macro_export]
macro_rules! attribute_enum {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant),* }

        impl $name {
            pub const ALL: &[$name] = &[$($name::$variant),*];
            pub fn text(self) -> &'static str { match self { $($name::$variant => $text),* } }
        }

        impl $crate::ops::AttributeField for $name {
            fn read(attribute: &$crate::ops::Attribute) -> Option<Self> {
                match attribute {
                    $crate::ops::Attribute::Text(text) => Self::ALL.iter().copied().find(|v| v.text() == text),
                    _ => None,
                }
            }
            fn write(&self) -> Option<$crate::ops::Attribute> { Some($crate::ops::Attribute::Text(self.text().into())) }
        }
    };
}
