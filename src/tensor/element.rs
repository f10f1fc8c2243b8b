//! What one element, or one packed block of elements, is.

use crate::{Result, bail};

/// The type of a tensor's elements. Block types pack several weights of a row into a block of bytes, as GGUF files do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u32)]
pub enum ElementType {
    F32 = 1,
    F16,
    Bf16,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
    /// Two f32: real, then imaginary.
    C64,
    Q4_0 = 64,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Q8K,
    Iq4Nl,
    Iq4Xs,
    Iq2Xxs,
    Iq2Xs,
    Iq2S,
    Iq3Xxs,
    Iq3S,
    Iq1S,
    Iq1M,
    Tq1_0,
    Tq2_0,
    Mxfp4,
}

use ElementType::*;

/// Name, elements per block, bytes per block.
const TABLE: [(ElementType, &str, usize, usize); 37] = [
    (F32, "f32", 1, 4),
    (F16, "f16", 1, 2),
    (Bf16, "bf16", 1, 2),
    (F64, "f64", 1, 8),
    (I8, "i8", 1, 1),
    (I16, "i16", 1, 2),
    (I32, "i32", 1, 4),
    (I64, "i64", 1, 8),
    (U8, "u8", 1, 1),
    (U16, "u16", 1, 2),
    (U32, "u32", 1, 4),
    (U64, "u64", 1, 8),
    (Bool, "bool", 1, 1),
    (C64, "c64", 1, 8),
    (Q4_0, "q4_0", 32, 18),
    (Q4_1, "q4_1", 32, 20),
    (Q5_0, "q5_0", 32, 22),
    (Q5_1, "q5_1", 32, 24),
    (Q8_0, "q8_0", 32, 34),
    (Q2K, "q2_k", 256, 84),
    (Q3K, "q3_k", 256, 110),
    (Q4K, "q4_k", 256, 144),
    (Q5K, "q5_k", 256, 176),
    (Q6K, "q6_k", 256, 210),
    (Q8K, "q8_k", 256, 292),
    (Iq4Nl, "iq4_nl", 32, 18),
    (Iq4Xs, "iq4_xs", 256, 136),
    (Iq2Xxs, "iq2_xxs", 256, 66),
    (Iq2Xs, "iq2_xs", 256, 74),
    (Iq2S, "iq2_s", 256, 82),
    (Iq3Xxs, "iq3_xxs", 256, 98),
    (Iq3S, "iq3_s", 256, 110),
    (Iq1S, "iq1_s", 256, 50),
    (Iq1M, "iq1_m", 256, 56),
    (Tq1_0, "tq1_0", 256, 54),
    (Tq2_0, "tq2_0", 256, 66),
    (Mxfp4, "mxfp4", 32, 17),
];

/// Every packed block type.
pub const BLOCK_TYPES: [ElementType; 23] = [
    Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K, Q8K, Iq4Nl, Iq4Xs, Iq2Xxs, Iq2Xs, Iq2S, Iq3Xxs, Iq3S, Iq1S, Iq1M, Tq1_0,
    Tq2_0, Mxfp4,
];

impl ElementType {
    fn row(self) -> &'static (ElementType, &'static str, usize, usize) {
        TABLE.iter().find(|row| row.0 == self).expect("the table has a row for every type")
    }

    /// The spelling of the operator contract: "f32", "q4_k".
    pub fn name(self) -> &'static str {
        self.row().1
    }

    pub fn from_name(name: &str) -> Result<Self> {
        match TABLE.iter().find(|row| row.1 == name) {
            Some(row) => Ok(row.0),
            None => bail!(InvalidArgument, "unknown element type \"{name}\""),
        }
    }

    /// The type with this number in the C ABI.
    pub fn from_number(number: u32) -> Result<Self> {
        match TABLE.iter().find(|row| row.0 as u32 == number) {
            Some(row) => Ok(row.0),
            None => bail!(InvalidArgument, "unknown element type number {number}"),
        }
    }

    /// Elements in a block: 1 for a plain type.
    pub fn block_elements(self) -> usize {
        self.row().2
    }

    /// Bytes of a block, or of an element for a plain type.
    pub fn block_bytes(self) -> usize {
        self.row().3
    }

    /// Bytes of one element of a plain type.
    pub fn bytes(self) -> usize {
        debug_assert!(!self.is_block());
        self.block_bytes()
    }

    pub fn is_block(self) -> bool {
        self as u32 >= Q4_0 as u32
    }

    pub fn is_float(self) -> bool {
        matches!(self, F32 | F16 | Bf16 | F64)
    }

    /// f16 or bf16: computed in f32, rounded once.
    pub fn is_half(self) -> bool {
        matches!(self, F16 | Bf16)
    }

    pub fn is_signed_integer(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    pub fn is_integer(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
    }

    /// Smallest and largest value of an integer type (and 0, 1 for bool).
    pub fn integer_range(self) -> (i128, i128) {
        match self {
            Bool => (0, 1),
            I8 => (i8::MIN.into(), i8::MAX.into()),
            I16 => (i16::MIN.into(), i16::MAX.into()),
            I32 => (i32::MIN.into(), i32::MAX.into()),
            I64 => (i64::MIN.into(), i64::MAX.into()),
            U8 => (0, u8::MAX.into()),
            U16 => (0, u16::MAX.into()),
            U32 => (0, u32::MAX.into()),
            U64 => (0, u64::MAX.into()),
            _ => (0, 0),
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_round_trip() {
        for row in TABLE {
            assert_eq!(ElementType::from_name(row.1).ok(), Some(row.0));
            assert_eq!(ElementType::from_number(row.0 as u32).ok(), Some(row.0));
        }
        assert_eq!(BLOCK_TYPES.len(), TABLE.iter().filter(|row| row.0.is_block()).count());
    }
}
