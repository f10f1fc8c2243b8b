//! Tensors in host memory.

use half::{bf16, f16};

use super::{ElementType, TensorType, dims_text};
use crate::{Result, ensure};

/// A dense tensor in host memory. Its bytes are aligned for every element type.
#[derive(Clone, PartialEq)]
pub struct Tensor {
    ty: TensorType,
    words: Vec<u64>,
}

impl std::fmt::Debug for Tensor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Tensor({})", self.ty)
    }
}

/// A plain element type of Rust that tensors hold.
pub trait Element: bytemuck::Pod {
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($rust:ty => $element:ident),*) => { $(impl Element for $rust { const TYPE: ElementType = ElementType::$element; })* };
}
elements!(f32 => F32, f16 => F16, bf16 => Bf16, f64 => F64, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64);

impl Tensor {
    /// All bytes zero.
    pub fn zeros(ty: TensorType) -> Self {
        let words = vec![0; ty.bytes().div_ceil(8)];
        Self { ty, words }
    }

    pub fn from_bytes(ty: TensorType, bytes: &[u8]) -> Result<Self> {
        ensure!(bytes.len() == ty.bytes(), InvalidArgument, "got {} bytes, {ty} needs {}", bytes.len(), ty.bytes());
        let mut tensor = Self::zeros(ty);
        tensor.bytes_mut().copy_from_slice(bytes);
        Ok(tensor)
    }

    /// A tensor of a Rust element type. Panics if the count is wrong: for literals and computed vectors of known length.
    pub fn from_slice<T: Element>(dims: &[usize], values: &[T]) -> Self {
        let ty = TensorType::new(T::TYPE, dims);
        assert_eq!(ty.elements(), values.len(), "values for {ty}");
        let mut tensor = Self::zeros(ty);
        tensor.bytes_mut().copy_from_slice(bytemuck::cast_slice(values));
        tensor
    }

    /// Rounds f64 values to the type, once, to nearest even; to integers it saturates (NaN gives 0), to bool it tests for non-zero.
    pub fn from_f64(ty: TensorType, values: &[f64]) -> Self {
        assert_eq!(ty.elements(), values.len(), "values for {ty}");
        let mut t = Self::zeros(ty);
        match t.ty.element {
            ElementType::F32 => t.fill(values, |v| v as f32),
            ElementType::F16 => t.fill(values, f16_from_f64),
            ElementType::Bf16 => t.fill(values, bf16_from_f64),
            ElementType::F64 => t.fill(values, |v| v),
            ElementType::I8 => t.fill(values, |v| v as i8),
            ElementType::I16 => t.fill(values, |v| v as i16),
            ElementType::I32 => t.fill(values, |v| v as i32),
            ElementType::I64 => t.fill(values, |v| v as i64),
            ElementType::U8 => t.fill(values, |v| v as u8),
            ElementType::U16 => t.fill(values, |v| v as u16),
            ElementType::U32 => t.fill(values, |v| v as u32),
            ElementType::U64 => t.fill(values, |v| v as u64),
            ElementType::Bool => t.fill(values, |v| u8::from(v != 0.0)),
            other => unreachable!("{other} is not made from f64"),
        }
        t
    }

    /// Wraps integers to the width of the type; for float types it rounds.
    pub fn from_i128(ty: TensorType, values: &[i128]) -> Self {
        assert_eq!(ty.elements(), values.len(), "values for {ty}");
        let mut t = Self::zeros(ty);
        match t.ty.element {
            ElementType::I8 | ElementType::U8 => t.fill(values, |v| v as u8),
            ElementType::I16 | ElementType::U16 => t.fill(values, |v| v as u16),
            ElementType::I32 | ElementType::U32 => t.fill(values, |v| v as u32),
            ElementType::I64 | ElementType::U64 => t.fill(values, |v| v as u64),
            ElementType::Bool => t.fill(values, |v| u8::from(v != 0)),
            ElementType::F32 => t.fill(values, |v| v as f32),
            ElementType::F64 => t.fill(values, |v| v as f64),
            ElementType::F16 => t.fill(values, |v| f16_from_f64(v as f64)),
            ElementType::Bf16 => t.fill(values, |v| bf16_from_f64(v as f64)),
            other => unreachable!("{other} is not made from integers"),
        }
        t
    }

    fn fill<S: Copy, T: bytemuck::Pod>(&mut self, values: &[S], convert: impl Fn(S) -> T) {
        let out: &mut [T] = bytemuck::cast_slice_mut(self.bytes_mut());
        for (o, &v) in out.iter_mut().zip(values) {
            *o = convert(v);
        }
    }

    pub fn ty(&self) -> &TensorType {
        &self.ty
    }

    pub fn element(&self) -> ElementType {
        self.ty.element
    }

