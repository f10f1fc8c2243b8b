//! GGUF files, versions 2 and 3: metadata and tensors of a model, memory-mapped, possibly split over several files.
//!
//! Every count and length is compared with the bytes that are left before it is used, so that a broken file costs nothing.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use prost::bytes::Bytes;

use super::map_file;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, bail, ensure, error};

pub use super::gguf_write::write_gguf;

const MAGIC: &[u8; 4] = b"GGUF";

/// The largest rank that the format's users write.
const MAX_DIMS: usize = 4;

/// Where the data of tensors is aligned, unless the metadata says otherwise.
const DEFAULT_ALIGNMENT: u64 = 32;

/// Element types by their number in the format.
const TYPES: [(u32, ElementType); 31] = [
    (0, ElementType::F32),
    (1, ElementType::F16),
    (2, ElementType::Q4_0),
    (3, ElementType::Q4_1),
    (6, ElementType::Q5_0),
    (7, ElementType::Q5_1),
    (8, ElementType::Q8_0),
    (10, ElementType::Q2K),
    (11, ElementType::Q3K),
    (12, ElementType::Q4K),
    (13, ElementType::Q5K),
    (14, ElementType::Q6K),
    (15, ElementType::Q8K),
    (16, ElementType::Iq2Xxs),
    (17, ElementType::Iq2Xs),
    (18, ElementType::Iq3Xxs),
    (19, ElementType::Iq1S),
    (20, ElementType::Iq4Nl),
    (21, ElementType::Iq3S),
    (22, ElementType::Iq2S),
    (23, ElementType::Iq4Xs),
    (24, ElementType::I8),
    (25, ElementType::I16),
    (26, ElementType::I32),
    (27, ElementType::I64),
    (28, ElementType::F64),
    (29, ElementType::Iq1M),
    (30, ElementType::Bf16),
    (34, ElementType::Tq1_0),
    (35, ElementType::Tq2_0),
    (39, ElementType::Mxfp4),
];

/// The number of an element type, if files can hold it.
pub fn type_number(element: ElementType) -> Option<u32> {
    TYPES.iter().find(|row| row.1 == element).map(|row| row.0)
}

/// The kind of a metadata value, by its number in the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    U8 = 0,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    Text,
    Array,
    U64,
    I64,
    F64,
}

impl Kind {
    fn read(number: u32) -> Result<Self> {
        use Kind::*;
        let all = [U8, I8, U16, I16, U32, I32, F32, Bool, Text, Array, U64, I64, F64];
        all.get(number as usize).copied().ok_or_else(|| error!(File, "unknown kind of value, number {number}"))
    }

    pub fn name(self) -> &'static str {
        let names = ["u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "text", "list", "u64", "i64", "f64"];
        names[self as usize]
    }

    /// Bytes of a value of fixed size; of a text, the least it can have.
    fn bytes(self) -> usize {
        match self {
            Kind::U8 | Kind::I8 | Kind::Bool => 1,
            Kind::U16 | Kind::I16 => 2,
            Kind::U32 | Kind::I32 | Kind::F32 => 4,
            Kind::U64 | Kind::I64 | Kind::F64 | Kind::Text => 8,
            Kind::Array => 12,
        }
    }
}

/// A metadata value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Uint(u64),
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(String),
    Array(Array),
}

impl std::fmt::Display for Value {
    /// For messages: a text in quotes, of a list what it holds.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Uint(v) => write!(f, "{v}"),
            Self::Int(v) => write!(f, "{v}"),
            Self::Float(v) => write!(f, "{v}"),
            Self::Bool(v) => write!(f, "{v}"),
            Self::Text(v) => write!(f, "\"{v}\""),
            Self::Array(v) => write!(f, "a list of {} values", v.count),
        }
    }
}

/// A list of values of one kind, left in the file until it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    kind: Kind,
    count: usize,
    bytes: Bytes,
}

impl Array {
    pub fn kind(&self) -> Kind {
        self.kind
    }

