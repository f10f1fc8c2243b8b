//! Device-resident tensors as C sees them.

use std::ffi::c_void;
use std::sync::Arc;

use super::boundary::{Exclusive, boundary, bytes, bytes_mut, caldera_status, give, object, quietly, tensor_type, wanted};
use super::device::caldera_device;
use super::error::caldera_error;
use crate::runtime::Buffer;

/// A device-resident tensor that outlives runs: a KV cache, a state, a zero-copy input or output. It can be bound to several executables
/// at once; they keep it alive, so it may be freed before them.
pub struct caldera_buffer(pub(super) Exclusive<Arc<Buffer>>);

impl caldera_buffer {
    pub(super) fn share(buffer: Arc<Buffer>) -> *mut Self {
        Box::into_raw(Box::new(Self(Exclusive::new(buffer))))
    }
}

/// Makes a buffer of zeros. `type` is a `caldera_type`. Free it with `caldera_buffer_free`.
///
/// Errors: INVALID_ARGUMENT (an unknown or packed type, a bad shape), OUT_OF_MEMORY, DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_buffer_new(
    device: *const caldera_device,
    r#type: u32,
    dims: *const i64,
    rank: u32,
    buffer: *mut *mut caldera_buffer,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let device = object(device, "device")?;
        wanted(buffer, "buffer")?;
        let ty = tensor_type(r#type, dims, rank)?;
        give(buffer, caldera_buffer::share(Buffer::new(&device.0, ty)?));
        Ok(())
    })
}

/// Writes `size` bytes at byte `offset`, and returns when they are on the device. No run that uses the buffer may be in flight.
///
/// Errors: INVALID_ARGUMENT if the range is outside the buffer, DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_buffer_write(
    buffer: *mut caldera_buffer,
    offset: usize,
    data: *const c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || object(buffer, "buffer")?.0.write()?.write(offset, bytes(data, size, "data")?))
}

/// Reads `size` bytes at byte `offset`. No run that writes the buffer may be in flight.
///
/// Errors: INVALID_ARGUMENT if the range is outside the buffer, DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_buffer_read(
    buffer: *const caldera_buffer,
    offset: usize,
    data: *mut c_void,
    size: usize,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || object(buffer, "buffer")?.0.read()?.read(offset, bytes_mut(data, size, "data")?))
}

/// A new buffer with the same contents, copied on the device. Errors: OUT_OF_MEMORY, DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_buffer_clone(
    buffer: *const caldera_buffer,
    copy: *mut *mut caldera_buffer,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let buffer = object(buffer, "buffer")?;
        wanted(copy, "copy")?;
        let made = buffer.0.read()?.duplicate()?;
        give(copy, caldera_buffer::share(made));
        Ok(())
    })
}

/// The size of a buffer in bytes; 0 for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_buffer_bytes(buffer: *const caldera_buffer) -> usize {
    object(buffer, "buffer").and_then(|b| Ok(b.0.read()?.ty().bytes())).unwrap_or(0)
}

/// Frees the handle; the memory goes when no executable is bound to it any more. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_buffer_free(buffer: *mut caldera_buffer) {
    quietly(|| {
        if !buffer.is_null() {
            // SAFETY: the caller gives back what Caldera made, once.
            drop(unsafe { Box::from_raw(buffer) });
        }
    });
}
