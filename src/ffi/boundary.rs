//! What every call from C passes through.

use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard, TryLockError};
use std::time::{Duration, Instant};

use super::error::caldera_error;
use crate::log::{self, Level};
use crate::tensor::{ElementType, TensorType};
use crate::{Error, Result, Status, ensure, error};

/// What became of a call. The numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum caldera_status {
    CALDERA_OK = 0,
    /// A pointer is NULL, a number is out of range, a name is unknown, a size or type does not fit.
    CALDERA_INVALID_ARGUMENT = 1,
    /// A graph breaks a rule of an operator: shapes, types, attributes.
    CALDERA_INVALID_GRAPH = 2,
    /// Right in itself, but this device or this version cannot do it.
    CALDERA_UNSUPPORTED = 3,
    /// Device or host memory is exhausted. Everything made before still works.
    CALDERA_OUT_OF_MEMORY = 4,
    /// The device was lost. Every later call on it returns this; frees still work, and a new device can be opened.
    CALDERA_DEVICE_LOST = 5,
    /// No Vulkan loader, no driver, or no device that fits the request.
    CALDERA_NO_DEVICE = 6,
    /// A file cannot be read or written, or its content is broken.
    CALDERA_FILE = 7,
    /// A kernel met an index outside its range. The run is over; its outputs are not to be used.
    CALDERA_INDEX_OUT_OF_RANGE = 8,
    /// Another thread is in an exclusive call on the same object, or a run of it is in flight.
    CALDERA_BUSY = 9,
    /// A wait ended before the work did. Wait again.
    CALDERA_TIMEOUT = 10,
    /// A fault of Caldera itself. The object that was being changed refuses further use.
    CALDERA_INTERNAL = 11,
}

use caldera_status::*;

impl From<Status> for caldera_status {
    fn from(status: Status) -> Self {
        match status {
            Status::InvalidArgument => CALDERA_INVALID_ARGUMENT,
            Status::InvalidGraph => CALDERA_INVALID_GRAPH,
            Status::Unsupported => CALDERA_UNSUPPORTED,
            Status::OutOfMemory => CALDERA_OUT_OF_MEMORY,
            Status::DeviceLost => CALDERA_DEVICE_LOST,
            Status::NoDevice => CALDERA_NO_DEVICE,
            Status::File => CALDERA_FILE,
            Status::IndexOutOfRange => CALDERA_INDEX_OUT_OF_RANGE,
            Status::Busy => CALDERA_BUSY,
            Status::Timeout => CALDERA_TIMEOUT,
            Status::Internal => CALDERA_INTERNAL,
        }
    }
}

/// Runs the body of a call. Whatever goes wrong ends here: as a status, as an error object if the caller wants one, as a log line.
pub(super) fn boundary(out_error: *mut *mut caldera_error, body: impl FnOnce() -> Result<()>) -> caldera_status {
    let problem = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => return CALDERA_OK,
        Ok(Err(error)) => error,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            error!(Internal, "caught a panic: {}", text.unwrap_or("without a message"))
        }
    };
    let level = level_of(problem.status);
    if log::enabled(level) {
        log::log(level, &problem.message);
    }
    let status = problem.status.into();
    if !out_error.is_null() {
        // SAFETY: a non-NULL `error` points to a writable pointer, as the header says.
        unsafe { *out_error = Box::into_raw(Box::new(caldera_error::new(problem))) };
    }
    status
}

/// A program that asks again and again, or whose threads collide, is told so: that is no fault.
fn level_of(status: Status) -> Level {
    match status {
        Status::Timeout | Status::Busy => Level::Debug,
        _ => Level::Error,
    }
}

/// Frees never fail and never panic.
pub(super) fn quietly(body: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(body));
}

fn null(what: &str) -> Error {
    error!(InvalidArgument, "{what} is NULL")
}

/// A handle that the caller gave.
pub(super) fn object<'a, T>(pointer: *const T, what: &str) -> Result<&'a T> {
    // SAFETY: a non-NULL handle is one that Caldera made and that was not freed, as the header says.
    unsafe { pointer.as_ref() }.ok_or_else(|| null(what))
}

/// Writes an out-parameter; checked before the work by `wanted`.
pub(super) fn give<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: a non-NULL out-parameter is writable, as the header says.
        unsafe { out.write(value) };
    }
}

/// Refuses a NULL out-parameter before any work is done.
pub(super) fn wanted<T>(out: *mut T, what: &str) -> Result<()> {
    if out.is_null() { Err(null(what)) } else { Ok(()) }
}

/// A string that the caller gave.
pub(super) fn text<'a>(pointer: *const c_char, what: &str) -> Result<&'a str> {
    opt_text(pointer, what)?.ok_or_else(|| null(what))
}

/// A string that may be NULL.
pub(super) fn opt_text<'a>(pointer: *const c_char, what: &str) -> Result<Option<&'a str>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: a non-NULL string is zero-terminated, as the header says.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().map(Some).map_err(|_| error!(InvalidArgument, "{what} is not UTF-8"))
}

