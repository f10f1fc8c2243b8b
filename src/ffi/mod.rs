//! The C surface: one file a handle, builders by operator family. include/caldera.h is made from here.
//!
//! Every function goes through `boundary`: NULL is checked, panics are caught, errors become a status and a `caldera_error`.
#![allow(non_camel_case_types)]

mod boundary;
mod buffer;
mod builders;
mod device;
mod error;
mod executable;
mod gguf;
mod graph;
mod options;
mod types;
mod version;
mod weights;

pub use boundary::caldera_status;
pub use buffer::caldera_buffer;
pub use builders::*;
pub use device::{caldera_device, caldera_device_kind, caldera_device_options, caldera_device_properties};
pub use error::caldera_error;
pub use executable::{
    caldera_compile_options, caldera_executable, caldera_port_info, caldera_profile_format, caldera_run_input, caldera_run_output,
    caldera_stats,
};
pub use gguf::{caldera_gguf, caldera_gguf_tensor_info, caldera_model_options};
pub use graph::{CALDERA_NO_VALUE, caldera_graph, caldera_print_format, caldera_value};
pub use types::caldera_type;
pub use version::{CALDERA_ABI_VERSION, caldera_log_level};
pub use weights::caldera_weights;
