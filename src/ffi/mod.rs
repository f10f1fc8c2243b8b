//! The C surface: one file a handle, builders by operator family. include/caldera.h is made from here.
//!
//! Every function goes through `boundary`: NULL is checked, panics are caught, errors become a status and a `caldera_error`.
#![allow(non_camel_case_types)]

mod boundary;
mod buffer;
mod device;
mod error;
mod executable;
mod gguf;
mod graph;
mod version;
mod weights;

pub use boundary::caldera_status;
pub use buffer::caldera_buffer;
pub use device::caldera_device;
pub use error::caldera_error;
pub use executable::caldera_executable;

pub use gguf::caldera_gguf;
pub use graph::{caldera_graph, caldera_value};
pub use weights::caldera_weights;