    pub fn dims(&self) -> &[usize] {
        &self.ty.dims
    }

    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.ty.bytes()]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let len = self.ty.bytes();
        &mut bytemuck::cast_slice_mut(&mut self.words)[..len]
    }

    /// The elements, when the type is `T`'s (or of `T`'s width, for bool as u8). Panics otherwise: check the type first.
    pub fn as_slice<T: Element>(&self) -> &[T] {
        assert!(
            T::TYPE == self.element() || (self.element() == ElementType::Bool && T::TYPE == ElementType::U8),
            "{} read as {}",
            self.ty,
            T::TYPE
        );
        bytemuck::cast_slice(self.bytes())
    }

    pub fn as_slice_mut<T: Element>(&mut self) -> &mut [T] {
        assert!(
            T::TYPE == self.element() || (self.element() == ElementType::Bool && T::TYPE == ElementType::U8),
            "{} written as {}",
            self.ty,
            T::TYPE
        );
        bytemuck::cast_slice_mut(self.bytes_mut())
    }

    /// The same bytes under another shape of as many elements.
    pub fn reshaped(mut self, dims: &[usize]) -> Self {
        assert_eq!(self.ty.elements(), super::element_count(dims), "{} as {}", self.ty, dims_text(dims));
        self.ty.dims = dims.to_vec();
        self
    }

    /// The same bytes as another type of as many bytes.
    pub fn with_type(mut self, ty: TensorType) -> Result<Self> {
        ensure!(
            ty.bytes() == self.ty.bytes(),
            InvalidArgument,
            "{} of {} bytes as {ty} of {}",
            self.ty,
            self.ty.bytes(),
            ty.bytes()
        );
        self.ty = ty;
        Ok(self)
    }

    /// Every element as f64. Exact but for large 64-bit integers; not for block types or c64.
    pub fn to_f64(&self) -> Vec<f64> {
        match self.element() {
            ElementType::F32 => self.map(|v: f32| v.into()),
            ElementType::F16 => self.map(|v: f16| v.to_f64()),
            ElementType::Bf16 => self.map(|v: bf16| v.to_f64()),
            ElementType::F64 => self.map(|v: f64| v),
            ElementType::C64 => unreachable!("c64 is not a real type"),
            _ => self.to_i128().into_iter().map(|v| v as f64).collect(),
        }
    }

    /// Every element of an integer or bool tensor.
    pub fn to_i128(&self) -> Vec<i128> {
        match self.element() {
            ElementType::I8 => self.map(|v: i8| v.into()),
            ElementType::I16 => self.map(|v: i16| v.into()),
            ElementType::I32 => self.map(|v: i32| v.into()),
            ElementType::I64 => self.map(|v: i64| v.into()),
            ElementType::U8 | ElementType::Bool => self.map(|v: u8| v.into()),
            ElementType::U16 => self.map(|v: u16| v.into()),
            ElementType::U32 => self.map(|v: u32| v.into()),
            ElementType::U64 => self.map(|v: u64| v.into()),
            other => unreachable!("{other} is not an integer type"),
        }
    }

    fn map<T: bytemuck::Pod, R>(&self, convert: impl Fn(T) -> R) -> Vec<R> {
        bytemuck::cast_slice::<u8, T>(self.bytes()).iter().map(|&v| convert(v)).collect()
    }
}

/// An f32 from which rounding to a still narrower type gives what rounding the f64 once would: inexact values are rounded toward
/// zero with the lowest bit set ("round to odd"; Boldo and Melquiond, 2008).
fn to_odd_f32(value: f64) -> f32 {
    let nearest = value as f32;
    if nearest.is_nan() || f64::from(nearest) == value {
        return nearest;
    }
    let toward_zero = if f64::from(nearest).abs() > value.abs() { f32::from_bits(nearest.to_bits() - 1) } else { nearest };
    f32::from_bits(toward_zero.to_bits() | 1)
}

fn bf16_from_f64(value: f64) -> bf16 {
    bf16::from_f32(to_odd_f32(value))
}

fn f16_from_f64(value: f64) -> f16 {
    f16::from_f32(to_odd_f32(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_once() {
        let ty = |e| TensorType::new(e, [3]);
        let v = [1.0 + 2f64.powi(-8) + 2f64.powi(-40), -0.0, 1e300];
        assert_eq!(Tensor::from_f64(ty(ElementType::Bf16), &v).to_f64(), [1.0078125, -0.0, f64::INFINITY]);
        let v16 = [1.0 + 2f64.powi(-11) + 2f64.powi(-40), 65519.999, -65520.0];
        assert_eq!(Tensor::from_f64(ty(ElementType::F16), &v16).to_f64(), [1.0009765625, 65504.0, f64::NEG_INFINITY]);
        assert_eq!(Tensor::from_f64(ty(ElementType::I8), &[f64::NAN, 300.0, -1.9]).to_i128(), [0, 127, -1]);
        assert_eq!(
            Tensor::from_i128(ty(ElementType::I32), &[1 << 33, (1 << 31) + 5, -7]).to_i128(),
            [0, (1 << 31) + 5 - (1 << 32), -7]
        );
    }
}
