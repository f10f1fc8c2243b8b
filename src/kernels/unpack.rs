//! SPIR-V as it ships. build.rs packs it (build/pack.rs) and checks that this gives it back.
//!
//! A deflate stream holds the five words of the module's header, the bytes of each of the first three lists below, then the four lists: numbers
//! of seven bits a byte, the last byte of a number below 128. Numbers of one kind stand together, and an id, which is near those around it, is a
//! small difference: the whole is a third smaller than the words deflated.
//!   0  of each instruction its opcode and its length
//!   1  its first operand (the type of the result), where it has several
//!   2  its second operand (the result), less that of the instruction before
//!   3  its other operands, each taken from the last number of list 2

use std::io::Read as _;

/// Words of a module before its instructions.
pub const HEADER: usize = 5;

/// The module of `words` words that is packed there.
pub fn unpack(packed: &[u8], words: usize) -> Vec<u32> {
    let mut bytes = Vec::new();
    flate2::read::DeflateDecoder::new(packed).read_to_end(&mut bytes).expect("build.rs packed it");
    let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|k| bytes[4 * i + k]));
    let mut out: Vec<u32> = Vec::with_capacity(words);
    out.extend((0..HEADER).map(word));
    let mut start = 4 * (HEADER + 3);
    let mut lists: [List; 4] = std::array::from_fn(|i| {
        let list = List(&bytes[start..]);
        start += if i < 3 { word(HEADER + i) as usize } else { 0 };
        list
    });
    let mut last = 0;
    while out.len() < words {
        let (opcode, length) = (lists[0].next(), lists[0].next());
        out.push(length << 16 | opcode);
        for at in 1..length {
            out.push(match at {
                1 if length > 2 => lists[1].next(),
                2 => {
                    last = lists[2].signed().wrapping_add(last);
                    last
                }
                _ => last.wrapping_sub(lists[3].signed()),
            });
        }
    }
    out
}

struct List<'a>(&'a [u8]);

impl List<'_> {
    fn next(&mut self) -> u32 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.0[0];
            self.0 = &self.0[1..];
            value |= u32::from(byte & 127) << shift;
            shift += 7;
            if byte < 128 {
                return value;
            }
        }
    }

    /// A number whose sign is its lowest bit.
    fn signed(&mut self) -> u32 {
        let value = self.next();
        (value >> 1) ^ (value & 1).wrapping_neg()
    }
}
