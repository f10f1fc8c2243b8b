//! Errors are values: a status that never changes its meaning, and a message with names and numbers in it.

use std::fmt;

/// Why a call failed. The numbers are part of the C ABI and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// A pointer is null, a number is out of range, a name is unknown, a size or type does not fit.
    InvalidArgument = 1,
    /// A graph breaks a rule of an operator: shapes, types, attributes.
    InvalidGraph = 2,
    /// Right in itself, but this device or this version cannot do it.
    Unsupported = 3,
    /// Device or host memory is exhausted; everything made before still works.
    OutOfMemory = 4,
    /// The device was lost. Sticky: every later call on it returns this.
    DeviceLost = 5,
    /// No Vulkan loader, no driver, or no device that fits the request.
    NoDevice = 6,
    /// A file cannot be read or written, or its content is broken.
    File = 7,
    /// A kernel met an index outside its range during a run.
    IndexOutOfRange = 8,
    /// Another thread is in an exclusive call on the same object.
    Busy = 9,
    /// A wait ended before the work did.
    Timeout = 10,
    /// A fault of Caldera itself (a caught panic, a driver call that must not fail).
    Internal = 11,
}

/// A status and a message for people.
#[derive(Clone, Debug)]
pub struct Error {
    pub status: Status,
    pub message: String,
}

impl Error {
    pub fn new(status: Status, message: impl Into<String>) -> Self {
        Self { status, message: message.into() }
    }

    /// The same error with what was being done put before it.
    pub fn within(mut self, context: impl fmt::Display) -> Self {
        self.message = format!("{context}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Names for a message: "x, y", or "none".
pub fn listed<N: AsRef<str>>(names: &[N]) -> String {
    let names: Vec<&str> = names.iter().map(N::as_ref).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

pub type Result<T> = std::result::Result<T, Error>;

/// Makes an [`Error`]: `error!(InvalidGraph, "axis {axis} of rank {rank}")`.
#[macro_export]
macro_rules! error {
    ($status:ident, $($message:tt)*) => { $crate::Error::new($crate::Status::$status, format!($($message)*)) };
}

/// Returns an [`Error`] from the function it stands in.
#[macro_export]
macro_rules! bail {
    ($status:ident, $($message:tt)*) => { return Err($crate::error!($status, $($message)*)) };
}

/// Returns an [`Error`] unless a condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $status:ident, $($message:tt)*) => { if !$condition { $crate::bail!($status, $($message)*) } };
}
