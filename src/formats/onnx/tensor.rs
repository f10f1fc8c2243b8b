//! Tensors of ONNX files: typed fields, raw bytes, bytes in other files. Every size is checked before memory is asked for.

use half::{bf16, f16};
use prost::Message as _;
use prost::bytes::Bytes;

use super::external::External;
use super::proto;
use crate::tensor::{ElementType, Tensor, TensorType, list_text};
use crate::{Result, bail, ensure, error};

/// Element types by their number in the format. The 4-bit and 2-bit integers are kept as bytes; see `packed_bits`.
const NUMBERS: [(i32, ElementType); 18] = [
    (1, ElementType::F32),
    (2, ElementType::U8),
    (3, ElementType::I8),
    (4, ElementType::U16),
    (5, ElementType::I16),
    (6, ElementType::I32),
    (7, ElementType::I64),
    (9, ElementType::Bool),
    (10, ElementType::F16),
    (11, ElementType::F64),
    (12, ElementType::U32),
    (13, ElementType::U64),
    (14, ElementType::C64),
    (16, ElementType::Bf16),
    (21, ElementType::U8),
    (22, ElementType::I8),
    (25, ElementType::U8),
    (26, ElementType::I8),
];

/// Names of the types that have no element type here, for messages.
const OTHERS: [(i32, &str); 8] = [
    (8, "string"),
    (15, "complex128"),
    (17, "float8e4m3fn"),
    (18, "float8e4m3fnuz"),
    (19, "float8e5m2"),
    (20, "float8e5m2fnuz"),
    (23, "float4e2m1"),
    (24, "float8e8m0"),
];

/// The element type of this number.
pub fn element_type(number: i32) -> Result<ElementType> {
    if let Some(row) = NUMBERS.iter().find(|row| row.0 == number) {
        return Ok(row.1);
    }
    match OTHERS.iter().find(|row| row.0 == number) {
        Some((_, name)) => bail!(Unsupported, "element type {name} is not supported"),
        None => bail!(File, "unknown element type number {number}"),
    }
}

/// The number of a plain element type; a packed block type is stored as bytes.
pub fn element_number(element: ElementType) -> i32 {
    NUMBERS.iter().find(|row| row.1 == element).map_or(2, |row| row.0)
}

/// Bits of one element of the types that lie several to a byte.
pub fn packed_bits(number: i32) -> Option<usize> {
    match number {
        21 | 22 => Some(4),
        25 | 26 => Some(2),
        _ => None,
    }
}

/// Name and value of a tensor that is a file of its own (as in test data).
pub fn read_tensor(bytes: &[u8]) -> Result<(String, Tensor)> {
    let proto = proto::Tensor::decode(bytes).map_err(|e| error!(File, "not an ONNX tensor: {e}"))?;
    let tensor = read(&proto, &External::none())?;
    Ok((proto.name, tensor))
}

/// A tensor as a file of its own.
pub fn write_tensor(name: &str, tensor: &Tensor) -> Vec<u8> {
    write(name, tensor).encode_to_vec()
}

/// Sizes of a shape in a file; a negative one is an error.
pub fn dims(sizes: &[i64]) -> Result<Vec<usize>> {
    sizes
        .iter()
        .map(|&d| usize::try_from(d).map_err(|_| error!(File, "dimension {d} of {sizes} is negative", sizes = list_text(&sizes))))
        .collect()
}

/// The tensor, or an error that names it.
pub fn read(proto: &proto::Tensor, external: &External) -> Result<Tensor> {
    read_unnamed(proto, external).map_err(|e| e.within(format!("tensor \"{}\"", proto.name)))
}

fn read_unnamed(proto: &proto::Tensor, external: &External) -> Result<Tensor> {
    let ty = TensorType::checked(element_type(proto.data_type)?, &dims(&proto.dims)?)?;
    if proto.data_location == 1 {
        return from_raw(proto.data_type, ty, &external.bytes(&proto.external_data)?);
    }
    match &proto.raw_data {
        Some(raw) => from_raw(proto.data_type, ty, raw),
        None => from_fields(proto, ty),
    }
}

