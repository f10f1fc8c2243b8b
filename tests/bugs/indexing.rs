//! Section B: indexing, tiles, broadcast, rank.

use caldera::Status;
use caldera::tensor::ElementType::*;

use super::*;

#[test]
fn bug_022_products_of_ones_at_the_edges_of_tiles() {
    for n in [1, 63, 65, 127, 129, 191, 200, 257] {
        let product = one("MatMul", &[]).of(full(F32, &[n, n], 1.0)).of(full(F32, &[n, n], 1.0)).terms(n);
        product.gives(full(F32, &[n, n], n as f64));
    }
}

#[test]
fn bug_023_products_of_many_rows() {
    let k = 1024;
    let b = normal(F32, &[k, k], 2);
    for m in [499, 500, 512, 535, 1024] {
        let a = normal(F32, &[m, k], 1);
        // The CPU device takes a while for each.
        let net = one("MatMul", &[]).of(a.clone()).of(b.clone()).net().expect("a graph");
        let y = net.run_on(&DEVICES[0], 1).expect("runs").remove(0);
        let (a, b, y) = (a.as_slice::<f32>(), b.as_slice::<f32>(), y.as_slice::<f32>());
        for i in (0..m).filter(|i| i % 7 == 0 || i + 3 > m) {
            for j in (0..k).filter(|j| j % 61 == i % 61 || j + 2 > k) {
                let want: f64 = (0..k).map(|t| f64::from(a[i * k + t]) * f64::from(b[t * k + j])).sum();
                // Rows are of a deviation of 32.
                assert!((f64::from(y[i * k + j]) - want).abs() < 1e-5 * 100.0, "{m}: [{i},{j}] {} {want}", y[i * k + j]);
            }
        }
    }
}

#[test]
fn bug_025_products_of_views() {
    let k = 1500;
    for (element, dims, axis, start) in [(F16, [10, 64, k], 0, 2), (F16, [8, 64, k + 7], 2, 7), (F32, [8, 69, k], 1, 5)] {
        let whole = normal(element, &dims, 1);
        let b = normal(element, &[8, k, 1], 2);
        let len = [8, 64, k as i64][axis];
        let narrow = [("axis", int(axis as i64)), ("start", int(start)), ("len", int(len))];
        let copy = one("Narrow", &narrow).of(whole.clone()).agree().remove(0);
        let want = one("MatMul", &[]).of(copy).of(b.clone()).terms(k).agree();
        let mut net = Net::default();
        let (whole, b) = (net.input(whole), net.input(b));
        let view = net.node("Narrow", &narrow, &[whole]);
        let y = net.node("MatMul", &[], &[view, b]);
        net.output(y);
        net.gives(&want, k);
    }
}

#[test]
fn bug_026_heads_of_five() {
    let attributes =
        [("num_heads", int(2)), ("num_kv_heads", int(1)), ("head_dim", int(5)), ("layout", text("BSHD")), ("mask", text("None"))];
    let v: [f32; 5] = [1.0, 2.0, 3.0, 4.0, 5.0];
    let run = one("Attention", &attributes)
        .of(normal(F32, &[1, 1, 2, 5], 1))
        .of(normal(F32, &[1, 1, 1, 5], 2))
        .of(tensor(&[1, 1, 1, 5], &v));
    run.gives(tensor(&[1, 1, 2, 5], &[v, v].concat()));
}

/// By numpy's rule.
fn transposed(x: &Tensor, perm: &[usize]) -> Tensor {
    let strides = caldera::tensor::row_strides(x.dims());
    let dims: Vec<usize> = perm.iter().map(|&p| x.dims()[p]).collect();
    let xs = x.as_slice::<f32>();
    let value = |mut i: usize| {
        let mut at = 0;
        for (&p, &d) in perm.iter().zip(&dims).rev() {
            at += i % d * strides[p];
            i /= d;
        }
        xs[at]
    };
    tensor(&dims, &(0..xs.len()).map(value).collect::<Vec<f32>>())
}

#[test]
fn bug_028_transposes_of_any_rank() {
    let cases: [(&[usize], &[usize]); 6] = [
        (&[7], &[0]),
        (&[2, 3, 5, 7, 11], &[4, 2, 0, 3, 1]),
        (&[3, 2, 5, 2, 7, 3], &[5, 0, 4, 1, 3, 2]),
        (&[2, 3, 2, 5, 3, 2, 7, 2], &[7, 3, 5, 1, 6, 0, 2, 4]),
        (&[2, 3, 2, 5, 3, 2, 7, 2], &[0, 2, 1, 3, 4, 6, 5, 7]),
        (&[5, 3, 2, 2, 3, 2, 2, 3], &[7, 6, 5, 4, 3, 2, 1, 0]),
    ];
    for (dims, perm) in cases {
        let x = count(dims);
        let list: Vec<i64> = perm.iter().map(|&p| p as i64).collect();
        one("Transpose", &[("perm", ints(&list))]).of(x.clone()).gives(transposed(&x, perm));
    }
}

