//! Weights of -1, 0 and 1 times one scale for 256 elements.

use super::f16_at;
use super::k::pair_of_bits;

/// Digit `n` of a byte that holds a fraction b / 256 in base 3, its first digit being the most significant.
fn digit(byte: u8, n: u32) -> f32 {
    let rest = byte.wrapping_mul(3u8.pow(n));
    f32::from(((u16::from(rest) * 3) >> 8) as u8) - 1.0
}

/// 48 bytes with five digits each, 4 bytes with four; f16 d. Digit n of bytes 0 to 31 are elements 32 n.., of bytes 32 to 47
/// elements 160 + 16 n.., of bytes 48 to 51 elements 240 + 4 n...
pub fn tq1_0(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 52);
    for (e, o) in out.iter_mut().enumerate() {
        let (byte, n) = match e {
            0..160 => (e % 32, e / 32),
            160..240 => (32 + e % 16, (e - 160) / 16),
            _ => (48 + e % 4, (e - 240) / 4),
        };
        *o = d * digit(block[byte], n as u32);
    }
}

/// 64 bytes of two bits; f16 d. w = d * (q - 1)
pub fn tq2_0(block: &[u8], out: &mut [f32]) {
    let d = f16_at(block, 64);
    for (e, o) in out.iter_mut().enumerate() {
        *o = d * (f32::from(pair_of_bits(block, e)) - 1.0);
    }
}
