//! Lists of element types for cases.

use crate::tensor::ElementType::{self, *};

/// Every plain type.
pub const EVERY: &[ElementType] = &[F32, F16, Bf16, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool, C64];

/// One type of each width.
pub const WIDTHS: &[ElementType] = &[U8, F16, F32, C64];