fn from_raw(number: i32, ty: TensorType, raw: &[u8]) -> Result<Tensor> {
    if let Some(bits) = packed_bits(number) {
        let bytes = (ty.elements() * bits).div_ceil(8);
        ensure!(raw.len() == bytes, File, "got {} bytes, {} of {bits} bits needs {bytes}", raw.len(), ty);
        return Ok(unpacked(&ty, bits, raw));
    }
    ensure!(raw.len() == ty.bytes(), File, "got {} bytes, {ty} needs {}", raw.len(), ty.bytes());
    let mut tensor = Tensor::from_bytes(ty, raw)?;
    if tensor.element() == ElementType::Bool {
        tensor.bytes_mut().iter_mut().for_each(|b| *b = u8::from(*b != 0));
    }
    Ok(tensor)
}

/// Elements of 2 or 4 bits, low bits first, each in a byte of its own.
fn unpacked(ty: &TensorType, bits: usize, packed: &[u8]) -> Tensor {
    let mut tensor = Tensor::zeros(ty.clone());
    let shift = 8 - bits;
    for (i, out) in tensor.bytes_mut().iter_mut().enumerate() {
        let at_top = packed[i * bits / 8] << (shift - i * bits % 8);
        *out = if ty.element == ElementType::I8 { (at_top as i8 >> shift) as u8 } else { at_top >> shift };
    }
    tensor
}

fn from_fields(proto: &proto::Tensor, ty: TensorType) -> Result<Tensor> {
    let int32s = || counted(&proto.int32_data, &ty, 1);
    let elements: Vec<u8> = match ty.element {
        ElementType::F32 => bytemuck::cast_slice(counted(&proto.float_data, &ty, 1)?).to_vec(),
        ElementType::C64 => bytemuck::cast_slice(counted(&proto.float_data, &ty, 2)?).to_vec(),
        ElementType::F64 => bytemuck::cast_slice(counted(&proto.double_data, &ty, 1)?).to_vec(),
        ElementType::I64 => bytemuck::cast_slice(counted(&proto.int64_data, &ty, 1)?).to_vec(),
        ElementType::U64 => bytemuck::cast_slice(counted(&proto.uint64_data, &ty, 1)?).to_vec(),
        ElementType::U32 => counted(&proto.uint64_data, &ty, 1)?.iter().flat_map(|&v| (v as u32).to_le_bytes()).collect(),
        ElementType::I32 => bytemuck::cast_slice(int32s()?).to_vec(),
        ElementType::F16 => int32s()?.iter().flat_map(|&v| f16::from_bits(v as u16).to_le_bytes()).collect(),
        ElementType::Bf16 => int32s()?.iter().flat_map(|&v| bf16::from_bits(v as u16).to_le_bytes()).collect(),
        ElementType::I16 | ElementType::U16 => int32s()?.iter().flat_map(|&v| (v as u16).to_le_bytes()).collect(),
        ElementType::Bool => int32s()?.iter().map(|&v| u8::from(v != 0)).collect(),
        _ => match packed_bits(proto.data_type) {
            // Each number holds one byte of packed elements.
            Some(_) => {
                let bytes: Vec<u8> = proto.int32_data.iter().map(|&v| v as u8).collect();
                return from_raw(proto.data_type, ty, &bytes);
            }
            None => int32s()?.iter().map(|&v| v as u8).collect(),
        },
    };
    Tensor::from_bytes(ty, &elements)
}

fn counted<'a, T>(values: &'a [T], ty: &TensorType, per_element: usize) -> Result<&'a [T]> {
    let needed = ty.elements() * per_element;
    ensure!(values.len() == needed, File, "got {} numbers, {ty} needs {needed}", values.len());
    Ok(values)
}

/// The tensor as a file holds it: raw little-endian bytes. A packed block type becomes bytes, [.., bytes of one row].
pub fn write(name: &str, tensor: &Tensor) -> proto::Tensor {
    proto::Tensor {
        name: name.into(),
        dims: file_dims(tensor.ty()).iter().map(|&d| d as i64).collect(),
        data_type: element_number(tensor.element()),
        raw_data: Some(Bytes::copy_from_slice(tensor.bytes())),
        ..Default::default()
    }
}

/// The shape that a file gives to a tensor of this type: of a packed block type, the last dimension counts bytes.
pub fn file_dims(ty: &TensorType) -> Vec<usize> {
    let mut dims = ty.dims.clone();
    if ty.element.is_block()
        && let Some(row) = dims.last_mut()
    {
        *row = *row / ty.element.block_elements() * ty.element.block_bytes();
    }
    dims
}

