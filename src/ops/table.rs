//! The operator table: one row an operator.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::{Attributes, Case, OperatorRef};
use crate::{Result, error};

/// A row of the operator table.
pub struct Entry {
    pub name: &'static str,
    /// Makes the operator from its attributes.
    pub build: fn(&str, &Attributes) -> Result<OperatorRef>,
    /// Inputs to test and time it with.
    pub cases: fn() -> Vec<Case>,
}

/// Rows of the operators whose name is fixed and whose struct was declared with `attributes!`.
#[macro_export]
macro_rules! entries {
    ($($ty:ident: $cases:expr),* $(,)?) => {
        pub const ENTRIES: &[$crate::ops::Entry] = &[$($crate::ops::Entry {
            name: stringify!($ty),
            build: |name, attributes| Ok(std::sync::Arc::new($ty::from_attributes(name, attributes)?)),
            cases: $cases,
        }),*];
    };
}

/// Every operator, in the order of the contract.
pub fn table() -> impl Iterator<Item = &'static Entry> {
    FAMILIES.iter().copied().flatten().copied().flatten()
}

/// The row of this name.
pub fn entry(name: &str) -> Result<&'static Entry> {
    static BY_NAME: LazyLock<HashMap<&str, &Entry>> = LazyLock::new(|| table().map(|e| (e.name, e)).collect());
    BY_NAME.get(name).copied().ok_or_else(|| error!(Unsupported, "there is no operator \"{name}\""))
}

/// An operator whose attributes are all default, or given.
pub fn build(name: &str, attributes: &Attributes) -> Result<OperatorRef> {
    (entry(name)?.build)(name, attributes)
}

/// Shares an operator.
pub fn share<T: super::Operator>(operator: T) -> OperatorRef {
    Arc::new(operator)
}

const FAMILIES: &[&[&[Entry]]] = &[
    super::elementwise::FAMILIES,
    super::contraction::FAMILIES,
    super::quant::FAMILIES,
    super::reduce::FAMILIES,
    super::norm::FAMILIES,
    super::transformer::FAMILIES,
    super::movement::FAMILIES,
    super::vision::FAMILIES,
    super::recurrent::FAMILIES,
    super::signal::FAMILIES,
    super::control::FAMILIES,
];
