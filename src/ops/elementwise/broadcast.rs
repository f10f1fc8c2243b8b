//! Launching an elementwise kernel over operands that broadcast as in NumPy.

use super::function::Function;
use crate::Result;
use crate::kernels::{Kernel, kernel};
use crate::ops::movement::strided::divider;
use crate::ops::{Lowering, Operand};
use crate::tensor::{ElementType, TensorType, broadcast, element_count, row_strides};

/// Elements that a workgroup does.
const GROUP_ELEMENTS: usize = 1024;

/// Elements that one dispatch does at most.
const PART: usize = 1 << 30;

/// Axes of the result, collapsed where all operands allow, with the strides of each operand (0 where it broadcasts).
#[derive(Clone, Debug, PartialEq)]
struct Layout {
    dims: Vec<usize>,
    strides: Vec<Vec<usize>>,
}

impl Layout {
    fn new(operands: &[&[usize]], dims: &[usize]) -> Self {
        let full: Vec<Vec<usize>> = operands.iter().map(|shape| strides_in(shape, dims)).collect();
        let mut out = Self { dims: Vec::new(), strides: vec![Vec::new(); operands.len()] };
        for (axis, &d) in dims.iter().enumerate() {
            if d == 1 {
                continue;
            }
            let joins = !out.dims.is_empty() && full.iter().zip(&out.strides).all(|(f, s)| s.last() == Some(&(f[axis] * d)));
            if joins {
                *out.dims.last_mut().expect("there is an axis to join") *= d;
                out.strides.iter_mut().zip(&full).for_each(|(s, f)| *s.last_mut().expect("as many strides as axes") = f[axis]);
            } else {
                out.dims.push(d);
                out.strides.iter_mut().zip(&full).for_each(|(s, f)| s.push(f[axis]));
            }
        }
        out
    }

    /// 0: laid out as the result; 1: one element; 2: strides of its own.
    fn mode(&self, operand: usize) -> u32 {
        let strides = &self.strides[operand];
        match () {
            _ if *strides == row_strides(&self.dims) => 0,
            _ if strides.iter().all(|&s| s == 0) => 1,
            _ => 2,
        }
    }
}

/// Strides of an operand in the result's axes, 0 where it has one element.
fn strides_in(shape: &[usize], dims: &[usize]) -> Vec<usize> {
    let lead = dims.len() - shape.len();
    let own = row_strides(shape);
    (0..dims.len()).map(|axis| if axis < lead || shape[axis - lead] == 1 { 0 } else { own[axis - lead] }).collect()
}

/// What is computed.
pub struct Map {
    pub kernel: Kernel,
    /// Specialization constants of the kernel itself.
    pub spec: Vec<(&'static str, u32)>,
    pub floats: Option<[f64; 2]>,
}

impl Map {
    pub fn function(function: Function, operands: u32, element: ElementType, to_bool: bool) -> Result<Self> {
        let kernel = kernel::elementwise(if to_bool { "bool" } else { "same" }, element.name())?;
        Ok(Self { kernel, spec: vec![("OP", function.number()), ("OPERANDS", operands)], floats: Some([0.0; 2]) })
    }

    /// Computes the first output from the first inputs.
    pub fn lower(&self, at: &mut Lowering) -> Result<()> {
        let count = at.input_count();
        let types: Vec<&TensorType> = (0..count).map(|i| at.input_type(i)).collect();
        let operands: Vec<(Operand, &TensorType)> = (0..count).map(|i| (at.input(i), types[i])).collect();
        self.lower_over(at, &operands)
    }

    /// Computes the first output from these operands.
    pub fn lower_over(&self, at: &mut Lowering, operands: &[(Operand, &TensorType)]) -> Result<()> {
        let (y, ty) = (at.output(0), at.output_type(0));
        let shapes: Vec<&[usize]> = operands.iter().map(|(_, ty)| ty.dims.as_slice()).collect();
        let layout = Layout::new(&shapes, &ty.dims);
        self.parts(at, operands, &layout, y, ty.element.bytes())
    }

