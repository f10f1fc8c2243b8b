//! safetensors files, memory-mapped.

use std::path::Path;

use prost::bytes::Bytes;
use safetensors::tensor::Metadata;
use safetensors::{Dtype, SafeTensors};

use super::map_file;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, bail, ensure, error};

/// An opened file. The sizes in it were checked against the file.
#[derive(Debug)]
pub struct SafetensorsFile {
    bytes: Bytes,
    metadata: Metadata,
    /// Where the data starts.
    start: usize,
}

impl SafetensorsFile {
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = map_file(path).map_err(|e| error!(File, "{}: {e}", path.display()))?;
        Self::parse(bytes).map_err(|e| e.within(path.display()))
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::parse(Bytes::copy_from_slice(bytes))
    }

    fn parse(bytes: Bytes) -> Result<Self> {
        let (header, metadata) = SafeTensors::read_metadata(&bytes).map_err(|e| error!(File, "not a safetensors file: {e}"))?;
        let start = 8 + header;
        let data = bytes.len().saturating_sub(start);
        for (name, info) in metadata.tensors() {
            let (from, to) = info.data_offsets;
            ensure!(from <= to && to <= data, File, "tensor \"{name}\" is at {from}..{to} of {data} bytes of data");
        }
        Ok(Self { bytes, metadata, start })
    }

    /// Names of the tensors, in the order of their data.
    pub fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    /// Type and bytes of a tensor.
    pub fn tensor(&self, name: &str) -> Result<(TensorType, &[u8])> {
        let Some(info) = self.metadata.info(name) else { bail!(InvalidArgument, "there is no tensor \"{name}\" in the file") };
        let of = |e: crate::Error| e.within(format!("tensor \"{name}\""));
        let ty = TensorType::checked(element_type(info.dtype).map_err(of)?, &info.shape).map_err(of)?;
        let bytes = &self.bytes[self.start + info.data_offsets.0..self.start + info.data_offsets.1];
        ensure!(bytes.len() == ty.bytes(), File, "tensor \"{name}\": got {} bytes, {ty} needs {}", bytes.len(), ty.bytes());
        Ok((ty, bytes))
    }

    /// A copy of a tensor.
    pub fn read(&self, name: &str) -> Result<Tensor> {
        let (ty, bytes) = self.tensor(name)?;
        Tensor::from_bytes(ty, bytes)
    }
}

fn element_type(dtype: Dtype) -> Result<ElementType> {
    Ok(match dtype {
        Dtype::BOOL => ElementType::Bool,
        Dtype::U8 => ElementType::U8,
        Dtype::I8 => ElementType::I8,
        Dtype::U16 => ElementType::U16,
        Dtype::I16 => ElementType::I16,
        Dtype::U32 => ElementType::U32,
        Dtype::I32 => ElementType::I32,
        Dtype::U64 => ElementType::U64,
        Dtype::I64 => ElementType::I64,
        Dtype::F16 => ElementType::F16,
        Dtype::BF16 => ElementType::Bf16,
        Dtype::F32 => ElementType::F32,
        Dtype::F64 => ElementType::F64,
        Dtype::C64 => ElementType::C64,
        // Floats of 8 bits are weights of DequantMatMul, which takes them as bytes.
        Dtype::F8_E4M3 | Dtype::F8_E5M2 | Dtype::F8_E8M0 => ElementType::U8,
        other => bail!(Unsupported, "element type {other}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    #[test]
    fn tensors_are_found_and_sizes_checked() {
        let good = file(
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]}}"#,
            &[1; 10],
        );
        let read = SafetensorsFile::from_bytes(&good).expect("reads");
        assert_eq!(read.names(), ["a", "b"]);
        assert_eq!(read.read("a").expect("there").dims(), [2]);
        assert_eq!(read.tensor("b").expect("there").0, TensorType::new(ElementType::Bf16, []));
        assert!(read.tensor("c").is_err());
        for length in 0..good.len() {
            let cut = SafetensorsFile::from_bytes(&good[..length]);
            assert!(cut.is_err(), "cut at {length}");
        }
        for header in [
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,7]}}"#,
            r#"{"a":{"dtype":"F32","shape":[18446744073709551615,2],"data_offsets":[0,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}"#,
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}"#,
            r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551615]}}"#,
        ] {
            let read = SafetensorsFile::from_bytes(&file(header, &[0; 8]));
            assert!(read.and_then(|f| f.read("a")).is_err(), "{header}");
        }
        assert!(SafetensorsFile::from_bytes(&u64::MAX.to_le_bytes()).is_err());
    }
}
