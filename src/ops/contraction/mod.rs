//! Products that sum over shared axes.
//!
//! Every operator of this family, and others that multiply matrices inside, describe one or more [`Product`]s; [`lower_product`]
//! turns one into dispatches, and `choose` says with which kernel.

use super::Entry;

mod activation;
mod bias_act;
mod choose;
mod dot_general;
mod grouped;
mod lora;
mod matmul;
mod product;
mod reference;

pub use activation::Activation;
pub use choose::{Algorithm, Choice, Tile};
pub use matmul::MatMul;
pub use product::{BatchAxis, Epilogue, Matrix, Product, Residual, RowExperts, lower_product, lower_product_as};
pub(super) use product::{index_kind, sort_rows};
pub use reference::{MatrixView, multiply};

pub const FAMILIES: &[&[Entry]] = &[matmul::ENTRIES, dot_general::ENTRIES, bias_act::ENTRIES, lora::ENTRIES, grouped::ENTRIES];
