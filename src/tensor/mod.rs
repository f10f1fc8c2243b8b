//! Element types, shapes and host tensors. This room knows nobody but `error`.

pub mod blocks;
mod element;
mod host;
mod shape;

pub use element::{BLOCK_TYPES, ElementType};
pub use host::{Element, Tensor};
pub use shape::{MAX_RANK, TensorType, broadcast, dims_text, element_count, list_text, normalize_axis, row_strides, split_at_axis};
