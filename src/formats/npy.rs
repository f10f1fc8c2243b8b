//! NumPy files: npy read and written, npz read.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use crate::tensor::{ElementType, Tensor, TensorType, row_strides};
use crate::{Result, bail, ensure, error};

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// A header is a line of text; a longer one is no header.
const MAX_HEADER: usize = 1 << 16;

/// Reads an npy file.
pub fn read_npy(path: impl AsRef<Path>) -> Result<Tensor> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|e| error!(File, "{}: {e}", path.display()))?;
    from_reader(&mut BufReader::new(file)).map_err(|e| e.within(path.display()))
}

/// Writes an npy file, version 1.0. bf16, which NumPy lacks, is written as items of two bytes.
pub fn write_npy(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    let path = path.as_ref();
    let bytes = to_bytes(tensor).map_err(|e| e.within(path.display()))?;
    std::fs::write(path, bytes).map_err(|e| error!(File, "{}: {e}", path.display()))
}

/// Reads all arrays of an npz file, with their names.
pub fn read_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|e| error!(File, "{}: {e}", path.display()))?;
    archive(BufReader::new(file)).map_err(|e| e.within(path.display()))
}

fn archive(file: impl Read + Seek) -> Result<Vec<(String, Tensor)>> {
    let mut archive = zip::ZipArchive::new(file).map_err(|e| error!(File, "not an npz file: {e}"))?;
    let mut out = Vec::new();
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(|e| error!(File, "entry {i}: {e}"))?;
        let name = entry.name().map_err(|e| error!(File, "entry {i}: {e}"))?.into_owned();
        let name = name.strip_suffix(".npy").unwrap_or(&name).to_string();
        let tensor = from_reader(&mut entry).map_err(|e| e.within(&name))?;
        out.push((name, tensor));
    }
    Ok(out)
}

/// Reads one array.
pub fn from_reader(reader: &mut impl Read) -> Result<Tensor> {
    let mut start = [0; 8];
    exact(reader, &mut start)?;
    ensure!(&start[..6] == MAGIC, File, "not an npy file");
    let length = match start[6] {
        1 => {
            let mut bytes = [0; 2];
            exact(reader, &mut bytes)?;
            u16::from_le_bytes(bytes) as usize
        }
        2 | 3 => {
            let mut bytes = [0; 4];
            exact(reader, &mut bytes)?;
            u32::from_le_bytes(bytes) as usize
        }
        other => bail!(Unsupported, "npy version {other}"),
    };
    ensure!(length <= MAX_HEADER, File, "a header of {length} bytes");
    let mut header = vec![0; length];
    exact(reader, &mut header)?;
    let header = Header::parse(std::str::from_utf8(&header).map_err(|_| error!(File, "the header is no text"))?)?;
    data(reader, header)
}

fn exact(reader: &mut impl Read, bytes: &mut [u8]) -> Result<()> {
    reader.read_exact(bytes).map_err(|e| error!(File, "{} bytes of header: {e}", bytes.len()))
}

fn data(reader: &mut impl Read, header: Header) -> Result<Tensor> {
    let needed = header.ty.bytes();
    // Memory grows with what is really there, not with what the header promises.
    let mut bytes = Vec::new();
    reader.take(needed as u64).read_to_end(&mut bytes).map_err(|e| error!(File, "{e}"))?;
    ensure!(bytes.len() == needed, File, "got {} bytes, {} needs {needed}", bytes.len(), header.ty);
    if header.swapped {
        bytes.chunks_exact_mut(header.item).for_each(<[u8]>::reverse);
    }
    let tensor = Tensor::from_bytes(header.ty, &bytes)?;
    Ok(if header.fortran { from_columns(&tensor) } else { tensor })
}

/// Elements that were stored with the first axis innermost.
fn from_columns(tensor: &Tensor) -> Tensor {
    let ty = tensor.ty().clone();
    let item = ty.element.bytes();
    let strides = row_strides(&ty.dims);
    let mut out = Tensor::zeros(ty.clone());
    for (from, bytes) in tensor.bytes().chunks_exact(item).enumerate() {
        let (mut rest, mut to) = (from, 0);
        for (&d, &stride) in ty.dims.iter().zip(&strides) {
            to += rest % d * stride;
            rest /= d;
        }
        out.bytes_mut()[to * item..][..item].copy_from_slice(bytes);
    }
    out
}

struct Header {
    ty: TensorType,
    fortran: bool,
    /// The other byte order, in items of so many bytes.
    swapped: bool,
    item: usize,
}

impl Header {
    /// The text is a dictionary of Python: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
    fn parse(text: &str) -> Result<Self> {
        let field = |name: &str| {
            let at = text.find(&format!("'{name}'")).ok_or_else(|| error!(File, "the header has no {name}"))?;
            let rest = text[at + name.len() + 2..].trim_start();
            rest.strip_prefix(':').map(str::trim_start).ok_or_else(|| error!(File, "the header has no value of {name}"))
        };
        let descr = field("descr")?;
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
        let Some(descr) = descr else { bail!(Unsupported, "an array of records") };
        let shape = field("shape")?;
        let shape = shape.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let Some((shape, _)) = shape else { bail!(File, "the shape is no tuple") };
        let sizes = shape.split(',').map(str::trim).filter(|s| !s.is_empty());
        let dims = sizes
            .map(|s| s.parse::<usize>().map_err(|_| error!(File, "\"{s}\" in the shape is no size")))
            .collect::<Result<Vec<_>>>()?;
        let (element, swapped) = element_type(descr)?;
        let ty = TensorType::checked(element, &dims)?;
        // A complex number is two floats, each in its own byte order.
        let item = if element == ElementType::C64 { 4 } else { element.bytes() };
        Ok(Self { ty, fortran: field("fortran_order")?.starts_with("True"), swapped: swapped && item > 1, item })
    }
}

