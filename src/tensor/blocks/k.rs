//! The k types: 256 elements a block, cut into parts of 16 or 32 with small integer scales of their own.

use super::f16_at;

/// Element e's place in fields of two bits: halves of 128 elements share 32 bytes, 32 elements a pair of bits.
pub(super) fn pair_of_bits(qs: &[u8], e: usize) -> u8 {
    qs[e / 128 * 32 + e % 32] >> (e % 128 / 32 * 2) & 3
}

/// 16 bytes: scale (low half) and minimum (high half) of 16 elements each; 64 bytes of two bits; f16 d, dmin.
/// w = d * scale * q - dmin * minimum
pub fn q2_k(block: &[u8], out: &mut [f32]) {
    let (d, dmin) = (f16_at(block, 80), f16_at(block, 82));
    for (e, o) in out.iter_mut().enumerate() {
        let part = block[e / 16];
        *o = d * f32::from(part & 15) * f32::from(pair_of_bits(&block[16..], e)) - dmin * f32::from(part >> 4);
    }
}

/// 32 bytes of third bits (bit e / 32 of byte e % 32), 64 bytes of two bits, 12 bytes with 16 scales of six bits, f16 d.
/// w = d * (scale - 32) * (q - 4)
pub fn q3_k(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 108);
    for (e, o) in out.iter_mut().enumerate() {
        let (part, scales) = (e / 16, &block[96..108]);
        let low = scales[part % 8] >> (part / 8 * 4) & 15;
        let high = scales[8 + part % 4] >> (part / 4 * 2) & 3;
        let third = block[e % 32] >> (e / 32) & 1;
        let q = f32::from(pair_of_bits(&block[32..], e) | third << 2) - 4.0;
        *o = d * (f32::from(low | high << 4) - 32.0) * q;
    }
}

/// Scale and minimum, six bits each, of part j of 8: 12 bytes, the first 8 with parts 0 to 3 in their low six bits and the two high
/// bits of parts 4 to 7 above, the last 4 with the low four bits of parts 4 to 7.
fn scale_and_minimum(bytes: &[u8], j: usize) -> [f32; 2] {
    let [scale, minimum] = if j < 4 {
        [bytes[j] & 63, bytes[j + 4] & 63]
    } else {
        let low = bytes[j + 4];
        [(low & 15) | (bytes[j - 4] >> 6) << 4, (low >> 4) | (bytes[j] >> 6) << 4]
    };
    [scale.into(), minimum.into()]
}

/// Four bits of element e: 64 elements share 32 bytes, the first 32 of them in the low halves.
fn four(qs: &[u8], e: usize) -> u8 {
    qs[e / 64 * 32 + e % 32] >> (e % 64 / 32 * 4) & 15
}

/// f16 d, dmin; 12 bytes of scales and minimums; 128 bytes of four bits. w = d * scale * q - dmin * minimum
pub fn q4_k(block: &[u8], out: &mut [f32]) {
    let (d, dmin) = (f16_at(block, 0), f16_at(block, 2));
    for (e, o) in out.iter_mut().enumerate() {
        let [scale, minimum] = scale_and_minimum(&block[4..16], e / 32);
        *o = d * scale * f32::from(four(&block[16..], e)) - dmin * minimum;
    }
}

/// As q4_k with 32 bytes of fifth bits (bit e / 32 of byte e % 32) before the four bits.
pub fn q5_k(block: &[u8], out: &mut [f32]) {
    let (d, dmin) = (f16_at(block, 0), f16_at(block, 2));
    for (e, o) in out.iter_mut().enumerate() {
        let [scale, minimum] = scale_and_minimum(&block[4..16], e / 32);
        let fifth = block[16 + e % 32] >> (e / 32) & 1;
        *o = d * scale * f32::from(four(&block[48..], e) | fifth << 4) - dmin * minimum;
    }
}

/// 128 bytes of four bits, 64 bytes of two more bits (as `pair_of_bits`), 16 i8 scales, f16 d. w = d * scale * (q - 32)
pub fn q6_k(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 208);
    for (e, o) in out.iter_mut().enumerate() {
        // 128 elements share 64 bytes, the first 64 of them in the low halves.
        let low = block[e / 128 * 64 + e % 64] >> (e % 128 / 64 * 4) & 15;
        let q = f32::from(low | pair_of_bits(&block[128..], e) << 4) - 32.0;
        *o = d * f32::from(block[192 + e / 16] as i8) * q;
    }
}

/// f32 d; 256 i8; sums of 16 each, not needed here. w = d * q
pub fn q8_k(block: &[u8], out: &mut [f32]) {
    let d = f32::from_bits(super::u32_at(block, 0));
    for (o, &q) in out.iter_mut().zip(&block[4..]) {
        *o = d * f32::from(q as i8);
    }
}