#[test]
fn bug_029_permutations_that_are_none() {
    for perm in [&[0i64, 1][..], &[0, 1, 1], &[0, 1, 3], &[], &[0, 1, 2, 3]] {
        let error = one("Transpose", &[("perm", ints(perm))]).of(count(&[2, 3, 5])).refused();
        assert_eq!(error.status, Status::InvalidGraph, "{}", error.message);
    }
}

#[test]
fn bug_031_scalars_of_any_rank() {
    let x = count(&[1, 3, 5, 7]);
    let values = x.to_f64();
    for dims in [&[][..], &[1], &[1, 1, 1, 1], &[1, 1, 1, 1, 1]] {
        let mut out = vec![1; dims.len().saturating_sub(4)];
        out.extend([1, 3, 5, 7]);
        let s = || full(F32, dims, 4.0);
        let want = |f: fn(f64) -> f64| rounded(F32, &out, &values.iter().map(|&v| f(v)).collect::<Vec<_>>());
        one("Sub", &[]).of(x.clone()).of(s()).gives(want(|v| v - 4.0));
        one("Sub", &[]).of(s()).of(x.clone()).gives(want(|v| 4.0 - v));
        one("Div", &[]).of(x.clone()).of(s()).gives(want(|v| v / 4.0));
        one("Div", &[]).of(s()).of(x.clone()).gives(want(|v| 4.0 / v));
    }
}

#[test]
fn bug_032_full_slices_of_permuted_views() {
    let x = normal(F32, &[1, 3, 8, 8], 1);
    let permuted = transposed(&x.clone().reshaped(&[1, 8, 3, 8]), &[0, 2, 3, 1]);
    let w = normal(F32, &[2, 3, 3, 3], 2);
    for consumer in ["Add", "Conv"] {
        let mut net = Net::default();
        let id = net.input(x.clone());
        let id = net.node("Reshape", &[("dims", ints(&[1, 8, 3, 8]))], &[id]);
        let id = net.node("Transpose", &[("perm", ints(&[0, 2, 3, 1]))], &[id]);
        let slice = [("starts", ints(&[0, 0])), ("ends", ints(&[i64::MAX, 8])), ("axes", ints(&[1, 2])), ("steps", ints(&[1, 1]))];
        let id = net.node("Slice", &slice, &[id]);
        let (y, want) = if consumer == "Add" {
            let doubled: Vec<f64> = permuted.to_f64().iter().map(|v| 2.0 * v).collect();
            (net.node("Add", &[], &[id, id]), rounded(F32, permuted.dims(), &doubled))
        } else {
            let at = net.input(w.clone());
            (net.node("Conv", &conv([1, 1], [0, 0], [0, 0], [1, 1]), &[id, at]), convolved(&permuted, &w, [1, 1], [0, 0], [1, 1]))
        };
        net.output(y);
        net.gives(&[want], 27);
    }
}

fn conv(stride: [i64; 2], begin: [i64; 2], end: [i64; 2], dilation: [i64; 2]) -> Vec<(&'static str, Attribute)> {
    vec![("stride", ints(&stride)), ("pad_begin", ints(&begin)), ("pad_end", ints(&end)), ("dilation", ints(&dilation))]
}

/// A convolution in f64, written out, with the same padding on both sides.
fn convolved(x: &Tensor, w: &Tensor, stride: [usize; 2], pad: [usize; 2], dilation: [usize; 2]) -> Tensor {
    let (xd, wd) = (x.dims(), w.dims());
    let extent = |a: usize| (xd[a + 2] + 2 * pad[a] - dilation[a] * (wd[a + 2] - 1) - 1) / stride[a] + 1;
    let dims = [xd[0], wd[0], extent(0), extent(1)];
    let (xs, ws, mut y) = (x.to_f64(), w.to_f64(), Vec::new());
    for n in 0..dims[0] {
        for (o, i, j) in (0..dims[1]).flat_map(|o| (0..dims[2]).flat_map(move |i| (0..dims[3]).map(move |j| (o, i, j)))) {
            let mut sum = 0.0;
            for (c, a, b) in (0..wd[1]).flat_map(|c| (0..wd[2]).flat_map(move |a| (0..wd[3]).map(move |b| (c, a, b)))) {
                let (r, s) = (
                    (i * stride[0] + a * dilation[0]).wrapping_sub(pad[0]),
                    (j * stride[1] + b * dilation[1]).wrapping_sub(pad[1]),
                );
                if r < xd[2] && s < xd[3] {
                    sum += xs[((n * xd[1] + c) * xd[2] + r) * xd[3] + s] * ws[((o * wd[1] + c) * wd[2] + a) * wd[3] + b];
                }
            }
            y.push(sum);
        }
    }
    rounded(F32, &dims, &y)
}

