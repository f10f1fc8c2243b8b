//! Packs SPIR-V; src/kernels/unpack.rs says how, and takes it apart.

use std::io::Write as _;

use crate::unpack::{HEADER, unpack};

pub fn pack(code: &[u32]) -> Vec<u8> {
    let mut lists: [Vec<u8>; 4] = Default::default();
    let (mut rest, mut last) = (&code[HEADER..], 0u32);
    while let [first, ..] = rest {
        let (length, opcode) = (first >> 16, first & 0xffff);
        put(&mut lists[0], opcode);
        put(&mut lists[0], length);
        for (at, &word) in rest.iter().enumerate().take(length as usize).skip(1) {
            match at {
                1 if length > 2 => put(&mut lists[1], word),
                2 => {
                    put(&mut lists[2], signed(word.wrapping_sub(last)));
                    last = word;
                }
                _ => put(&mut lists[3], signed(last.wrapping_sub(word))),
            }
        }
        rest = &rest[length as usize..];
    }
    let lengths = lists[..3].iter().map(|list| list.len() as u32);
    let mut bytes: Vec<u8> = code[..HEADER].iter().copied().chain(lengths).flat_map(u32::to_le_bytes).collect();
    bytes.extend(lists.concat());
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::best());
    let packed = encoder.write_all(&bytes).and_then(|()| encoder.finish()).expect("memory takes all that is written");
    assert!(unpack(&packed, code.len()) == code, "src/kernels/unpack.rs gives back what was packed");
    packed
}

/// Seven bits a byte, the lowest first.
fn put(list: &mut Vec<u8>, mut value: u32) {
    while value >= 128 {
        list.push((value & 127 | 128) as u8);
        value >>= 7;
    }
    list.push(value as u8);
}

/// The sign in the lowest bit.
fn signed(difference: u32) -> u32 {
    (difference << 1) ^ (difference >> 31).wrapping_neg()
}
