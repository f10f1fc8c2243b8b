//! Structs that begin with their size: what every call that takes one reads it with.

use super::builders::{
    caldera_attention_options, caldera_conv_options, caldera_pool_options, caldera_resize_options, caldera_roi_align_options,
};
use super::device::caldera_device_options;
use super::executable::{caldera_compile_options, caldera_stats};
use super::gguf::caldera_model_options;
use crate::{Result, ensure};

/// A plain struct of C, for which all zeros is valid, that begins with `uint32_t struct_size` and may grow at its end.
///
/// # Safety
/// Any bytes are a valid value.
pub(super) unsafe trait Versioned: Copy {
    /// Its size in the first release: no program was built with a shorter one.
    const FIRST: usize;
}

/// Structs with the last field that the first release had.
macro_rules! versioned {
    ($($name:ident { $last:ident: $ty:ty })*) => {$(
        // SAFETY: numbers and pointers that are checked before they are followed.
        unsafe impl Versioned for $name {
            const FIRST: usize = (std::mem::offset_of!($name, $last) + size_of::<$ty>()).next_multiple_of(align_of::<$name>());
        }
    )*};
}

versioned! {
    caldera_device_options { cache_path: usize }
    caldera_compile_options { seed: u64 }
    caldera_stats { port_bytes: u64 }
    caldera_model_options { scores: u32 }
    caldera_attention_options { softcap: f64 }
    caldera_conv_options { act: u32 }
    caldera_pool_options { dilation: [i64; 3] }
    caldera_resize_options { cubic_a: f64 }
    caldera_roi_align_options { spatial_scale: f64 }
}

/// Reads a struct that may be older (smaller) than this version's: what it lacks is zero. None for NULL.
pub(super) fn options<T: Versioned>(pointer: *const T, what: &str) -> Result<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    ensure!(pointer.is_aligned(), InvalidArgument, "{what} is not aligned");
    // SAFETY: every such struct begins with its size, as the header says.
    let size = unsafe { *pointer.cast::<u32>() } as usize;
    let known = size_of::<T>();
    ensure!(
        size <= known,
        InvalidArgument,
        "{what}: struct_size is {size}, this library knows {known}: it is older than the program's header"
    );
    ensure!(
        size >= T::FIRST && size.is_multiple_of(align_of::<T>()),
        InvalidArgument,
        "{what}: struct_size is {size}, it must be {known}: start from the _INIT macro"
    );
    let mut out = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: the caller's struct holds `size` bytes, no more than `T`; all zeros is a valid `T`.
    unsafe {
        std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), out.as_mut_ptr().cast::<u8>(), size);
        Ok(Some(out.assume_init()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A struct that had `first` alone in the first release.
    #[derive(Clone, Copy, Default)]
    #[repr(C)]
    struct Grown {
        struct_size: u32,
        first: u32,
        second: u64,
        third: u64,
    }

    versioned! { Grown { first: u32 } }

    #[test]
    fn what_an_older_struct_lacks_is_zero() {
        for size in 0..64 {
            let given = Grown { struct_size: size, first: 1, second: 2, third: 3 };
            let read = options(&given, "options").map(|o| o.map(|o| (o.first, o.second, o.third)));
            let want = match size {
                8 => Some((1, 0, 0)),
                16 => Some((1, 2, 0)),
                24 => Some((1, 2, 3)),
                _ => None,
            };
            assert_eq!(read.ok().flatten(), want, "{size}");
        }
        assert!(options(std::ptr::null::<Grown>(), "options").is_ok_and(|o| o.is_none()));
    }
}