/// An array that the caller gave; NULL only if it is empty.
pub(super) fn list<'a, T>(pointer: *const T, count: usize, what: &str) -> Result<&'a [T]> {
    check_list(pointer, count, what)?;
    if count == 0 {
        return Ok(&[]);
    }
    // SAFETY: a non-NULL array holds `count` elements, as the header says; the size was checked.
    Ok(unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// An array that the caller gave to be filled.
pub(super) fn list_mut<'a, T>(pointer: *mut T, count: usize, what: &str) -> Result<&'a mut [T]> {
    check_list(pointer, count, what)?;
    if count == 0 {
        return Ok(&mut []);
    }
    // SAFETY: as above, and nobody else uses it during the call.
    Ok(unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

fn check_list<T>(pointer: *const T, count: usize, what: &str) -> Result<()> {
    // Languages point an empty list anywhere.
    if count == 0 {
        return Ok(());
    }
    if pointer.is_null() {
        return Err(error!(InvalidArgument, "{what} is NULL, but its count is {count}"));
    }
    let fits = count.checked_mul(size_of::<T>().max(1)).is_some_and(|bytes| isize::try_from(bytes).is_ok());
    if !fits {
        return Err(error!(InvalidArgument, "the count of {what} is {count}: too large"));
    }
    if !pointer.is_aligned() {
        return Err(error!(InvalidArgument, "{what} is not aligned"));
    }
    Ok(())
}

/// Bytes that the caller gave.
pub(super) fn bytes<'a>(pointer: *const c_void, size: usize, what: &str) -> Result<&'a [u8]> {
    check_bytes(pointer, size, what)?;
    list(pointer.cast::<u8>(), size, what)
}

pub(super) fn bytes_mut<'a>(pointer: *mut c_void, size: usize, what: &str) -> Result<&'a mut [u8]> {
    check_bytes(pointer, size, what)?;
    list_mut(pointer.cast::<u8>(), size, what)
}

fn check_bytes(pointer: *const c_void, size: usize, what: &str) -> Result<()> {
    ensure!(!pointer.is_null() || size == 0, InvalidArgument, "{what} is NULL, but its size is {size} bytes");
    Ok(())
}

/// Dimensions that the caller gave: -1 and below are refused.
pub(super) fn sizes(dims: *const i64, rank: u32) -> Result<Vec<usize>> {
    let list = list(dims, rank as usize, "dims")?;
    let size =
        |(i, &d): (usize, &i64)| usize::try_from(d).map_err(|_| error!(InvalidArgument, "dims[{i}] is {d}, it cannot be negative"));
    list.iter().enumerate().map(size).collect()
}

/// A type that the caller gave for data of its own. What is wrong with it is no fault of a graph.
pub(super) fn tensor_type(r#type: u32, dims: *const i64, rank: u32) -> Result<TensorType> {
    let made = TensorType::checked(ElementType::from_number(r#type)?, &sizes(dims, rank)?);
    made.map_err(|e| Error { status: Status::InvalidArgument, ..e })
}

/// Count-then-fill: `count` is the room on the way in (with a buffer) and what there is on the way out. Too little room fills what fits.
pub(super) fn fill<T: Copy>(items: &[T], out: *mut T, count: *mut usize) -> Result<()> {
    wanted(count, "count")?;
    if !out.is_null() {
        // SAFETY: `count` was checked.
        let room = unsafe { *count };
        let n = room.min(items.len());
        list_mut(out, n, "the list")?.copy_from_slice(&items[..n]);
    }
    give(count, items.len());
    Ok(())
}

/// Text by count-then-fill: `size` counts bytes with the zero at the end.
pub(super) fn fill_text(text: &str, out: *mut c_char, size: *mut usize) -> Result<()> {
    let zeroed: Vec<c_char> = text.bytes().filter(|&b| b != 0).map(|b| b as c_char).chain([0]).collect();
    wanted(size, "size")?;
    if !out.is_null() {
        // SAFETY: `size` was checked.
        let room = unsafe { *size };
        if room > 0 {
            let n = room.min(zeroed.len());
            let target = list_mut(out, n, "the text")?;
            target.copy_from_slice(&zeroed[..n]);
            target[n - 1] = 0;
        }
    }
    give(size, zeroed.len());
    Ok(())
}

/// A value that const calls share and other calls have alone. A second exclusive call at the same time is refused, not raced.
pub(super) struct Exclusive<T> {
    value: RwLock<T>,
    /// A thread is in `wait`: new calls are refused, so that it gets its turn.
    awaited: AtomicBool,
}

impl<T> Exclusive<T> {
    pub fn new(value: T) -> Self {
        Self { value: RwLock::new(value), awaited: AtomicBool::new(false) }
    }

    pub fn read(&self) -> Result<RwLockReadGuard<'_, T>> {
        self.not_awaited()?;
        self.value.try_read().map_err(refused)
    }

    pub fn write(&self) -> Result<RwLockWriteGuard<'_, T>> {
        self.not_awaited()?;
        self.value.try_write().map_err(refused)
    }

    fn not_awaited(&self) -> Result<()> {
        if self.awaited.load(Ordering::Acquire) { Err(busy()) } else { Ok(()) }
    }

    /// Calls `wait` with the value and the time that is left, once the calls that other threads are in are over: they do not refuse this one.
    /// False if the time ran out. A second thread here is refused.
    pub fn wait(&self, timeout: Duration, wait: impl FnOnce(&mut T, Duration) -> Result<bool>) -> Result<bool> {
        if self.awaited.swap(true, Ordering::AcqRel) {
            return Err(busy());
        }
        let _turn = Turn(&self.awaited);
        let end = Instant::now().checked_add(timeout);
        let left = || end.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()));
        loop {
            match self.value.try_write() {
                Ok(mut value) => return wait(&mut value, left()),
                Err(TryLockError::WouldBlock) if left().is_zero() => return Ok(false),
                // Short against a run, long against a call that is refused.
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_micros(20).min(left())),
                Err(problem) => return Err(refused(problem)),
            }
        }
    }
}

/// Ends `Exclusive::wait`, whichever way it is left.
struct Turn<'a>(&'a AtomicBool);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

fn busy() -> Error {
    error!(Busy, "another thread is in a call on this object")
}

fn refused<G>(problem: TryLockError<G>) -> Error {
    match problem {
        TryLockError::WouldBlock => busy(),
        TryLockError::Poisoned(_) => error!(Internal, "an earlier call on this object failed inside: free it"),
    }
}