    /// Splits what is too large for one dispatch along the outermost axis.
    fn parts(
        &self,
        at: &mut Lowering,
        operands: &[(Operand, &TensorType)],
        layout: &Layout,
        y: Operand,
        y_bytes: usize,
    ) -> Result<()> {
        let total = element_count(&layout.dims);
        if total <= PART {
            return self.dispatch(at, operands, layout, y, total);
        }
        let inner = total / layout.dims[0];
        let step = (PART / inner).max(1);
        let mut row = 0;
        while row < layout.dims[0] {
            let rows = step.min(layout.dims[0] - row);
            let mut part = layout.clone();
            part.dims[0] = rows;
            let moved: Vec<(Operand, &TensorType)> = operands
                .iter()
                .enumerate()
                .map(|(i, &(region, ty))| {
                    let skip = row * layout.strides[i][0] * ty.element.bytes();
                    (region.part(skip, region.bytes - skip), ty)
                })
                .collect();
            let y_part = y.part(row * inner * y_bytes, rows * inner * y_bytes);
            if rows * inner > PART {
                part.dims.remove(0);
                for strides in &mut part.strides {
                    strides.remove(0);
                }
            }
            self.parts(at, &moved, &part, y_part, y_bytes)?;
            row += rows;
        }
        Ok(())
    }

    fn dispatch(
        &self,
        at: &mut Lowering,
        operands: &[(Operand, &TensorType)],
        layout: &Layout,
        y: Operand,
        count: usize,
    ) -> Result<()> {
        let modes: Vec<u32> = (0..operands.len()).map(|i| layout.mode(i)).collect();
        let strided = modes.contains(&2);
        let mut words = Vec::new();
        if strided {
            for axis in (0..layout.dims.len()).rev() {
                let [multiplier, shift] = divider(layout.dims[axis])?;
                words.extend([layout.dims[axis] as u32, multiplier, shift, layout.dims.len() as u32]);
                words.extend((0..4).map(|o| layout.strides.get(o).map_or(0, |s| s[axis] as u32)));
            }
        }
        let axes = at.constants(&words);
        let operand = |i: usize| operands.get(i).map_or(axes.part(0, 0), |o| o.0);
        let (a, b, c) = (operand(0), operand(1), operand(2));
        let mut dispatch = at
            .dispatch(self.kernel)
            .read("a", a)
            .read("b", b)
            .read("c", c)
            .write("y", y)
            .read("axes", axes)
            .uint("count", count)
            // Few axes, the usual case, are unrolled; the rest shares one pipeline.
            .spec("AXES", if strided && layout.dims.len() <= 3 { layout.dims.len() as u32 } else { 0 });
        for (name, mode) in ["MODE_A", "MODE_B", "MODE_C"].into_iter().zip(&modes) {
            dispatch = dispatch.spec(name, *mode);
        }
        for &(name, value) in &self.spec {
            dispatch = dispatch.spec(name, value);
        }
        if let Some([p0, p1]) = self.floats {
            dispatch = dispatch.float("p0", p0).float("p1", p1);
        }
        dispatch.groups(count.div_ceil(GROUP_ELEMENTS))
    }
}

/// For each element of the result, the elements of the operands.
pub fn walk(operands: &[&[usize]], dims: &[usize], mut each: impl FnMut(usize, [usize; 3])) {
    let strides: Vec<Vec<usize>> = operands.iter().map(|shape| strides_in(shape, dims)).collect();
    let mut at = vec![0usize; dims.len()];
    let mut index = [0usize; 3];
    for i in 0..element_count(dims) {
        each(i, index);
        for axis in (0..dims.len()).rev() {
            at[axis] += 1;
            index.iter_mut().zip(&strides).for_each(|(n, s)| *n += s[axis]);
            if at[axis] < dims[axis] {
                break;
            }
            index.iter_mut().zip(&strides).for_each(|(n, s)| *n -= s[axis] * dims[axis]);
            at[axis] = 0;
        }
    }
}

/// Pairs (output, input) that may share storage: the operands that are as large as the result.
pub fn in_place(ins: &crate::ops::Inputs<TensorType>) -> Vec<(usize, usize)> {
    let shapes: Vec<&[usize]> = (0..ins.len()).filter_map(|i| ins.opt(i)).map(|ty| ty.dims.as_slice()).collect();
    let Ok(dims) = broadcast(&shapes) else { return Vec::new() };
    (0..ins.len()).filter(|&i| ins.opt(i).is_some_and(|ty| ty.elements() == element_count(&dims))).map(|i| (0, i)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_collapse_where_all_operands_allow() {
        let layout = Layout::new(&[&[2, 3, 4], &[4]], &[2, 3, 4]);
        assert_eq!((layout.dims.clone(), layout.mode(0), layout.mode(1)), (vec![6, 4], 0, 2));
        assert_eq!(layout.strides[1], [0, 1]);
        let layout = Layout::new(&[&[2, 3], &[]], &[2, 3]);
        assert_eq!((layout.dims.clone(), layout.mode(0), layout.mode(1)), (vec![6], 0, 1));
        let layout = Layout::new(&[&[2, 1, 4], &[2, 3, 1]], &[2, 3, 4]);
        assert_eq!(layout.dims, [2, 3, 4]);
    }
}
