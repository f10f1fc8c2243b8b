//! Writing GGUF files: for tests and for synthetic models to measure with.

use std::io::{self, Write};

use super::gguf::{Kind, Value, type_number};
use crate::tensor::TensorType;
use crate::{Error, Result, ensure, error};

const ALIGNMENT: usize = 32;

/// Writes a file of version 3. `data` gives the bytes of each tensor in turn, so that a model need not be in memory at once. Numbers
/// of the metadata are written as u32, i32 and f32 where they fit, as engines write them.
pub fn write_gguf(
    out: &mut impl Write,
    metadata: &[(&str, Value)],
    tensors: &[(String, TensorType)],
    mut data: impl FnMut(usize) -> Result<Vec<u8>>,
) -> Result<()> {
    let failed = |e: io::Error| error!(File, "cannot write: {e}");
    let head = header(metadata, tensors)?;
    out.write_all(&head).map_err(failed)?;
    for (k, (name, ty)) in tensors.iter().enumerate() {
        let bytes = data(k)?;
        ensure!(
            bytes.len() == ty.bytes(),
            InvalidArgument,
            "tensor \"{name}\": got {} bytes, {ty} needs {}",
            bytes.len(),
            ty.bytes()
        );
        out.write_all(&bytes).map_err(failed)?;
        out.write_all(&vec![0; padding(bytes.len())]).map_err(failed)?;
    }
    Ok(())
}

fn padding(bytes: usize) -> usize {
    bytes.next_multiple_of(ALIGNMENT) - bytes
}

fn header(metadata: &[(&str, Value)], tensors: &[(String, TensorType)]) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    head.extend_from_slice(b"GGUF");
    head.extend_from_slice(&3u32.to_le_bytes());
    head.extend_from_slice(&(tensors.len() as u64).to_le_bytes());
    head.extend_from_slice(&(metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        text(&mut head, key);
        put(&mut head, value);
    }
    let mut offset = 0;
    for (name, ty) in tensors {
        text(&mut head, name);
        head.extend_from_slice(&(ty.rank() as u32).to_le_bytes());
        ty.dims.iter().rev().for_each(|&d| head.extend_from_slice(&(d as u64).to_le_bytes()));
        let number = type_number(ty.element)
            .ok_or_else(|| -> Error { error!(Unsupported, "tensor \"{name}\": {} is no type of GGUF", ty.element) })?;
        head.extend_from_slice(&number.to_le_bytes());
        head.extend_from_slice(&(offset as u64).to_le_bytes());
        offset += ty.bytes().next_multiple_of(ALIGNMENT);
    }
    head.resize(head.len() + padding(head.len()), 0);
    Ok(head)
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn put(out: &mut Vec<u8>, value: &Value) {
    let kind = |out: &mut Vec<u8>, kind: Kind| out.extend_from_slice(&(kind as u32).to_le_bytes());
    match value {
        Value::Uint(v) => match u32::try_from(*v) {
            Ok(v) => {
                kind(out, Kind::U32);
                out.extend_from_slice(&v.to_le_bytes());
            }
            Err(_) => {
                kind(out, Kind::U64);
                out.extend_from_slice(&v.to_le_bytes());
            }
        },
        Value::Int(v) => match i32::try_from(*v) {
            Ok(v) => {
                kind(out, Kind::I32);
                out.extend_from_slice(&v.to_le_bytes());
            }
            Err(_) => {
                kind(out, Kind::I64);
                out.extend_from_slice(&v.to_le_bytes());
            }
        },
        Value::Float(v) => {
            kind(out, Kind::F32);
            out.extend_from_slice(&(*v as f32).to_le_bytes());
        }
        Value::Bool(v) => {
            kind(out, Kind::Bool);
            out.push((*v).into());
        }
        Value::Text(v) => {
            kind(out, Kind::Text);
            text(out, v);
        }
        Value::Array(v) => {
            kind(out, Kind::Array);
            kind(out, v.kind());
            out.extend_from_slice(&(v.len() as u64).to_le_bytes());
            out.extend_from_slice(v.bytes());
        }
    }
}
