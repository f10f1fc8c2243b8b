//! What the shape rules of this family share.

use crate::ops::Inputs;
use crate::tensor::{TensorType, list_text};
use crate::{Result, ensure};

/// Checks that input `i` is there, of the element type of `x`, the first input, and of these dimensions.
pub fn expect_dims(ins: &Inputs<TensorType>, i: usize, name: &str, x: &TensorType, dims: &[usize]) -> Result<()> {
    let ty = ins.get(i).map_err(|e| e.within(name))?;
    expect_element(name, ty, x)?;
    ensure!(ty.dims == dims, InvalidGraph, "{name} is {ty}, it must be {dims}", dims = list_text(&dims));
    Ok(())
}

/// The same of an input that may be absent.
pub fn expect_opt(ins: &Inputs<TensorType>, i: usize, name: &str, x: &TensorType, dims: &[usize]) -> Result<()> {
    if ins.opt(i).is_some() { expect_dims(ins, i, name, x, dims) } else { Ok(()) }
}

pub fn expect_element(name: &str, ty: &TensorType, x: &TensorType) -> Result<()> {
    let (first, other) = (x.element, ty.element);
    ensure!(first == other, InvalidGraph, "the first input is {first}, {name} is {other}: the types must be the same");
    Ok(())
}

/// Checks that the first input is of floats and has `N` axes, and gives their extents.
pub fn float_axes<const N: usize>(x: &TensorType, name: &str, axes: &str) -> Result<[usize; N]> {
    ensure!(x.element.is_float(), InvalidGraph, "takes floats, not {}", x.element);
    <[usize; N]>::try_from(&x.dims[..]).map_err(|_| crate::error!(InvalidGraph, "{name} is {x}, it must be {axes}"))
}
