//! Packed block types, expanded. The layouts are those of the GGUF format; results equal the PyPI package `gguf` bit for bit.

use half::f16;

use super::ElementType;
use super::ElementType::*;

mod codebook;
mod grids;
mod k;
mod small;
mod ternary;

/// Expands whole blocks: `out` holds as many elements as the blocks of `bytes` do. Panics if the lengths do not fit, or if
/// `element` is no block type.
pub fn dequantize(element: ElementType, bytes: &[u8], out: &mut [f32]) {
    let (count, size) = (element.block_elements(), element.block_bytes());
    assert!(
        bytes.len().is_multiple_of(size) && bytes.len() / size * count == out.len(),
        "{} bytes of {element} into {} elements",
        bytes.len(),
        out.len()
    );
    let block = decoder(element);
    for (bytes, out) in bytes.chunks_exact(size).zip(out.chunks_exact_mut(count)) {
        block(bytes, out);
    }
}

/// The function that expands one block.
fn decoder(element: ElementType) -> fn(&[u8], &mut [f32]) {
    match element {
        Q4_0 => small::q4_0,
        Q4_1 => small::q4_1,
        Q5_0 => small::q5_0,
        Q5_1 => small::q5_1,
        Q8_0 => small::q8_0,
        Iq4Nl => small::iq4_nl,
        Mxfp4 => small::mxfp4,
        Q2K => k::q2_k,
        Q3K => k::q3_k,
        Q4K => k::q4_k,
        Q5K => k::q5_k,
        Q6K => k::q6_k,
        Q8K => k::q8_k,
        Tq1_0 => ternary::tq1_0,
        Tq2_0 => ternary::tq2_0,
        Iq4Xs => codebook::iq4_xs,
        Iq2Xxs => codebook::iq2_xxs,
        Iq2Xs => codebook::iq2_xs,
        Iq2S => codebook::iq2_s,
        Iq3Xxs => codebook::iq3_xxs,
        Iq3S => codebook::iq3_s,
        Iq1S => codebook::iq1_s,
        Iq1M => codebook::iq1_m,
        other => unreachable!("{other} is no block type"),
    }
}

/// The codebook that the kernels of this type read: entries of 16 bits, two a word, low half first.
pub fn codebook_words(element: ElementType) -> Option<Vec<u32>> {
    let entries: &[u16] = match element {
        Iq2Xxs => &grids::IQ2_XXS,
        Iq2Xs => &grids::IQ2_XS,
        Iq2S => &grids::IQ2_S,
        Iq3Xxs => &grids::IQ3_XXS,
        Iq3S => &grids::IQ3_S,
        Iq1S | Iq1M => &grids::IQ1,
        _ => return None,
    };
    Some(entries.chunks_exact(2).map(|e| u32::from(e[0]) | u32::from(e[1]) << 16).collect())
}

fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from(u16_at(block, at)) | u32::from(u16_at(block, at + 2)) << 16
}

fn f16_at(block: &[u8], at: usize) -> f32 {
    f16::from_bits(u16_at(block, at)).to_f32()
}

#[cfg(test)]
mod tests;
