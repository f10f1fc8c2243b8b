//! Control flow: operators that run graphs of their own. A body is a graph whose inputs and outputs, in order, are the formal ones; what it reads
//! of the graph around it is captured: an input like any other. The CPU device branches and loops; for Vulkan a pass writes the bodies out
//! (passes/control.rs).

mod body;
mod branch;
mod cases;
mod repeat;
mod scan;

use super::Entry;

pub use body::{fit, output_types, step_of};
pub use branch::If;
pub use repeat::While;
pub use scan::Scan;

pub const FAMILIES: &[&[Entry]] = &[branch::ENTRIES, repeat::ENTRIES, scan::ENTRIES];