#[test]
fn bug_034_a_mask_an_item() {
    let x = normal(F32, &[2, 4, 3, 8], 1);
    let hidden: Vec<f64> = (0..48).map(|i| if (i * 7 + i / 24) % 3 == 0 { f64::NEG_INFINITY } else { 0.0 }).collect();
    let mask = rounded(F32, &[2, 1, 3, 8], &hidden);
    let mut net = Net::default();
    let (a, m) = (net.input(x.clone()), net.input(mask.clone()));
    let sum = net.node("Add", &[], &[a, m]);
    let y = net.node("Softmax", &[("axis", int(-1))], &[sum]);
    net.output(y);
    let xs = x.to_f64();
    let mut want = Vec::new();
    for row in 0..24 {
        let of = |j: usize| xs[row * 8 + j] + hidden[(row / 12 * 3 + row % 3) * 8 + j];
        let total: f64 = (0..8).map(|j| of(j).exp()).sum();
        want.extend((0..8).map(|j| of(j).exp() / total));
    }
    net.gives(&[rounded(F32, &[2, 4, 3, 8], &want)], 8);
    // The same in attention: with scores of 0 and keys that are rows of the unit matrix, a query sees the mean of those shown.
    let attributes = [("num_heads", int(4)), ("head_dim", int(8)), ("layout", text("BHSD")), ("mask", text("Bias"))];
    let eye: Vec<f64> = (0..2 * 4 * 64).map(|i| f64::from(i % 64 / 8 == i % 8)).collect();
    let run = one("Attention", &attributes)
        .of(full(F32, &[2, 4, 3, 8], 0.0))
        .of(normal(F32, &[2, 4, 8, 8], 3))
        .of(rounded(F32, &[2, 4, 8, 8], &eye))
        .of(mask);
    let mut want = Vec::new();
    for row in 0..24 {
        let shown = |j: usize| f64::from(hidden[(row / 12 * 3 + row % 3) * 8 + j] == 0.0);
        let total: f64 = (0..8).map(shown).sum();
        want.extend((0..8).map(|j| shown(j) / total));
    }
    run.gives(rounded(F32, &[2, 4, 3, 8], &want));
}

