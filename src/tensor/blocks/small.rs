//! Types with 32 elements a block. Four-bit fields: byte j holds element j in its low half and element j + 16 in its high half.

use super::{f16_at, u32_at};

/// Four bits of element `i` of the 16 bytes `qs`.
fn nibble(qs: &[u8], i: usize) -> u8 {
    if i < 16 { qs[i] & 15 } else { qs[i - 16] >> 4 }
}

/// Five bits of element `i`: the fifth is bit i of `high`.
fn five(high: u32, qs: &[u8], i: usize) -> u8 {
    nibble(qs, i) | (((high >> i) & 1) as u8) << 4
}

/// f16 d; 16 bytes. w = d * (q - 8)
pub fn q4_0(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (i, o) in out.iter_mut().enumerate() {
        *o = d * (f32::from(nibble(&block[2..], i)) - 8.0);
    }
}

/// f16 d, m; 16 bytes. w = d * q + m
pub fn q4_1(block: &[u8], out: &mut [f32]) {
    let (d, m) = (f16_at(block, 0), f16_at(block, 2));
    for (i, o) in out.iter_mut().enumerate() {
        *o = d * f32::from(nibble(&block[4..], i)) + m;
    }
}

/// f16 d; u32 of fifth bits; 16 bytes. w = d * (q - 16)
pub fn q5_0(block: &[u8], out: &mut [f32]) {
    let (d, high) = (f16_at(block, 0), u32_at(block, 2));
    for (i, o) in out.iter_mut().enumerate() {
        *o = d * (f32::from(five(high, &block[6..], i)) - 16.0);
    }
}

/// f16 d, m; u32 of fifth bits; 16 bytes. w = d * q + m
pub fn q5_1(block: &[u8], out: &mut [f32]) {
    let (d, m, high) = (f16_at(block, 0), f16_at(block, 2), u32_at(block, 4));
    for (i, o) in out.iter_mut().enumerate() {
        *o = d * f32::from(five(high, &block[8..], i)) + m;
    }
}

/// f16 d; 32 i8. w = d * q
pub fn q8_0(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (o, &q) in out.iter_mut().zip(&block[2..]) {
        *o = f32::from(q as i8) * d;
    }
}

/// What four bits of the iq4 types mean.
pub(super) const IQ4_VALUES: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];

/// f16 d; 16 bytes. w = d * value(q)
pub fn iq4_nl(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (i, o) in out.iter_mut().enumerate() {
        *o = d * f32::from(IQ4_VALUES[usize::from(nibble(&block[2..], i))]);
    }
}

/// Twice the values of E2M1, so that they are integers; the scale is halved instead.
const TWICE_E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// E8M0 e; 16 bytes of E2M1. w = 2^(e-127) * value
pub fn mxfp4(block: &[u8], out: &mut [f32]) {
    // 2^(e-128): below e = 2 it is subnormal.
    let e = u32::from(block[0]);
    let d = f32::from_bits(if e < 2 { 0x0020_0000 << e } else { (e - 1) << 23 });
    for (i, o) in out.iter_mut().enumerate() {
        *o = d * f32::from(TWICE_E2M1[usize::from(nibble(&block[1..], i))]);
    }
}
