use super::*;
use crate::tensor::BLOCK_TYPES;

/// For each type the hash of 256 blocks as `gguf.quants.dequantize` (gguf 0.19) expands them.
const EXPANDED: [(&str, u64); 23] = [
    ("q4_0", 0xca76dcdb8436e725),
    ("q4_1", 0x7d1f0f77d48acba6),
    ("q5_0", 0x7cff30f80612d325),
    ("q5_1", 0x801ffb80ffcac604),
    ("q8_0", 0x9c0d8a209434c265),
    ("q2_k", 0x7185945f82d44efb),
    ("q3_k", 0x1f15f9ddcc4c54e5),
    ("q4_k", 0x1b445a87d34170a1),
    ("q5_k", 0x8e4c0326bf2ca88b),
    ("q6_k", 0x9a54fedf805be8c3),
    ("q8_k", 0xf1ac5844fc244dd6),
    ("iq4_nl", 0xf905ae0186b11d65),
    ("iq4_xs", 0xf8b7f87132180a3d),
    ("iq2_xxs", 0x034b6d5ce28acde9),
    ("iq2_xs", 0xbdb7226a7f38b4a1),
    ("iq2_s", 0xfcacec150b24af55),
    ("iq3_xxs", 0xff06679c9de73385),
    ("iq3_s", 0x44450bde93af0905),
    ("iq1_s", 0xf03d0bba9ac0e465),
    ("iq1_m", 0x9b3a014f40115fe5),
    ("tq1_0", 0x9918c14de93d0325),
    ("tq2_0", 0x744043e5b665e325),
    ("mxfp4", 0xa30affe36754a325),
];

/// Bytes of SplitMix64 from state 1, with scales that are zero, subnormal, largest, infinite and NaN in the first blocks: at the
/// first and at the last two bytes, where most types keep them.
fn blocks(element: ElementType) -> Vec<u8> {
    let size = element.block_bytes();
    let mut state = 1u64;
    let mut bytes: Vec<u8> = Vec::new();
    while bytes.len() < 256 * size {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bytes.extend((z ^ (z >> 31)).to_le_bytes());
    }
    bytes.truncate(256 * size);
    for (block, scale) in bytes.chunks_exact_mut(size).zip([0x0000u16, 0x8001, 0x0001, 0x7bff, 0x7c00, 0x7e00]) {
        block[..2].copy_from_slice(&scale.to_le_bytes());
        block[size - 2..].copy_from_slice(&scale.to_le_bytes());
    }
    bytes
}

/// FNV-1a over whole words; every NaN counts as one value.
fn hash(values: &[f32]) -> u64 {
    values.iter().fold(0xcbf2_9ce4_8422_2325, |hash, v| {
        let bits = if v.is_nan() { 0x7fc0_0000 } else { v.to_bits() };
        (hash ^ u64::from(bits)).wrapping_mul(0x100_0000_01b3)
    })
}

#[test]
fn every_type_equals_gguf() {
    assert_eq!(EXPANDED.len(), BLOCK_TYPES.len());
    for (name, want) in EXPANDED {
        let element = ElementType::from_name(name).expect("a block type");
        let mut out = vec![0.0; 256 * element.block_elements()];
        dequantize(element, &blocks(element), &mut out);
        assert_eq!(hash(&out), want, "{name}");
    }
}

#[test]
fn codebooks_hold_whole_words() {
    let words = BLOCK_TYPES.map(|element| codebook_words(element).map_or(0, |w| w.len()));
    assert_eq!(words, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128, 256, 512, 128, 256, 1024, 1024, 0, 0, 0]);
}
