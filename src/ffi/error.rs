//! Errors as C sees them.

use std::ffi::{CString, c_char};

use super::boundary::{caldera_status, quietly};
use crate::Error;

/// Why a call failed. Made by a failing call that was given a place for it; free it with `caldera_error_free`.
pub struct caldera_error {
    status: caldera_status,
    message: CString,
}

impl caldera_error {
    pub(super) fn new(error: Error) -> Self {
        let message = CString::new(error.message.replace('\0', " ")).unwrap_or_default();
        Self { status: error.status.into(), message }
    }
}

/// The message: what was wrong, with names and numbers. Lives as long as the error. NULL gives an empty text.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_error_message(error: *const caldera_error) -> *const c_char {
    // SAFETY: a non-NULL error is one that Caldera made and that was not freed.
    unsafe { error.as_ref() }.map_or(c"".as_ptr(), |e| e.message.as_ptr())
}

/// The status that the failing call returned. NULL gives CALDERA_OK.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_error_status(error: *const caldera_error) -> caldera_status {
    // SAFETY: as above.
    unsafe { error.as_ref() }.map_or(caldera_status::CALDERA_OK, |e| e.status)
}

/// Frees an error. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_error_free(error: *mut caldera_error) {
    quietly(|| {
        if !error.is_null() {
            // SAFETY: the caller gives back what `boundary` made, once.
            drop(unsafe { Box::from_raw(error) });
        }
    });
}

/// The name of a status, such as "INVALID_ARGUMENT". Static.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_status_name(status: i32) -> *const c_char {
    let name = match status {
        0 => c"OK",
        1 => c"INVALID_ARGUMENT",
        2 => c"INVALID_GRAPH",
        3 => c"UNSUPPORTED",
        4 => c"OUT_OF_MEMORY",
        5 => c"DEVICE_LOST",
        6 => c"NO_DEVICE",
        7 => c"FILE",
        8 => c"INDEX_OUT_OF_RANGE",
        9 => c"BUSY",
        10 => c"TIMEOUT",
        11 => c"INTERNAL",
        _ => c"UNKNOWN",
    };
    name.as_ptr()
}
