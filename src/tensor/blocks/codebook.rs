//! Types whose elements are looked up: 256 elements a block, in vectors of eight (iq3: two of four) from a codebook.

use super::grids;
use super::small::IQ4_VALUES;
use super::{f16_at, u16_at, u32_at};

/// f16 d, u16 of high scale bits, 4 bytes of low scale bits, 128 bytes of four bits: 16 bytes for 32 elements, the first 16 of
/// them in the low halves. w = d * (scale - 32) * value(q)
pub fn iq4_xs(block: &[u8], out: &mut [f32]) {
    let (d, high) = (f16_at(block, 0), u16_at(block, 2));
    for (e, o) in out.iter_mut().enumerate() {
        let part = e / 32;
        let low = block[4 + part / 2] >> (part % 2 * 4) & 15;
        let scale = f32::from(low | ((high >> (2 * part) & 3) as u8) << 4) - 32.0;
        let q = block[8 + part * 16 + e % 16] >> (e % 32 / 16 * 4) & 15;
        *o = d * scale * f32::from(IQ4_VALUES[usize::from(q)]);
    }
}

/// Field `i` of an iq2 entry.
fn two_bits(entry: u16, i: usize) -> f32 {
    [8.0, 25.0, 43.0, 0.0][usize::from(entry >> (2 * i) & 3)]
}

/// Seven signs, and an eighth that makes their number even.
fn even_signs(seven: u32) -> u8 {
    (seven | (seven.count_ones() & 1) << 7) as u8
}

/// out = scale * value, negated where the sign bit is set.
fn signed(out: &mut [f32], scale: f32, signs: u8, value: impl Fn(usize) -> f32) {
    for (i, o) in out.iter_mut().enumerate() {
        let w = scale * value(i);
        *o = if signs >> i & 1 == 1 { -w } else { w };
    }
}

/// f16 d; for 32 elements 8 bytes: four indices, then u32 of 4 x 7 signs and four bits of scale. w = d * (scale + 1/2) / 4 * value
pub fn iq2_xxs(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (g, out) in out.chunks_exact_mut(8).enumerate() {
        let at = 2 + g / 4 * 8;
        let word = u32_at(block, at + 4);
        let entry = grids::IQ2_XXS[usize::from(block[at + g % 4])];
        let scale = d * (0.5 + (word >> 28) as f32) * 0.25;
        signed(out, scale, even_signs(word >> (7 * (g % 4)) & 127), |i| two_bits(entry, i));
    }
}

/// f16 d; 32 u16 of index (9 bits) and signs (7); 8 bytes of scales, four bits for 16 elements. w as iq2_xxs.
pub fn iq2_xs(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (g, out) in out.chunks_exact_mut(8).enumerate() {
        let word = u16_at(block, 2 + 2 * g);
        let entry = grids::IQ2_XS[usize::from(word & 511)];
        let scale = d * (0.5 + f32::from(block[66 + g / 4] >> (g / 2 % 2 * 4) & 15)) * 0.25;
        signed(out, scale, even_signs(u32::from(word >> 9)), |i| two_bits(entry, i));
    }
}

/// f16 d; 32 bytes of low index bits; 32 bytes of signs; 8 bytes of two high index bits; 8 bytes of scales. w as iq2_xxs.
pub fn iq2_s(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (g, out) in out.chunks_exact_mut(8).enumerate() {
        let high = usize::from(block[66 + g / 4] >> (g % 4 * 2) & 3);
        let entry = grids::IQ2_S[usize::from(block[2 + g]) | high << 8];
        let scale = d * (0.5 + f32::from(block[74 + g / 4] >> (g / 2 % 2 * 4) & 15)) * 0.25;
        signed(out, scale, block[34 + g], |i| two_bits(entry, i));
    }
}

/// f16 d; 64 indices of four elements; for 32 elements u32 of 4 x 7 signs and four bits of scale. w = d * (scale + 1/2) / 2 * value
pub fn iq3_xxs(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (g, out) in out.chunks_exact_mut(8).enumerate() {
        let word = u32_at(block, 66 + g / 4 * 4);
        let entries = [0, 1].map(|h| grids::IQ3_XXS[usize::from(block[2 + 2 * g + h])]);
        let scale = d * (0.5 + (word >> 28) as f32) * 0.5;
        signed(out, scale, even_signs(word >> (7 * (g % 4)) & 127), |i| {
            [4.0, 12.0, 20.0, 28.0, 36.0, 44.0, 52.0, 62.0][usize::from(entries[i / 4] >> (i % 4 * 4) & 7)]
        });
    }
}

/// f16 d; 64 bytes of low index bits; 8 bytes of high index bits; 32 bytes of signs; 4 bytes of scales, four bits for 32 elements.
/// w = d * (2 scale + 1) * value
pub fn iq3_s(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (g, out) in out.chunks_exact_mut(8).enumerate() {
        let entries = [2 * g, 2 * g + 1].map(|j| {
            let high = usize::from(block[66 + j / 8] >> (j % 8) & 1);
            grids::IQ3_S[usize::from(block[2 + j]) | high << 8]
        });
        let scale = d * (1.0 + 2.0 * f32::from(block[106 + g / 8] >> (g / 4 % 2 * 4) & 15));
        signed(out, scale, block[74 + g], |i| f32::from(2 * (entries[i / 4] >> (i % 4 * 4) & 7) + 1));
    }
}

/// out = scale * (value + delta), values -1, 0, 1.
fn shifted(out: &mut [f32], scale: f32, delta: f32, entry: u16) {
    for (i, o) in out.iter_mut().enumerate() {
        *o = scale * (f32::from(entry >> (2 * i) & 3) - 1.0 + delta);
    }
}

fn delta(negative: bool) -> f32 {
    if negative { -0.125 } else { 0.125 }
}

/// f16 d; 32 bytes of low index bits; for 32 elements u16 of 4 x 3 high index bits, three bits of scale, sign of the shift.
/// w = d * (2 scale + 1) * (value +- 1/8)
pub fn iq1_s(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 0);
    for (g, out) in out.chunks_exact_mut(8).enumerate() {
        let word = u16_at(block, 34 + g / 4 * 2);
        let entry = grids::IQ1[usize::from(block[2 + g]) | usize::from(word >> (3 * (g % 4)) & 7) << 8];
        shifted(out, d * f32::from(2 * (word >> 12 & 7) + 1), delta(word & 0x8000 != 0), entry);
    }
}

/// 32 bytes of low index bits; 16 bytes with three high index bits and the sign of the shift for 8 elements; four u16 of 4 x 3
/// bits of scale, for 16 elements each, whose top four bits together are the f16 d. w as iq1_s.
pub fn iq1_m(block: &[u8], out: &mut [f32]) {
    let words = [0, 1, 2, 3].map(|i| u16_at(block, 48 + 2 * i));
    let bits = (0..4).fold(0, |bits, i| bits | (words[i] >> 12) << (4 * i));
    let d = half::f16::from_bits(bits).to_f32();
    for (g, out) in out.chunks_exact_mut(8).enumerate() {
        let high = block[32 + g / 2] >> (g % 2 * 4) & 15;
        let entry = grids::IQ1[usize::from(block[g]) | usize::from(high & 7) << 8];
        let scale = words[g / 8] >> (3 * (g / 2 % 4)) & 7;
        shifted(out, d * f32::from(2 * scale + 1), delta(high & 8 != 0), entry);
    }
}
