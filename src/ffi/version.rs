//! Versions and the log.

use std::ffi::{CString, c_char, c_void};

use super::boundary::{boundary, caldera_status};
use super::error::caldera_error;
use crate::log;

/// The version of the binary interface. Compare with `caldera_abi_version()`.
pub const CALDERA_ABI_VERSION: u32 = 2;

/// The version of the library, such as "0.1.0". Static.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The binary interface that the library has. A program built against another `CALDERA_ABI_VERSION` must not go on.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_abi_version() -> u32 {
    CALDERA_ABI_VERSION
}

/// Checks that the program was built for this library: call it with `CALDERA_ABI_VERSION` of the header.
///
/// Errors: UNSUPPORTED, naming both versions.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_check_abi(abi_version: u32, error: *mut *mut caldera_error) -> caldera_status {
    boundary(error, || {
        crate::ensure!(
            abi_version == CALDERA_ABI_VERSION,
            Unsupported,
            "the program was built for ABI version {abi_version}, the library has {CALDERA_ABI_VERSION}"
        );
        Ok(())
    })
}

/// How much a log line matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_log_level {
    CALDERA_LOG_ERROR = 1,
    CALDERA_LOG_WARNING = 2,
    CALDERA_LOG_INFO = 3,
    CALDERA_LOG_DEBUG = 4,
}

/// Called with each log line, from any thread, also at the same time. `text` lives during the call. It must not call Caldera.
pub type caldera_log_callback = Option<extern "C" fn(level: caldera_log_level, text: *const c_char, user: *mut c_void)>;

/// The callback's own pointer; the host promises that it may be used from any thread.
struct User(*mut c_void);
// SAFETY: the header demands of `user` that the callback may use it from any thread.
unsafe impl Send for User {}
// SAFETY: as above.
unsafe impl Sync for User {}

/// Sends log lines to `callback` from now on; NULL turns the log off. Off is the default. For the whole process.
///
/// The message of every failing call is a line of CALDERA_LOG_ERROR; TIMEOUT and BUSY are CALDERA_LOG_DEBUG.
#[unsafe(no_mangle)]
pub extern "C" fn caldera_set_log_callback(callback: caldera_log_callback, user: *mut c_void) {
    let _ = boundary(std::ptr::null_mut(), || {
        let user = User(user);
        log::set_sink(callback.map(|callback| -> Box<dyn Fn(log::Level, &str) + Send + Sync> {
            Box::new(move |level, text| {
                let user = &user;
                let level = match level {
                    log::Level::Error => caldera_log_level::CALDERA_LOG_ERROR,
                    log::Level::Warning => caldera_log_level::CALDERA_LOG_WARNING,
                    log::Level::Info => caldera_log_level::CALDERA_LOG_INFO,
                    log::Level::Debug => caldera_log_level::CALDERA_LOG_DEBUG,
                };
                let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
                callback(level, text.as_ptr(), user.0);
            })
        }));
        Ok(())
    });
}