    pub fn len(&self) -> usize {
        self.count
    }

    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A list of texts, as a file holds it.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let (mut count, mut bytes) = (0, Vec::new());
        for text in texts {
            count += 1;
            bytes.extend_from_slice(&(text.len() as u64).to_le_bytes());
            bytes.extend_from_slice(text.as_bytes());
        }
        Self { kind: Kind::Text, count, bytes: bytes.into() }
    }

    pub fn of_floats(values: &[f32]) -> Self {
        Self { kind: Kind::F32, count: values.len(), bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect() }
    }

    pub fn of_ints(values: &[i32]) -> Self {
        Self { kind: Kind::I32, count: values.len(), bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect() }
    }

    /// The values as the file holds them.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The values one by one.
    pub fn values(&self) -> impl Iterator<Item = Value> + '_ {
        let mut cursor = Cursor { bytes: &self.bytes, at: 0, whole: &self.bytes };
        (0..self.count).map_while(move |_| cursor.value(self.kind).ok())
    }

    /// The texts, where they are texts.
    pub fn texts(&self) -> impl Iterator<Item = String> + '_ {
        self.values().filter_map(|v| if let Value::Text(text) = v { Some(text) } else { None })
    }
}

/// A tensor of a file.
#[derive(Clone, Debug)]
pub struct GgufTensor {
    pub name: String,
    /// Dimensions outermost first: a matrix is [rows, elements of a row].
    pub ty: TensorType,
    part: usize,
    range: Range<usize>,
}

/// An opened model: its metadata, and the tensors of all its parts.
#[derive(Debug)]
pub struct Gguf {
    version: u32,
    metadata: Vec<(String, Value)>,
    tensors: Vec<GgufTensor>,
    by_name: HashMap<String, usize>,
    parts: Vec<Bytes>,
}

