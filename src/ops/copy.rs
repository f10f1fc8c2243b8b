//! A copy of a value in storage of its own. Not in the operator table: passes put it where a value that is about to be
//! overwritten is still needed.

use crate::Result;
use crate::kernels::{Kernel, kernel};
use crate::ops::{Attributes, Inputs, Lowering, Operator, Reference};
use crate::tensor::{Tensor, TensorType};

#[derive(Clone, Copy, Debug)]
pub struct Copy;

/// Bytes that a workgroup of `copy_bytes` moves.
pub const COPY_BYTES_PER_GROUP: usize = 4096;

/// The kernel that copies ranges whose ends are multiples of `bytes`.
pub fn copy_kernel(bytes: usize) -> Result<Kernel> {
    kernel::copy_bytes(if bytes.is_multiple_of(4) { "u32" } else { "u8" })
}

impl Operator for Copy {
    fn name(&self) -> &'static str {
        "Copy"
    }

    fn attributes(&self) -> Attributes {
        Attributes::new()
    }

    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(1..=1)?;
        Ok(vec![ins.get(0)?.clone()])
    }

    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        Ok(vec![at.input(0)?.clone()])
    }

    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let bytes = at.input_type(0).bytes();
        let block = at.constants(&[0, 0, 0, 0, bytes as u32, (bytes as u64 >> 32) as u32]);
        let (from, to) = (at.input(0), at.output(0));
        at.dispatch(copy_kernel(bytes)?)
            .read("from", from)
            .write("to", to)
            .read("block", block)
            .groups(bytes.div_ceil(COPY_BYTES_PER_GROUP))
    }
}
