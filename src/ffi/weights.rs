//! Weights as C sees them.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use super::boundary::{boundary, bytes, caldera_status, give, object, quietly, tensor_type, text, wanted};
use super::device::caldera_device;
use super::error::caldera_error;
use crate::formats::safetensors::SafetensorsFile;
use crate::runtime::Weights;
use crate::{Result, ensure};

/// A set of named parameters in device memory, shared by every executable that is compiled against it. Any thread may use it at any time;
/// setting a weight while a run that reads it is in flight gives that run old or new bytes.
pub struct caldera_weights(pub(super) Arc<Weights>);

/// Called now and then with how many bytes of how many are loaded, on the calling thread.
pub type caldera_progress_callback = Option<extern "C" fn(done: u64, total: u64, user: *mut c_void)>;

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
        device.0.check()?;
        give(weights, Box::into_raw(Box::new(caldera_weights(Weights::new(&device.0)))));
        Ok(())
    })
}

/// Sets a weight. The first use of a name, here or in a compiled graph, fixes its type and shape; f32, f16, bf16 and f64 data is converted to it,
/// other data must be of that very type. `size` is in bytes.
///
/// Errors: INVALID_ARGUMENT (an empty name, an unknown type, a bad shape, a type or size that does not fit), naming the weight, what was given and
/// what is needed; OUT_OF_MEMORY; DEVICE_LOST.
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
        ensure!(!name.is_empty(), InvalidArgument, "a weight needs a name");
        let ty = tensor_type(r#type, dims, rank).map_err(|e| e.within(format!("weight \"{name}\"")))?;
        weights.0.set_all(&[(name, ty, bytes(data, size, "data")?)], |_, _| ())
    })
}

/// Sets every tensor of a safetensors file as a weight under its name, converted as `caldera_weights_set` does. All are set, or none.
/// `progress` may be NULL.
///
/// Errors: FILE (unreadable, broken), UNSUPPORTED (an element type, naming the tensor), INVALID_ARGUMENT (a tensor that does not fit what the name
/// already has), OUT_OF_MEMORY, DEVICE_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_weights_load_safetensors(
    weights: *const caldera_weights,
    path: *const c_char,
    progress: caldera_progress_callback,
    user: *mut c_void,
    error: *mut *mut caldera_error,
) -> caldera_status {
    boundary(error, || {
        let (weights, path) = (object(weights, "weights")?, text(path, "path")?);
        let file = SafetensorsFile::open(path)?;
        let names = file.names();
        let one = |name: &String| -> Result<_> {
            let (ty, bytes) = file.tensor(name).map_err(|e| e.within(path))?;
            Ok((name.clone(), ty, bytes))
        };
        let all = names.iter().map(one).collect::<Result<Vec<_>>>()?;
        let all: Vec<_> = all.iter().map(|(name, ty, bytes)| (name.as_str(), ty.clone(), *bytes)).collect();
        weights.0.set_all(&all, |done, total| {
            if let Some(progress) = progress {
                progress(done, total, user);
            }
        })
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
