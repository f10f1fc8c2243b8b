//! Bytes to graphs and tensors, and back. Nothing in a file is believed before it is checked.

pub mod gguf;
mod gguf_write;
pub mod npy;
pub mod onnx;
pub mod safetensors;

use std::fs::File;
use std::io;
use std::path::Path;

use prost::bytes::Bytes;

/// Writes a file as a whole or not at all: what was there stays until the new one is complete.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let done = std::fs::write(&part, bytes).and_then(|()| std::fs::rename(&part, path));
    if done.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    done
}

/// A whole file in memory, read when touched.
fn map_file(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    if facts.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is read only. A program that shrinks the file meanwhile ends this process, as with every mapped file:
    // docs/embedding.md says so.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(Bytes::from_owner(map))
}
