//! KvAppend: rows into a cache, in place.

use crate::kernels::kernel;
use crate::ops::movement::strided::{common_unit, unit_name};
use crate::ops::{Attribute, Attributes, Case, Fill, Inputs, Lowering, Operator, Reference, checked_index};
use crate::tensor::{ElementType, Tensor, TensorType, element_count};
use crate::{Result, attributes, ensure};

attributes! {
    /// Writes rows [B, n, ..] at positions at..at+n-1 of cache [B, C, ..]; with `ring` positions are taken modulo C.
    pub struct KvAppend { ring: bool = false }
}

crate::entries!(KvAppend: cases);

impl Operator for KvAppend {
    fn name(&self) -> &'static str {
        "KvAppend"
    }
    fn attributes(&self) -> Attributes {
        self.to_attributes()
    }
    fn checked_inputs(&self) -> &'static [usize] {
        &[2]
    }
    fn infer(&self, ins: &Inputs<TensorType>) -> Result<Vec<TensorType>> {
        ins.expect(3..=3)?;
        let (cache, rows, at) = (ins.get(0)?, ins.get(1)?, ins.get(2)?);
        ensure!(cache.element == rows.element, InvalidGraph, "the cache is {}, the rows {}", cache.element, rows.element);
        ensure!(!cache.element.is_block(), InvalidGraph, "does not take the packed type {}", cache.element);
        ensure!(cache.rank() >= 2 && cache.rank() == rows.rank(), InvalidGraph, "the cache is {cache}, the rows {rows}");
        let fits = cache.dims[0] == rows.dims[0] && cache.dims[2..] == rows.dims[2..];
        ensure!(fits, InvalidGraph, "rows {rows} do not fit into the cache {cache}");
        let positions = at.rank() == 1 && (at.dims[0] == 1 || at.dims[0] == cache.dims[0]);
        ensure!(
            at.element == ElementType::I32 && positions,
            InvalidGraph,
            "the position is {at}, not i32 [1] or [{}]",
            cache.dims[0]
        );
        Ok(vec![cache.clone()])
    }
    fn reference(&self, at: &Reference) -> Result<Vec<Tensor>> {
        let (cache, rows, start) = (at.input(0)?, at.input(1)?, at.input(2)?.to_i128());
        let (batch, capacity, count) = (cache.dims()[0], cache.dims()[1], rows.dims()[1]);
        let row = element_count(&cache.dims()[2..]) * cache.element().bytes();
        let mut out = cache.clone();
        for b in 0..batch {
            let first = start[if start.len() == 1 { 0 } else { b }];
            for r in 0..count {
                let wanted = first + r as i128;
                let position = if self.ring && first >= 0 && capacity > 0 { wanted % capacity as i128 } else { wanted };
                let position = checked_index(at, position, capacity, false, b * count + r)?;
                let (from, to) = ((b * count + r) * row, (b * capacity + position) * row);
                out.bytes_mut()[to..to + row].copy_from_slice(&rows.bytes()[from..from + row]);
            }
        }
        Ok(vec![out])
    }
    fn lower(&self, at: &mut Lowering) -> Result<()> {
        let (cache, rows) = (at.input_type(0), at.input_type(1));
        let row_bytes = element_count(&cache.dims[2..]) * cache.element.bytes();
        if rows.elements() == 0 {
            return Ok(());
        }
        let unit = common_unit([row_bytes]);
        let (row_units, count, capacity) = (row_bytes / unit, rows.dims[1], cache.dims[1]);
        let total = rows.bytes() / unit;
        let cache_rows = cache.dims[0] * capacity;
        ensure!(
            u32::try_from(cache_rows.max(row_bytes)).is_ok(),
            Unsupported,
            "{cache_rows} rows of {row_bytes} bytes are above 2^32"
        );
        ensure!(total < 1 << 31, Unsupported, "rows of {total} units are above 2^31");
        let (target, rows, position, state, node) = (at.output(0), at.input(1), at.input(2), at.run_state(), at.node_number());
        let per_batch = at.input_type(2).dims[0] > 1;
        at.dispatch(kernel::kv_append(&unit_name(unit))?)
            .read_write("cache", target)
            .read("rows", rows)
            .read("at", position)
            .read("state", state)
            .uint("total", total)
            .uint("row_units", row_units)
            .uint("count", count)
            .uint("capacity", capacity)
            .uint("per_batch", per_batch.into())
            .uint("node", node as usize)
            .spec("RING", self.ring.into())
            .groups(total.div_ceil(1024))
    }
    fn updates(&self) -> Vec<(usize, usize)> {
        vec![(0, 0)]
    }
}

fn cases() -> Vec<Case> {
    use ElementType::*;
    let mut out = Vec::new();
    let case = |ring: i64| Case::new("KvAppend", &[("ring", Attribute::Int(ring))]);
    let at = |case: Case, dims: &[usize], values: &[f64]| case.fill(I32, dims, Fill::Values(values.to_vec()));
    for element in [F32, F16, Bf16, I8, I64] {
        out.push(at(case(0).input(element, &[2, 7, 3, 5]).input(element, &[2, 3, 3, 5]), &[2], &[0.0, 4.0]));
        out.push(at(case(0).input(element, &[1, 9, 64]).input(element, &[1, 1, 64]), &[1], &[8.0]));
        out.push(at(case(1).input(element, &[2, 5, 3]).input(element, &[2, 3, 3]), &[2], &[3.0, 11.0]));
    }
    out.push(at(case(0).input(F32, &[1, 3, 2]).input(F32, &[1, 0, 2]), &[1], &[1.0]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_must_fit() -> std::result::Result<(), crate::Error> {
        let ty = |dims: &[usize]| TensorType::new(ElementType::F32, dims);
        let at = TensorType::new(ElementType::I32, [1]);
        let op = KvAppend { ring: false };
        assert!(op.infer(&Inputs(&[Some(&ty(&[1, 4, 2])), Some(&ty(&[1, 1, 3])), Some(&at)])).is_err());
        assert!(op.infer(&Inputs(&[Some(&ty(&[2, 4, 2])), Some(&ty(&[1, 1, 2])), Some(&at)])).is_err());
        op.infer(&Inputs(&[Some(&ty(&[1, 4, 2])), Some(&ty(&[1, 1, 2])), Some(&at)])).map(drop)?;
        Ok(())
    }
}
