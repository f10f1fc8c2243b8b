//! Bytes to graphs and tensors, and back. Nothing in a file is believed before it is checked.

pub mod onnx;
