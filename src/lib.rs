//! Caldera compiles a graph of tensor operators into a flat, pre-recorded schedule of Vulkan compute dispatches and runs it.
//!
//! The public surface is the C API in `ffi`. A call becomes a [`graph`], the graph becomes a [`plan`], the plan becomes recorded
//! commands, and a run submits them. docs/internals.md walks one graph through the rooms.

mod error;
pub mod ffi;
pub mod formats;
pub mod graph;
pub mod kernels;
pub mod log;
pub mod models;
pub mod ops;
pub mod passes;
pub mod plan;
pub mod runtime;
pub mod tensor;
pub mod vulkan;

pub use error::{Error, Result, Status, listed};
