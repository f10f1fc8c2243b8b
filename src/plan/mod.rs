//! From a graph to a program: order, liveness, memory, hazards. Pure data, tested without a device.

mod hazard;
mod pack;
mod program;
mod storage;
mod summary;

pub use program::{Fixup, Location, MemoryReport, Port, Program, Root, Step};

/// Bytes of the block of numbers that change from run to run (shaders/common/run_state.glsl).
pub const RUN_STATE_BYTES: usize = 112;

/// Options of a compilation that change the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    pub precision: Precision,
    pub matmul: MatmulKernel,
    /// A barrier before every dispatch.
    pub full_barriers: bool,
    /// Out-of-range indices are clamped instead of refused.
    pub unchecked_indices: bool,
}

/// How exact products are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f32 products and sums.
    #[default]
    Exact,
    /// f16 or bf16 products on matrix units with f32 sums, where the device has them.
    Fast,
}

/// Which kernel matrix products use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatmulKernel {
    #[default]
    Auto,
    Scalar,
    Tiled,
    Coop,
}
