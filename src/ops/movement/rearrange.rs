//! Operators whose result is their input, read in another order: shape, strides and start say all there is to say.

use super::strided::{StridedCopy, VIEW_ALIGNMENT};
use super::transpose;
use crate::ops::{Inputs, Lowering, Reference};
use crate::tensor::{Tensor, TensorType};
use crate::{Result, ensure};

/// An operator of one input and one output that only moves elements.
pub trait Rearrange {
    /// True if packed block types are taken too.
    const BLOCKS: bool = false;

    fn dims(&self, x: &TensorType) -> Result<Vec<usize>>;

    /// The copy for operands that `dims` accepted.
    fn copy(&self, x: &TensorType, y: &TensorType) -> StridedCopy;
}

pub fn infer<T: Rearrange>(op: &T, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
    ins.expect(1..=1)?;
    let x = ins.get(0)?;
    ensure!(T::BLOCKS || !x.element.is_block(), InvalidGraph, "does not take the packed type {}", x.element);
    let y = TensorType::checked(x.element, &op.dims(x)?)?;
    Ok(vec![y])
}

pub fn reference<T: Rearrange>(op: &T, at: &Reference) -> Result<Vec<Tensor>> {
    let x = at.input(0)?;
    let mut y = Tensor::zeros(at.output_type(0).clone());
    op.copy(x.ty(), at.output_type(0)).apply(x.bytes(), y.bytes_mut());
    Ok(vec![y])
}

pub fn lower<T: Rearrange>(op: &T, at: &mut Lowering) -> Result<()> {
    let (x, y) = (at.input(0), at.output(0));
    transpose::lower(op.copy(at.input_type(0), at.output_type(0)), at, x, y)
}

/// Where in the input the result lies, if it lies there in one piece and vector loads can reach it.
pub fn view<T: Rearrange>(op: &T, ins: &Inputs<TensorType>, outs: &[TensorType]) -> Vec<Option<(usize, usize)>> {
    let (Some(x), [y]) = (ins.opt(0), outs) else { return Vec::new() };
    let copy = op.copy(x, y);
    let fits = !copy.is_empty() && copy.is_contiguous() && copy.from_start.is_multiple_of(VIEW_ALIGNMENT);
    vec![fits.then_some((0, copy.from_start))]
}

/// Makes operators of `Rearrange`s.
macro_rules! rearrange {
    ($($name:ident),*) => {
        $(impl $crate::ops::Operator for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }
            fn attributes(&self) -> $crate::ops::Attributes {
                self.to_attributes()
            }
            fn infer(&self, ins: &$crate::ops::Inputs<$crate::tensor::TensorType>) -> $crate::Result<Vec<$crate::tensor::TensorType>> {
                $crate::ops::movement::rearrange::infer(self, ins)
            }
            fn reference(&self, at: &$crate::ops::Reference) -> $crate::Result<Vec<$crate::tensor::Tensor>> {
                $crate::ops::movement::rearrange::reference(self, at)
            }
            fn lower(&self, at: &mut $crate::ops::Lowering) -> $crate::Result<()> {
                $crate::ops::movement::rearrange::lower(self, at)
            }
            fn views(
                &self,
                ins: &$crate::ops::Inputs<$crate::tensor::TensorType>,
                outs: &[$crate::tensor::TensorType],
            ) -> Vec<Option<(usize, usize)>> {
                $crate::ops::movement::rearrange::view(self, ins, outs)
            }
        })*
    };
}
pub(crate) use rearrange;
