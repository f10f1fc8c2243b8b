//! Section A: overflow, NaN, cancellation.

use caldera::tensor::ElementType::{self, *};

use super::*;

const INF: f64 = f64::INFINITY;

fn column(values: &[f64]) -> Tensor {
    rounded(F32, &[values.len(), 1], values)
}

#[test]
fn bug_001_gelu_tanh_tail() {
    let tail = || one("GeluTanh", &[]).of(column(&[-13.24, -100.0, 13.24, 30.0, 1e4]));
    tail().gives_each(&[0.0, 0.0, 13.24f32.into(), 30.0, 1e4]);
    for outputs in tail().both() {
        let got = outputs[0].as_slice::<f32>();
        assert!(got[..2].iter().all(|v| v.is_sign_negative()), "{got:?}");
    }
    one("Tanh", &[]).of(column(&[-100.0, 100.0])).gives_each(&[-1.0, 1.0]);
    let x = [100.0, -100.0, 1e4, -1e4];
    one("Sigmoid", &[]).of(column(&x)).gives_each(&[1.0, 0.0, 1.0, 0.0]);
    for name in ["Silu", "Softplus", "Mish"] {
        one(name, &[]).of(column(&x)).gives_each(&[100.0, 0.0, 1e4, 0.0]);
    }
}

#[test]
fn bug_002_gelu_of_twenty() {
    for element in [F32, F16] {
        one("Gelu", &[]).of(rounded(element, &[1], &[20.625])).gives_each(&[20.625]);
    }
}

/// q [1,1,2,4], k and v [1,1,3,4], v = 0..11, all scores equal.
fn attention(mask: &str, given: Option<Tensor>) -> One {
    let attributes = [("num_heads", int(1)), ("head_dim", int(4)), ("layout", text("BHSD")), ("mask", text(mask))];
    let at =
        one("Attention", &attributes).of(full(F32, &[1, 1, 2, 4], 1.0)).of(full(F32, &[1, 1, 3, 4], 1.0)).of(count(&[1, 1, 3, 4]));
    match given {
        Some(mask) => at.of(mask),
        None => at,
    }
}