impl Gguf {
    /// Opens a file; of a split model, its first part, and the others are found by their names.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut gguf = Self::open_part(path)?;
        let count = gguf.uint("split.count")?.unwrap_or(1);
        if count <= 1 {
            return Ok(gguf);
        }
        let number = gguf.uint("split.no")?.unwrap_or(0);
        ensure!(number == 0, File, "{}: part {number} of a split model; open its first part", path.display());
        for k in 1..count {
            let part = part_path(path, k, count)?;
            let other = Self::open_part(&part)?;
            let (no, of) = (other.uint("split.no")?.unwrap_or(0), other.uint("split.count")?.unwrap_or(1));
            ensure!(no == k && of == count, File, "{}: is part {no} of {of}, not {k} of {count}", part.display());
            gguf.join(other).map_err(|e| e.within(part.display()))?;
        }
        if let Some(total) = gguf.uint("split.tensors.count")? {
            ensure!(
                total == gguf.tensors.len() as u64,
                File,
                "{}: {} tensors in all parts, not {total}",
                path.display(),
                gguf.tensors.len()
            );
        }
        Ok(gguf)
    }

    fn open_part(path: &Path) -> Result<Self> {
        let bytes = map_file(path).map_err(|e| error!(File, "{}: {e}", path.display()))?;
        Self::parse(bytes).map_err(|e| e.within(path.display()))
    }

    /// Parses a file in memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::parse(Bytes::copy_from_slice(bytes))
    }

    fn parse(bytes: Bytes) -> Result<Self> {
        let mut cursor = Cursor { bytes: &bytes, at: 0, whole: &bytes };
        ensure!(cursor.take(4)? == MAGIC, File, "not a GGUF file");
        let version = cursor.u32()?;
        ensure!(matches!(version, 2 | 3), Unsupported, "GGUF version {version}: 2 and 3 are read");
        let tensor_count = cursor.u64()?;
        let value_count = cursor.u64()?;
        let metadata = cursor.metadata(value_count)?;
        let alignment = alignment(&metadata)?;
        let infos = cursor.tensor_infos(tensor_count)?;
        let start = (cursor.at as u64).checked_next_multiple_of(alignment).filter(|&s| s <= bytes.len() as u64 || infos.is_empty());
        let Some(start) = start else { bail!(File, "the file ends before the data of its tensors") };
        let mut gguf = Self { version, metadata, tensors: Vec::new(), by_name: HashMap::new(), parts: vec![bytes.clone()] };
        for (name, ty, offset) in infos {
            let range =
                data_range(&ty, start, offset, alignment, bytes.len()).map_err(|e| e.within(format!("tensor \"{name}\"")))?;
            gguf.push(GgufTensor { name, ty, part: 0, range })?;
        }
        Ok(gguf)
    }

    fn push(&mut self, tensor: GgufTensor) -> Result<()> {
        let before = self.by_name.insert(tensor.name.clone(), self.tensors.len());
        ensure!(before.is_none(), File, "there are two tensors \"{}\"", tensor.name);
        self.tensors.push(tensor);
        Ok(())
    }

    fn join(&mut self, other: Self) -> Result<()> {
        let part = self.parts.len();
        self.parts.extend(other.parts);
        other.tensors.into_iter().try_for_each(|tensor| self.push(GgufTensor { part, ..tensor }))
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    /// Keys and values in the order of the file.
    pub fn metadata(&self) -> &[(String, Value)] {
        &self.metadata
    }

    pub fn value(&self, key: &str) -> Option<&Value> {
        self.metadata.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// A value of this key as a number that is not negative; an error if it is something else.
    pub fn uint(&self, key: &str) -> Result<Option<u64>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Uint(v)) => Ok(Some(*v)),
            Some(Value::Int(v)) if *v >= 0 => Ok(Some(*v as u64)),
            Some(other) => Err(error!(File, "\"{key}\" is {other}, not a number from 0 on")),
        }
    }

    pub fn float(&self, key: &str) -> Result<Option<f64>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Float(v)) => Ok(Some(*v)),
            Some(Value::Uint(v)) => Ok(Some(*v as f64)),
            Some(Value::Int(v)) => Ok(Some(*v as f64)),
            Some(other) => Err(error!(File, "\"{key}\" is {other}, not a number")),
        }
    }

    pub fn text(&self, key: &str) -> Result<Option<&str>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Text(v)) => Ok(Some(v)),
            Some(other) => Err(error!(File, "\"{key}\" is {other}, not a text")),
        }
    }

    pub fn flag(&self, key: &str) -> Result<Option<bool>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(v)) => Ok(Some(*v)),
            Some(other) => Err(error!(File, "\"{key}\" is {other}, not true or false")),
        }
    }

    pub fn array(&self, key: &str) -> Result<Option<&Array>> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Array(v)) => Ok(Some(v)),
            Some(other) => Err(error!(File, "\"{key}\" is {other}, not a list")),
        }
    }

    /// All tensors, those of the first part first.
    pub fn tensors(&self) -> &[GgufTensor] {
        &self.tensors
    }

    pub fn tensor(&self, name: &str) -> Option<&GgufTensor> {
        self.by_name.get(name).map(|&i| &self.tensors[i])
    }

    /// The bytes of a tensor, in the mapped file.
    pub fn bytes(&self, tensor: &GgufTensor) -> &[u8] {
        &self.parts[tensor.part][tensor.range.clone()]
    }

    /// A copy of a tensor.
    pub fn read(&self, tensor: &GgufTensor) -> Result<Tensor> {
        Tensor::from_bytes(tensor.ty.clone(), self.bytes(tensor))
    }
}

/// "model-00001-of-00003.gguf" with the number of another part (counted from 0).
fn part_path(first: &Path, k: u64, count: u64) -> Result<PathBuf> {
    let name = first.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let ending = format!("-{:05}-of-{count:05}.gguf", 1);
    let Some(stem) = name.strip_suffix(&ending) else {
        bail!(File, "{}: of a model in {count} parts, the name must end with \"{ending}\"", first.display())
    };
    Ok(first.with_file_name(format!("{stem}-{:05}-of-{count:05}.gguf", k + 1)))
}

fn alignment(metadata: &[(String, Value)]) -> Result<u64> {
    match metadata.iter().find(|(k, _)| k == "general.alignment").map(|(_, v)| v) {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(&Value::Uint(n)) if n.is_power_of_two() && n <= 1 << 30 => Ok(n),
        Some(other) => Err(error!(File, "general.alignment is {other}")),
    }
}