#[test]
fn bug_035_softmax_of_many_rows() {
    for (rows, len) in [(511, 4), (512, 5), (513, 4), (1025, 3), (65537, 3)] {
        let x = normal(F32, &[rows, len], 1);
        let mut net = Net::default();
        let (a, b) = (net.input(x.clone()), net.input(normal(F32, &[64], 2)));
        // Neighbours of the result in the arena.
        let before = net.node("Neg", &[], &[b]);
        let y = net.node("Softmax", &[("axis", int(-1))], &[a]);
        let after = net.node("Abs", &[], &[b]);
        let y = net.node("Abs", &[], &[y]);
        let guard = net.node("Add", &[], &[before, after]);
        net.output(y);
        net.output(guard);
        let [vulkan, cpu] = net.both();
        for (got, want) in vulkan.iter().zip(&cpu) {
            near(&format!("{rows} rows"), got, want, len);
        }
        for row in vulkan[0].as_slice::<f32>().chunks(len) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn bug_037_dilations_that_differ() {
    let (x, w) = (normal(F32, &[2, 3, 7, 9], 1), normal(F32, &[4, 3, 3, 3], 2));
    for dilation in [[1, 2], [3, 1]] {
        let signed = dilation.map(|d| d as i64);
        let run = one("Conv", &conv([2, 1], [1, 3], [1, 3], signed)).of(x.clone()).of(w.clone()).terms(27);
        run.gives(convolved(&x, &w, [2, 1], [1, 3], dilation));
    }
}

#[test]
fn bug_038_convolutions_of_large_pictures() {
    let side = 1024;
    let (x, w) = (normal(F32, &[1, 8, side, side], 1), normal(F32, &[1, 8, 3, 3], 2));
    let run = one("Conv", &conv([1, 1], [1, 1], [1, 1], [1, 1])).of(x.clone()).of(w.clone()).terms(72);
    let y = run.net().expect("a graph").run_on(&DEVICES[0], 1).expect("runs").remove(0);
    let (xs, ws, ys) = (x.as_slice::<f32>(), w.as_slice::<f32>(), y.as_slice::<f32>());
    for (i, j) in [(0, 0), (511, 700), (side - 1, side - 1), (side - 1, side - 2), (side - 2, 0), (1000, side - 1), (side - 1, 0)] {
        let mut want = 0.0;
        for (c, a, b) in (0..8).flat_map(|c| (0..3).flat_map(move |a| (0..3).map(move |b| (c, a, b)))) {
            if (1..=side).contains(&(i + a)) && (1..=side).contains(&(j + b)) {
                want += f64::from(xs[(c * side + i + a - 1) * side + j + b - 1]) * f64::from(ws[(c * 3 + a) * 3 + b]);
            }
        }
        assert!((f64::from(ys[i * side + j]) - want).abs() < 1e-4, "[{i},{j}] is {}, not {want}", ys[i * side + j]);
    }
}

#[test]
fn bug_039_slices_backwards_from_the_end() {
    let slice = [("starts", ints(&[-1])), ("ends", ints(&[i64::MIN])), ("axes", ints(&[0])), ("steps", ints(&[-1]))];
    one("Slice", &slice).of(tensor(&[2, 2], &[0i64, 0, 3, 3])).gives(tensor(&[2, 2], &[3i64, 3, 0, 0]));
    let slice = [("starts", ints(&[-1])), ("ends", ints(&[-i64::MAX])), ("axes", ints(&[-2])), ("steps", ints(&[-1]))];
    one("Slice", &slice).of(tensor(&[2, 2], &[0i64, 0, 3, 3])).gives(tensor(&[2, 2], &[3i64, 3, 0, 0]));
}

#[test]
fn bug_040_negative_pads_crop() {
    let pad = |pads: &[i64], mode: &str| {
        one("Pad", &[("pads", ints(pads)), ("mode", text(mode)), ("value", float(9.0))]).of(vector(&[1f32, 2.0, 3.0, 4.0]))
    };
    pad(&[-1, 2], "Constant").gives(vector(&[2f32, 3.0, 4.0, 9.0, 9.0]));
    pad(&[2, -3], "Constant").gives(vector(&[9f32, 9.0, 1.0]));
    pad(&[-1, 2], "Edge").gives(vector(&[2f32, 3.0, 4.0, 4.0, 4.0]));
    pad(&[-5, 0], "Constant").refused();
}

#[test]
fn bug_041_indices_out_of_range() {
    let data = || count(&[3, 2]);
    for ty in [I32, I64] {
        let idx = |values: &[f64]| rounded(ty, &[values.len()], values);
        one("Gather", &[("axis", int(0))]).of(data()).of(idx(&[-1.0, -3.0])).gives(tensor(&[2, 2], &[4f32, 5.0, 0.0, 1.0]));
        for bad in [3.0, -4.0, 2147483647.0, -2147483648.0] {
            let runs = [
                one("Gather", &[("axis", int(0))]).of(data()).of(idx(&[0.0, bad])),
                one("GatherElements", &[("axis", int(0))]).of(data()).of(rounded(ty, &[1, 2], &[0.0, bad])),
                one("GatherND", &[]).of(data()).of(rounded(ty, &[1, 1], &[bad])),
                one("ScatterElements", &[("axis", int(0))]).of(data()).of(rounded(ty, &[1, 2], &[0.0, bad])).of(count(&[1, 2])),
                one("ScatterND", &[]).of(data()).of(rounded(ty, &[1, 1], &[bad])).of(count(&[1, 2])),
                one("ScatterAdd", &[("rows", int(3))]).of(count(&[2, 2])).of(idx(&[0.0, bad])),
            ];
            for run in runs {
                let error = run.refused();
                assert_eq!(error.status, Status::IndexOutOfRange, "{}: {}", run.operator, error.message);
                assert!(error.message.contains(&format!("{bad}")), "{}: {}", run.operator, error.message);
            }
        }
    }
}

#[test]
fn bug_042_adds_to_the_same_place() {
    let index = tensor(&[1, 2, 3], &[0i64, 1, 2, 0, 1, 1]);
    let add = [("axis", int(1)), ("reduction", text("Add"))];
    let run = one("ScatterElements", &add)
        .of(full(F32, &[1, 3, 5], 0.0))
        .of(index)
        .of(tensor(&[1, 2, 3], &[1f32, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let want = [5f32, 0.0, 0.0, 0.0, 0.0, 0.0, 7.0, 6.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0];
    run.gives(tensor(&[1, 3, 5], &want));
    let n = 100_000;
    let slots: Vec<i32> = (0..n).map(|i| i * 7 % 3).collect();
    let counts = [0, 1, 2].map(|s| slots.iter().filter(|&&v| v == s).count() as f64);
    let ones = full(F32, &[n as usize, 1], 1.0);
    let y = one("ScatterAdd", &[("rows", int(3))]).of(ones).of(vector(&slots)).agree().remove(0);
    assert_eq!(y.to_f64(), counts);
    let values = normal(F32, &[n as usize, 1], 5);
    one("ScatterAdd", &[("rows", int(3))]).of(values).of(vector(&slots)).terms(40_000).agree();
}