#[test]
fn bug_004_a_row_without_keys_is_zero() {
    let mask = rounded(Bool, &[1, 1, 2, 3], &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    attention("Custom", Some(mask)).gives(tensor(&[1, 1, 2, 4], &[2f32, 3.0, 4.0, 5.0, 0.0, 0.0, 0.0, 0.0]));
    attention("Causal", None).gives(tensor(&[1, 1, 2, 4], &[2f32, 3.0, 4.0, 5.0, 4.0, 5.0, 6.0, 7.0]));
}

#[test]
fn bug_005_all_rows_without_keys() {
    let zeros = || full(F32, &[1, 1, 2, 4], 0.0);
    attention("Custom", Some(full(Bool, &[1, 1, 2, 3], 0.0))).gives(zeros());
    attention("Bias", Some(full(F32, &[1, 1, 2, 3], -INF))).gives(zeros());
    // Rows that are equal are not masked.
    let mean = tensor(&[1, 1, 2, 4], &[4f32, 5.0, 6.0, 7.0, 4.0, 5.0, 6.0, 7.0]);
    attention("Bias", Some(full(F32, &[1, 1, 2, 3], f32::MIN.into()))).gives(mean);
}

#[test]
fn bug_010_squares_that_leave_the_range() {
    let rms = |value: f64, eps: f64| {
        one("RmsNorm", &[("eps", float(eps))]).of(full(F32, &[1, 512], value)).of(full(F32, &[512], 1.0)).terms(512)
    };
    for value in [1e18, 1e19, 1e25] {
        rms(value, 1e-5).gives(full(F32, &[1, 512], 1.0));
    }
    rms(1e-25, 0.0).gives(full(F32, &[1, 512], 1.0));
}

/// A q4_k block whose 256 weights are 1.
fn ones_q4_k() -> Vec<u8> {
    let mut block = vec![0u8; 144];
    block[..2].copy_from_slice(&half::f16::ONE.to_le_bytes());
    block[4..8].fill(1); // scales of blocks 0..3, mins 0
    block[12..16].fill(1); // of blocks 4..7
    block[16..].fill(0x11);
    block
}

#[test]
fn bug_011_sums_above_f16_of_narrow_weights() {
    let w = Tensor::from_bytes(TensorType::new(Q4K, [3, 4096]), &ones_q4_k().repeat(48)).expect("48 blocks");
    for m in [1, 9] {
        let product = one("DequantMatMul", &[("scheme", text("q4_k"))]).of(full(F32, &[m, 4096], 17.0)).of(w.clone()).terms(4096);
        product.gives(full(F32, &[m, 3], 69632.0));
    }
    // Partial sums of f16 leave its range, the sum does not.
    let row: Vec<f64> = (0..8192).map(|i| if i < 4096 { 17.0 } else { -17.0 } + if i == 8191 { 3.0 } else { 0.0 }).collect();
    let product = one("MatMul", &[]).of(rounded(F16, &[1, 8192], &row)).of(full(F16, &[8192, 2], 1.0)).terms(8192);
    product.gives(full(F16, &[1, 2], 3.0));
}

#[test]
fn bug_013_steps_at_zero_and_nan() {
    let x = || vector(&[0f32, -0.0, f32::NAN, 1e-40]);
    let zero = || full(F32, &[1], 0.0);
    // 1e-40 may be flushed to 0.
    let either = |run: One, want: [f64; 3], last: [f64; 2]| {
        for outputs in run.both() {
            let got = outputs[0].to_f64();
            assert!(
                got[..3].iter().zip(want).all(|(g, w)| g.to_bits() & !(1 << 63) == w.to_bits() || (g.is_nan() && w.is_nan())),
                "{got:?}"
            );
            assert!(last.contains(&got[3]) || got[3].abs() < 2e-40 && last[0] < 1.0 && last[0] > 0.0, "{got:?}");
        }
    };
    either(one("Gt", &[]).of(x()).of(zero()), [0.0; 3], [1.0, 0.0]);
    either(one("Ge", &[]).of(x()).of(zero()), [1.0, 1.0, 0.0], [1.0, 1.0]);
    either(one("Lt", &[]).of(x()).of(zero()), [0.0; 3], [0.0, 0.0]);
    either(one("Ne", &[]).of(x()).of(x()), [0.0, 0.0, 1.0], [0.0, 0.0]);
    either(one("Sign", &[]).of(x()), [0.0, 0.0, f64::NAN], [1.0, 0.0]);
    either(one("Relu", &[]).of(x()), [0.0, 0.0, f64::NAN], [1e-40, 0.0]);
}

#[test]
fn bug_014_powers_of_negative_numbers() {
    let (a, b) = ([-2000f32, -2.0, -2.0, 0.0, -8.0], [2f32, 3.0, 0.5, 0.0, 1.0 / 3.0]);
    one("Pow", &[]).of(vector(&a)).of(vector(&b)).gives_each(&[4e6, -8.0, f64::NAN, 1.0, f64::NAN]);
}

#[test]
fn bug_016_remainders() {
    let (a, b) = ([-7, 7, -7, 7, i32::MIN, i32::MIN], [3, -3, -3, 3, -1, 3]);
    one("Mod", &[]).of(vector(&a)).of(vector(&b)).gives(vector(&[2, -2, -1, 1, 0, 1]));
    one("FMod", &[]).of(vector(&a)).of(vector(&b)).gives(vector(&[-1, 1, -1, 1, 0, -2]));
    one("FMod", &[]).of(vector(&[-7.5f32, 7.5, -7.5])).of(vector(&[2f32, -2.0, -2.0])).gives_each(&[-1.5, 1.5, -1.5]);
    one("Div", &[]).of(vector(&[-7, 7, i32::MIN, 5])).of(vector(&[2, -2, -1, 0])).gives(vector(&[-3, -3, i32::MIN, 0]));
    let (n, i) = (f32::NAN, f32::INFINITY);
    let (a, b) = ([-0f32, 0.0, i, 5.0, n, -7.5, 1.0], [2f32, -2.0, 2.0, i, 2.0, 2.0, 0.0]);
    for outputs in one("FMod", &[]).of(vector(&a)).of(vector(&b)).both() {
        let got = outputs[0].as_slice::<f32>();
        assert!(
            got[0] == 0.0 && got[0].is_sign_negative() && got[2].is_nan() && got[3] == 5.0 && got[4].is_nan() && got[6].is_nan(),
            "{got:?}"
        );
    }
    for outputs in one("Mod", &[]).of(vector(&a)).of(vector(&b)).both() {
        let got = outputs[0].as_slice::<f32>();
        assert!(
            got[0] == 0.0 && got[1] == 0.0 && got[2].is_nan() && got[4].is_nan() && got[5] == 0.5 && got[6].is_nan(),
            "{got:?}"
        );
    }
}

#[test]
fn bug_017_integer_powers_wrap() {
    one("Pow", &[]).of(vector(&[-47i64])).of(vector(&[66i64])).gives(vector(&[-3898719529840714591i64]));
    one("Pow", &[]).of(vector(&[3i32])).of(vector(&[20i32])).gives(vector(&[-808182895i32]));
}

#[test]
fn bug_018_integers_stay_integers() {
    let x = || vector(&(0..10000).collect::<Vec<i32>>());
    one("Reduce", &[("kind", text("Sum"))]).of(x()).gives(tensor(&[], &[49995000i32]));
    let sums: Vec<i32> = (0..10000i32)
        .scan(0, |s, i| {
            *s += i;
            Some(*s)
        })
        .collect();
    one("Cumsum", &[("axis", int(0))]).of(x()).gives(vector(&sums));
    let big = [16777217i64, (1 << 40) + 1, i64::MIN + 1];
    one("Gather", &[("axis", int(0))]).of(vector(&big)).of(vector(&[1i32, 0, 2])).gives(vector(&[big[1], big[0], big[2]]));
    one("Cast", &[("to", text("i64"))]).of(vector(&[16777217i32])).gives(vector(&[16777217i64]));
    one("Max", &[]).of(vector(&big)).of(vector(&[16777216i64, 1 << 40, i64::MIN])).gives(vector(&big));
    let mut table = vec![0u8; 16777219];
    table[16777216..].copy_from_slice(&[1, 2, 3]);
    one("Gather", &[("axis", int(0))]).of(vector(&table)).of(vector(&[16777217i64, -1])).gives(vector(&[2u8, 3]));
    one("Gather", &[("axis", int(0))]).of(vector(&table)).of(vector(&[16777217i32])).gives(vector(&[2u8]));
}

/// NaN propagates in every maximum and minimum, and is the extreme of orders.
#[test]
fn bug_020_nan_in_extremes() {
    let n = f64::NAN;
    for place in 0..5 {
        let row: Vec<f64> = (0..5).map(|i| if i == place { n } else { f64::from(i as u32) }).collect();
        for element in [F32, F16, F64] {
            let x = || rounded(element, &[1, 1, 5], &row);
            for kind in ["Max", "Min"] {
                one("Reduce", &[("kind", text(kind)), ("axes", ints(&[2]))]).of(x()).gives(full(element, &[1, 1], n));
                one(kind, &[]).of(x()).of(full(element, &[1], 7.0)).gives(one_nan(element, &row, kind));
            }
            let window = [("kind", text("Max")), ("kernel", ints(&[5])), ("stride", ints(&[1]))];
            let rest = [("pad_begin", ints(&[0])), ("pad_end", ints(&[0])), ("dilation", ints(&[1]))];
            one("Pool", &[window, rest].concat()).of(x()).gives(full(element, &[1, 1, 1], n));
            one("ArgMax", &[("axis", int(2))]).of(x()).gives(tensor(&[1, 1], &[place as i64]));
            one("ArgMin", &[("axis", int(2))]).of(x()).gives(tensor(&[1, 1], &[place as i64]));
            for outputs in one("TopK", &[("k", int(2))]).of(x()).both() {
                assert_eq!(outputs[1].as_slice::<i64>(), [place as i64, if place == 4 { 3 } else { 4 }]);
                assert!(outputs[0].to_f64()[0].is_nan());
            }
        }
    }
}

/// The row against 7.
fn one_nan(element: ElementType, row: &[f64], kind: &str) -> Tensor {
    let pick = |v: f64| {
        if v.is_nan() {
            v
        } else if kind == "Max" {
            7.0
        } else {
            v
        }
    };
    rounded(element, &[1, 1, row.len()], &row.iter().map(|&v| pick(v)).collect::<Vec<_>>())
}
