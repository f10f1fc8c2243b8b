//! Weights as C sees them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::boundary::{boundary, bytes, caldera_status, give, object, quietly, sizes, text, wanted};
use super::device::caldera_device;
use super::error::caldera_error;
use crate::runtime::Weights;
use crate::tensor::ElementType;

/// A set of named parameters in device memory, shared by every executable that is compiled against it. Any thread may use it at any time;
/// setting a weight while a run that reads it is in flight gives that run old or new bytes.
pub struct caldera_weights(pub(super) Arc<Weights>);

/// Makes an empty set. Free it with `caldera_weights_free`; executables keep what they use.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_weights_new(
    device: *const caldera_device,
    weights: *mut *mut caldera_weights,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let device = object(device, "device")?;
        wanted(weights, "weights")?;
        give(weights, Box::into_raw(Box::new(caldera_weights(Weights::new(&device.0)))));
        Ok(())
    })
}

/// Sets a weight. The first use of a name, here or in a compiled graph, fixes its type and shape; f32, f16, bf16 and f64 data is converted to it,
/// other data must be of that very type. `size` is in bytes.
///
/// Errors: INVALID_ARGUMENT, naming the weight, what was given and what is needed; OUT_OF_MEMORY; DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_weights_set(
    weights: *const caldera_weights,
    name: *const c_char,
    r#type: u32,
    dims: *const i64,
    rank: u32,
    data: *const c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (weights, name) = (object(weights, "weights")?, text(name, "name")?);
        let (element, dims) = (ElementType::from_number(r#type)?, sizes(dims, rank)?);
        weights.0.set(name, element, Some(&dims), bytes(data, size, "data")?)
    })
}

/// Frees the handle. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_weights_free(weights: *mut caldera_weights) {
    quietly(|| {
        if !weights.is_null() {
            // SAFETY: the caller gives back what Caldera made, once.
            drop(unsafe { Box::from_raw(weights) });
        }
    });
}