fn data_range(ty: &TensorType, start: u64, offset: u64, alignment: u64, file: usize) -> Result<Range<usize>> {
    ensure!(offset.is_multiple_of(alignment), File, "data at {offset}, which is no multiple of {alignment}");
    let first = start.checked_add(offset).and_then(|v| usize::try_from(v).ok());
    let range = first.and_then(|first| Some(first..first.checked_add(ty.bytes())?)).filter(|range| range.end <= file);
    range.ok_or_else(|| error!(File, "{ty} needs {} bytes at {offset} of the data, the file has {file} bytes in all", ty.bytes()))
}

/// Reads values in order and never past the end.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    whole: &'a Bytes,
}

impl<'a> Cursor<'a> {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        ensure!(count <= self.left(), File, "the file ends at byte {}, {count} more are needed at {}", self.bytes.len(), self.at);
        let bytes = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("take gives as many bytes as it is asked for"))
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A count of things of at least `least` bytes each; an error if the file cannot hold so many.
    fn count(&self, count: u64, least: usize, what: &str) -> Result<usize> {
        let fits = usize::try_from(count).ok().filter(|&n| n.checked_mul(least).is_some_and(|bytes| bytes <= self.left()));
        fits.ok_or_else(|| error!(File, "{count} {what} do not fit into the {} bytes that are left", self.left()))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.u64()?;
        let length = self.count(length, 1, "bytes of text")?;
        let at = self.at;
        match std::str::from_utf8(self.take(length)?) {
            Ok(text) => Ok(text.into()),
            Err(_) => Err(error!(File, "the text at byte {at} is no UTF-8")),
        }
    }

    fn value(&mut self, kind: Kind) -> Result<Value> {
        Ok(match kind {
            Kind::U8 => Value::Uint(self.array::<1>()?[0].into()),
            Kind::I8 => Value::Int(i8::from_le_bytes(self.array()?).into()),
            Kind::U16 => Value::Uint(u16::from_le_bytes(self.array()?).into()),
            Kind::I16 => Value::Int(i16::from_le_bytes(self.array()?).into()),
            Kind::U32 => Value::Uint(self.u32()?.into()),
            Kind::I32 => Value::Int(i32::from_le_bytes(self.array()?).into()),
            Kind::U64 => Value::Uint(self.u64()?),
            Kind::I64 => Value::Int(i64::from_le_bytes(self.array()?)),
            Kind::F32 => Value::Float(f32::from_le_bytes(self.array()?).into()),
            Kind::F64 => Value::Float(f64::from_le_bytes(self.array()?)),
            Kind::Bool => match self.array::<1>()?[0] {
                0 => Value::Bool(false),
                1 => Value::Bool(true),
                other => bail!(File, "a truth value is {other}"),
            },
            Kind::Text => Value::Text(self.text()?),
            Kind::Array => Value::Array(self.list()?),
        })
    }

    fn list(&mut self) -> Result<Array> {
        let kind = Kind::read(self.u32()?)?;
        ensure!(kind != Kind::Array, Unsupported, "lists of lists are not supported");
        let count = self.u64()?;
        let count = self.count(count, kind.bytes(), "values of a list")?;
        let start = self.at;
        match kind {
            Kind::Text => {
                for _ in 0..count {
                    self.text()?;
                }
            }
            Kind::Bool => {
                for _ in 0..count {
                    self.value(kind)?;
                }
            }
            _ => drop(self.take(count * kind.bytes())?),
        }
        Ok(Array { kind, count, bytes: self.whole.slice(start..self.at) })
    }

    fn metadata(&mut self, count: u64) -> Result<Vec<(String, Value)>> {
        // A key of no letters, a kind, a value of one byte.
        let count = self.count(count, 8 + 4 + 1, "metadata values")?;
        let mut metadata: Vec<(String, Value)> = Vec::new();
        let mut keys = std::collections::HashSet::new();
        for _ in 0..count {
            let key = self.text()?;
            let kind = Kind::read(self.u32()?).map_err(|e| e.within(format!("\"{key}\"")))?;
            let value = self.value(kind).map_err(|e| e.within(format!("\"{key}\"")))?;
            ensure!(keys.insert(key.clone()), File, "there are two values \"{key}\"");
            metadata.push((key, value));
        }
        Ok(metadata)
    }

    /// Name, type and offset of each tensor.
    fn tensor_infos(&mut self, count: u64) -> Result<Vec<(String, TensorType, u64)>> {
        // A name of no letters, a rank of 0, a type, an offset.
        let count = self.count(count, 8 + 4 + 4 + 8, "tensors")?;
        let mut infos = Vec::new();
        for _ in 0..count {
            let name = self.text()?;
            let (ty, offset) = self.tensor_info().map_err(|e| e.within(format!("tensor \"{name}\"")))?;
            infos.push((name, ty, offset));
        }
        Ok(infos)
    }

    fn tensor_info(&mut self) -> Result<(TensorType, u64)> {
        let rank = self.u32()?;
        ensure!(rank as usize <= MAX_DIMS, File, "{rank} dimensions, above {MAX_DIMS}");
        let mut dims = Vec::with_capacity(MAX_DIMS);
        for _ in 0..rank {
            let size = self.u64()?;
            dims.push(usize::try_from(size).map_err(|_| error!(File, "a dimension of {size}"))?);
        }
        // The file counts from the innermost dimension.
        dims.reverse();
        let number = self.u32()?;
        let element = TYPES.iter().find(|row| row.0 == number).map(|row| row.1);
        let Some(element) = element else { bail!(File, "unknown tensor type number {number}") };
        Ok((TensorType::checked(element, &dims)?, self.u64()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<u8> {
        let metadata = [
            ("general.architecture", Value::Text("llama".into())),
            ("llama.block_count", Value::Uint(2)),
            ("llama.scale", Value::Float(0.5)),
            ("tokens", Value::Array(Array::of_texts(["a", "bc", ""]))),
            ("scores", Value::Array(Array::of_floats(&[1.0, -2.0]))),
            ("flag", Value::Bool(true)),
        ];
        let tensors = [
            ("w".to_string(), TensorType::new(ElementType::Q8_0, [3, 64])),
            ("norm".to_string(), TensorType::new(ElementType::F32, [5])),
        ];
        let mut out = Vec::new();
        write_gguf(&mut out, &metadata, &tensors, |k| Ok(vec![k as u8 + 1; tensors[k].1.bytes()])).expect("writes");
        out
    }

    #[test]
    fn what_was_written_is_read() {
        let gguf = Gguf::from_bytes(&sample()).expect("reads");
        assert_eq!(gguf.text("general.architecture").expect("a text"), Some("llama"));
        assert_eq!(gguf.uint("llama.block_count").expect("a number"), Some(2));
        assert_eq!(gguf.float("llama.scale").expect("a number"), Some(0.5));
        assert_eq!(gguf.flag("flag").expect("a flag"), Some(true));
        assert_eq!(gguf.uint("absent").expect("nothing"), None);
        assert!(gguf.uint("general.architecture").is_err());
        let tokens: Vec<String> = gguf.array("tokens").expect("a list").expect("there").texts().collect();
        assert_eq!(tokens, ["a", "bc", ""]);
        let w = gguf.tensor("w").expect("there");
        assert_eq!(w.ty, TensorType::new(ElementType::Q8_0, [3, 64]));
        assert_eq!(gguf.bytes(w), vec![1; 3 * 2 * 34]);
        assert_eq!(gguf.bytes(gguf.tensor("norm").expect("there")), vec![2; 20]);
    }

    #[test]
    fn a_file_cut_anywhere_is_an_error() {
        let good = sample();
        let data_end = good.len() - 12; // the last 12 bytes pad the last tensor
        for length in 0..data_end {
            assert!(Gguf::from_bytes(&good[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn any_byte_may_be_wrong() {
        let good = sample();
        for at in 0..good.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] = value;
                let _ = Gguf::from_bytes(&bad);
            }
        }
    }

    /// A header, the parts of metadata and tensors given as they are.
    fn file(tensors: u64, values: u64, rest: &[&[u8]]) -> Vec<u8> {
        let mut out = b"GGUF\x03\0\0\0".to_vec();
        out.extend(tensors.to_le_bytes());
        out.extend(values.to_le_bytes());
        rest.iter().for_each(|part| out.extend_from_slice(part));
        out.resize(out.len() + 64, 0);
        out
    }

    fn message(bytes: &[u8]) -> String {
        Gguf::from_bytes(bytes).expect_err("it is broken").message
    }

    #[test]
    fn counts_that_wrap_are_errors() {
        let key = [&1u64.to_le_bytes()[..], b"k"].concat();
        let dims = |values: &[u64]| {
            let mut out = key.clone();
            out.extend((values.len() as u32).to_le_bytes());
            values.iter().for_each(|v| out.extend(v.to_le_bytes()));
            out.extend([0u8; 12]);
            file(1, 0, &[&out])
        };
        for values in
            [&[(1u64 << 42) + 1, 1 << 22][..], &[u64::MAX, 2, 1, 1], &[1 << 62, 4], &[u64::MAX], &[1 << 40], &[2; 5], &[1; 9]]
        {
            assert!(message(&dims(values)).contains("tensor \"k\""), "{values:?}");
        }
        let rank = [&key[..], &u32::MAX.to_le_bytes()].concat();
        assert!(message(&file(1, 0, &[&rank])).contains("4294967295 dimensions"));
        let ty = [&key[..], &1u32.to_le_bytes(), &1u64.to_le_bytes(), &255u32.to_le_bytes(), &[0; 8]].concat();
        assert!(message(&file(1, 0, &[&ty])).contains("type number 255"));
        assert!(message(&file(0, 1 << 60, &[])).contains("1152921504606846976 metadata values"));
        assert!(message(&file(u64::MAX, 0, &[])).contains("18446744073709551615 tensors"));
        assert!(message(&file(0, 1, &[&(1u64 << 63).to_le_bytes()])).contains("bytes of text"));
        for kind in [0u32, 6, 8, 12] {
            let list = [&key[..], &9u32.to_le_bytes(), &kind.to_le_bytes(), &(1u64 << 60).to_le_bytes()].concat();
            assert!(message(&file(0, 1, &[&list])).contains("values of a list"), "kind {kind}");
        }
        let nested = [&key[..], &9u32.to_le_bytes(), &9u32.to_le_bytes(), &1u64.to_le_bytes()].concat();
        assert!(message(&file(0, 1, &[&nested])).contains("lists of lists"));
        let offset =
            [&key[..], &1u32.to_le_bytes(), &1u64.to_le_bytes(), &0u32.to_le_bytes(), &(u64::MAX - 31).to_le_bytes()].concat();
        assert!(message(&file(1, 0, &[&offset])).contains("needs 4 bytes"));
    }

    #[test]
    fn parts_are_joined() {
        let folder = std::env::temp_dir().join(format!("caldera-gguf-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write = |k: u64, name: &str| {
            let metadata = [("split.no", Value::Uint(k)), ("split.count", Value::Uint(2)), ("split.tensors.count", Value::Uint(2))];
            let tensors = [(name.to_string(), TensorType::new(ElementType::U8, [4]).with_element(ElementType::I8))];
            let path = folder.join(format!("m-{:05}-of-00002.gguf", k + 1));
            let mut out = Vec::new();
            write_gguf(&mut out, &metadata, &tensors, |_| Ok(vec![k as u8; 4])).expect("writes");
            std::fs::write(&path, out).expect("a file");
            path
        };
        let first = write(0, "a");
        assert!(Gguf::open(&first).is_err(), "the second part is not there");
        let second = write(1, "b");
        let gguf = Gguf::open(&first).expect("both parts");
        assert_eq!(gguf.bytes(gguf.tensor("b").expect("of the second part")), [1; 4]);
        assert!(Gguf::open(&second).is_err(), "not the first part");
        write(1, "a");
        assert!(Gguf::open(&first).is_err(), "one name twice");
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