const TYPES: [(&str, ElementType); 14] = [
    ("f4", ElementType::F32),
    ("f2", ElementType::F16),
    ("f8", ElementType::F64),
    ("i1", ElementType::I8),
    ("i2", ElementType::I16),
    ("i4", ElementType::I32),
    ("i8", ElementType::I64),
    ("u1", ElementType::U8),
    ("u2", ElementType::U16),
    ("u4", ElementType::U32),
    ("u8", ElementType::U64),
    ("b1", ElementType::Bool),
    ("c8", ElementType::C64),
    // What NumPy's bfloat16 extension writes.
    ("V2", ElementType::Bf16),
];

fn element_type(descr: &str) -> Result<(ElementType, bool)> {
    let name = descr.trim_start_matches(['<', '>', '|', '=']);
    match TYPES.iter().find(|row| row.0 == name) {
        Some(row) => Ok((row.1, descr.starts_with('>'))),
        None => bail!(Unsupported, "arrays of type \"{descr}\""),
    }
}

/// The bytes of an npy file.
pub fn to_bytes(tensor: &Tensor) -> Result<Vec<u8>> {
    let element = tensor.element();
    let Some((name, _)) = TYPES.iter().find(|row| row.1 == element) else {
        bail!(Unsupported, "{element} cannot be written to npy")
    };
    let order = if element.bytes() == 1 { '|' } else { '<' };
    let sizes: String = tensor.dims().iter().map(|d| format!("{d},")).collect();
    let mut header = format!("{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Magic, version and length are 10 bytes; the data starts at a multiple of 64.
    let padding = (10 + header.len() + 1).next_multiple_of(64) - (10 + header.len() + 1);
    header.push_str(&" ".repeat(padding));
    header.push('\n');
    let mut out = Vec::with_capacity(10 + header.len() + tensor.bytes().len());
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&[1, 0]);
    out.extend_from_slice(&(header.len() as u16).to_le_bytes());
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(tensor.bytes());
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Cursor, Write};

    fn read(bytes: &[u8]) -> Result<Tensor> {
        from_reader(&mut Cursor::new(bytes))
    }

    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        [&MAGIC[..], &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), data].concat()
    }

    #[test]
    fn every_type_survives_a_round_trip() {
        for (_, element) in TYPES {
            for dims in [&[][..], &[3], &[2, 0], &[2, 3]] {
                let mut tensor = Tensor::zeros(TensorType::new(element, dims));
                tensor.bytes_mut().iter_mut().enumerate().for_each(|(i, b)| *b = i as u8);
                let bytes = to_bytes(&tensor).expect("writes");
                let start = bytes.len() - tensor.bytes().len();
                assert_eq!(start % 64, 0);
                let back = read(&bytes).expect("reads");
                assert_eq!((back.ty(), back.bytes()), (tensor.ty(), tensor.bytes()));
                for length in 0..bytes.len() {
                    assert!(read(&bytes[..length]).is_err(), "{element} cut at {length}");
                }
            }
        }
        assert!(to_bytes(&Tensor::zeros(TensorType::new(ElementType::Q8_0, [32]))).is_err());
    }

    #[test]
    fn column_order_and_byte_order() {
        let columns = file("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n", &[0, 1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6]);
        assert_eq!(read(&columns).expect("reads").to_i128(), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn broken_headers_are_errors() {
        for header in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 2), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2, }",
            "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }",
            "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
            "{'fortran_order': False, 'shape': (2,), }",
            "{'descr'",
            "",
        ] {
            assert!(read(&file(header, &[0; 64])).is_err(), "{header}");
        }
    }

    #[test]
    fn archives_are_read() {
        let mut bytes = Vec::new();
        let mut writer = zip::ZipWriter::new(Cursor::new(&mut bytes));
        let tensor = Tensor::from_slice(&[2], &[1.5f32, -2.0]);
        for (name, method) in [("a.npy", zip::CompressionMethod::Stored), ("b.npy", zip::CompressionMethod::Deflated)] {
            writer.start_file(name, zip::write::SimpleFileOptions::default().compression_method(method)).expect("an entry");
            writer.write_all(&to_bytes(&tensor).expect("writes")).expect("writes");
        }
        writer.finish().expect("an archive");
        let read = archive(Cursor::new(&bytes)).expect("reads");
        assert_eq!(read, [("a".to_string(), tensor.clone()), ("b".to_string(), tensor)]);
        for length in 0..bytes.len() {
            assert!(archive(Cursor::new(&bytes[..length])).is_err(), "cut at {length}");
        }
    }
}