/// The packed type whose rows a UINT8 tensor holds: the reverse of `file_dims`.
pub fn packed_type(weight_type: ElementType, ty: &TensorType) -> Result<TensorType> {
    ensure!(ty.element == ElementType::U8, InvalidGraph, "{weight_type} weights are u8 tensors, not {ty}");
    let mut dims = ty.dims.clone();
    let Some(row) = dims.last_mut() else { bail!(InvalidGraph, "{weight_type} weights need at least one dimension") };
    let block = weight_type.block_bytes();
    ensure!(
        *row % block == 0,
        InvalidGraph,
        "{weight_type} weights {ty}: rows of {row} bytes are no multiple of the block of {block}"
    );
    *row = *row / block * weight_type.block_elements();
    TensorType::checked(weight_type, &dims)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proto(number: i32, dims: &[i64]) -> proto::Tensor {
        proto::Tensor { name: "t".into(), data_type: number, dims: dims.to_vec(), ..Default::default() }
    }

    fn read(proto: &proto::Tensor) -> Result<Tensor> {
        super::read(proto, &External::none())
    }

    #[test]
    fn typed_fields_of_every_width() {
        let t = proto::Tensor { int32_data: vec![0x3c00, 0xc000], ..proto(10, &[2]) };
        assert_eq!(read(&t).expect("f16").to_f64(), [1.0, -2.0]);
        let t = proto::Tensor { int32_data: vec![0x3f80], ..proto(16, &[1]) };
        assert_eq!(read(&t).expect("bf16").to_f64(), [1.0]);
        let t = proto::Tensor { int32_data: vec![-3, 5], ..proto(3, &[2, 1]) };
        assert_eq!(read(&t).expect("i8").to_i128(), [-3, 5]);
        let t = proto::Tensor { int32_data: vec![7, 0], ..proto(9, &[2]) };
        assert_eq!(read(&t).expect("bool").to_i128(), [1, 0]);
        let t = proto::Tensor { uint64_data: vec![u32::MAX.into()], ..proto(12, &[]) };
        assert_eq!(read(&t).expect("u32").to_i128(), [u32::MAX.into()]);
        let t = proto::Tensor { float_data: vec![1.0, 2.0], ..proto(14, &[1]) };
        assert_eq!(read(&t).expect("c64").bytes(), bytemuck::cast_slice::<f32, u8>(&[1.0, 2.0]));
    }

    #[test]
    fn four_bit_integers_unpack_low_first() {
        let t = proto::Tensor { raw_data: Some(Bytes::from_static(&[0x8f, 0x07])), ..proto(22, &[3]) };
        assert_eq!(read(&t).expect("int4").to_i128(), [-1, -8, 7]);
        let t = proto::Tensor { int32_data: vec![0x8f, 0x07], ..proto(21, &[3]) };
        assert_eq!(read(&t).expect("uint4").to_i128(), [15, 8, 7]);
    }

    #[test]
    fn wrong_sizes_are_errors_that_name_the_tensor() {
        let short = proto::Tensor { raw_data: Some(Bytes::from_static(&[0; 7])), ..proto(1, &[2]) };
        let message = read(&short).expect_err("7 bytes").message;
        assert_eq!(message, "tensor \"t\": got 7 bytes, f32 [2] needs 8");
        for dims in [&[-1][..], &[i64::MAX, 4], &[1 << 40, 1 << 40], &[1; 9], &[1 << 60]] {
            assert!(read(&proto(1, dims)).is_err(), "{dims:?}");
        }
        assert!(read(&proto(1, &[3])).is_err());
        assert!(read(&proto(255, &[1])).is_err());
        assert_eq!(read(&proto(8, &[0])).expect_err("strings").status, crate::Status::Unsupported);
        assert!(read(&proto(1, &[0, 5])).is_ok());
    }

    #[test]
    fn tensors_survive_a_round_trip() {
        let tensor = Tensor::from_slice(&[2, 2], &[1.5f32, -0.0, f32::NAN, 1e30]);
        let back = read(&write("t", &tensor)).expect("reads");
        assert_eq!(back.bytes(), tensor.bytes());
        let packed = Tensor::zeros(TensorType::new(ElementType::Q4K, [3, 512]));
        let stored = write("w", &packed);
        assert_eq!(stored.dims, [3, 288]);
        let read = read(&stored).expect("reads");
        assert_eq!(&packed_type(ElementType::Q4K, read.ty()).expect("whole blocks"), packed.ty());
    }
}
