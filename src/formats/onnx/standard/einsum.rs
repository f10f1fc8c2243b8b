//! Einsum: sums over products, named by letters.

use super::Convert;
use crate::formats::onnx::context::Context;
use crate::formats::onnx::express::sizes;
use crate::formats::onnx::read::Operand;
use crate::tensor::{ElementType, Tensor, TensorType};
use crate::{Result, bail, ensure, error};

pub const ROWS: &[(&str, Convert)] = &[("Einsum", einsum)];

/// An operand and the letters of its axes.
struct Term {
    value: Operand,
    letters: Vec<char>,
}

fn einsum(cx: &mut Context) -> Result<Vec<Operand>> {
    let Some(equation) = cx.attributes.text("equation")? else { bail!(InvalidGraph, "there is no equation") };
    let inputs: Vec<Operand> = (0..cx.inputs.len()).map(|i| cx.input(i)).collect::<Result<_>>()?;
    ensure!(!inputs.is_empty(), InvalidGraph, "there are no inputs");
    let element = cx.ty(&inputs[0])?.element;
    // Products are of floats; integers go through f64, exact below 2^53.
    let through = if element.is_float() { element } else { ElementType::F64 };
    let mut types = Vec::new();
    for input in &inputs {
        types.push(cx.ty(input)?);
    }
    let (letters, output) = parse(equation, &types).map_err(|e| e.within(format!("\"{equation}\"")))?;
    let mut terms = Vec::new();
    for (input, letters) in inputs.iter().zip(letters) {
        let value = cx.cast(input, through)?;
        terms.push(diagonal(cx, Term { value, letters })?);
    }
    let mut terms = terms.into_iter();
    let mut result = terms.next().ok_or_else(|| error!(Internal, "an equation has a term"))?;
    let mut left: Vec<Term> = terms.collect();
    while !left.is_empty() {
        let next = left.remove(0);
        let later: Vec<char> = left.iter().flat_map(|t| t.letters.iter().copied()).chain(output.iter().copied()).collect();
        result = contract(cx, result, next, &later)?;
    }
    let result = summed(cx, result, &output)?;
    let perm: Vec<usize> = output
        .iter()
        .map(|c| result.letters.iter().position(|l| l == c).ok_or_else(|| error!(InvalidGraph, "'{c}' is in no input")))
        .collect::<Result<_>>()?;
    let y = cx.transpose(&result.value, &perm)?;
    Ok(vec![cx.cast(&y, element)?])
}

/// Letters of the inputs' axes and of the output's. An ellipsis becomes capital-free marks of its own, aligned at the end.
fn parse(equation: &str, types: &[TensorType]) -> Result<(Vec<Vec<char>>, Vec<char>)> {
    let text: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match text.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (text.as_str(), None),
    };
    let parts: Vec<&str> = left.split(',').collect();
    ensure!(parts.len() == types.len(), InvalidGraph, "{} terms for {} inputs", parts.len(), types.len());
    // Marks for the axes of an ellipsis: characters that are no letters.
    let mark = |i: usize| char::from_u32(0xE000 + i as u32).expect("a private-use character");
    let mut widest = 0;
    let mut out = Vec::new();
    for (part, ty) in parts.iter().zip(types) {
        let named = part.chars().filter(|c| *c != '.').count();
        let hidden = ty.rank().checked_sub(named).filter(|&n| n == 0 || part.contains("..."));
        let Some(hidden) = hidden else { bail!(InvalidGraph, "\"{part}\" for {ty}") };
        widest = widest.max(hidden);
        out.push(letters(part, hidden, &mark)?);
    }
    let output = match right {
        Some(right) => letters(right, widest, &mark)?,
        None => {
            let all: Vec<char> = out.iter().flatten().copied().collect();
            let mut once: Vec<char> =
                all.iter().copied().filter(|c| c.is_ascii_alphabetic() && all.iter().filter(|d| *d == c).count() == 1).collect();
            once.sort_unstable();
            (0..widest).rev().map(mark).chain(once).collect()
        }
    };
    Ok((out, output))
}

/// The letters of one term, with marks for `hidden` axes of an ellipsis, the last of them mark 0.
fn letters(part: &str, hidden: usize, mark: &dyn Fn(usize) -> char) -> Result<Vec<char>> {
    let (before, after) = part.split_once("...").unwrap_or((part, ""));
    let dots = part.contains("...");
    ensure!(before.chars().chain(after.chars()).all(|c| c.is_ascii_alphabetic()), InvalidGraph, "\"{part}\" is no term");
    let marks = (0..if dots { hidden } else { 0 }).rev().map(mark);
    Ok(before.chars().chain(marks).chain(after.chars()).collect())
}

/// A letter that a term has twice: only elements of equal index count.
fn diagonal(cx: &mut Context, mut term: Term) -> Result<Term> {
    while let Some((first, second)) = repeated(&term.letters) {
        let ty = cx.ty(&term.value)?;
        let n = ty.dims[first];
        ensure!(ty.dims[second] == n, InvalidGraph, "a diagonal of {n} by {}", ty.dims[second]);
        let mut dims = vec![1; ty.rank()];
        (dims[first], dims[second]) = (n, n);
        let values: Vec<f64> = (0..n * n).map(|i| f64::from(i / n.max(1) == i % n.max(1))).collect();
        let eye = Operand::constant(Tensor::from_f64(TensorType::new(ElementType::Bool, dims), &values));
        let zero = crate::formats::onnx::express::scalar(ty.element, 0.0);
        let kept = cx.select(&eye, &term.value, &zero)?;
        term.value = cx.reduce("Sum", &kept, &[second], false)?;
        term.letters.remove(second);
    }
    Ok(term)
}

fn repeated(letters: &[char]) -> Option<(usize, usize)> {
    (0..letters.len()).find_map(|i| (i + 1..letters.len()).find(|&j| letters[j] == letters[i]).map(|j| (i, j)))
}

/// Sums over the axes whose letters are not kept.
fn summed(cx: &mut Context, term: Term, kept: &[char]) -> Result<Term> {
    let axes: Vec<usize> = (0..term.letters.len()).filter(|&a| !kept.contains(&term.letters[a])).collect();
    if axes.is_empty() {
        return Ok(term);
    }
    let value = cx.reduce("Sum", &term.value, &axes, false)?;
    Ok(Term { value, letters: term.letters.into_iter().filter(|c| kept.contains(c)).collect() })
}

/// The product of two terms, summed over letters that nothing later needs.
fn contract(cx: &mut Context, a: Term, b: Term, later: &[char]) -> Result<Term> {
    let needed = |other: &Term| other.letters.iter().chain(later).copied().collect::<Vec<char>>();
    let (a_kept, b_kept) = (needed(&b), needed(&a));
    let a = summed(cx, a, &a_kept)?;
    let b = summed(cx, b, &b_kept)?;
    let shared: Vec<char> = a.letters.iter().copied().filter(|c| b.letters.contains(c)).collect();
    let at = |term: &Term, letters: &[char]| -> Vec<usize> {
        letters.iter().filter_map(|c| term.letters.iter().position(|l| l == c)).collect()
    };
    // A shared axis of one element broadcasts: then elementwise is the way.
    let (a_dims, b_dims) = (cx.ty(&a.value)?.dims, cx.ty(&b.value)?.dims);
    let equal = at(&a, &shared).into_iter().zip(at(&b, &shared)).all(|(i, j)| a_dims[i] == b_dims[j]);
    if !equal {
        return multiplied(cx, &a, &b, later);
    }
    let (batch, sum): (Vec<char>, Vec<char>) = shared.iter().partition(|c| later.contains(c));
    let attributes = vec![
        ("a_contract", sizes(&at(&a, &sum))),
        ("b_contract", sizes(&at(&b, &sum))),
        ("a_batch", sizes(&at(&a, &batch))),
        ("b_batch", sizes(&at(&b, &batch))),
    ];
    let value = cx.emit1("DotGeneral", attributes, &[a.value.clone(), b.value.clone()])?;
    let free = |term: &Term| term.letters.iter().copied().filter(|c| !shared.contains(c)).collect::<Vec<char>>();
    Ok(Term { value, letters: [batch.clone(), free(&a), free(&b)].concat() })
}

/// The same by broadcasting and a sum.
fn multiplied(cx: &mut Context, a: &Term, b: &Term, later: &[char]) -> Result<Term> {
    let mut letters = a.letters.clone();
    letters.extend(b.letters.iter().filter(|c| !a.letters.contains(c)));
    let mut aligned = Vec::new();
    for term in [a, b] {
        let dims = cx.ty(&term.value)?.dims;
        let order: Vec<usize> = letters.iter().filter_map(|c| term.letters.iter().position(|l| l == c)).collect();
        let value = cx.transpose(&term.value, &order)?;
        let shape: Vec<usize> =
            letters.iter().map(|c| term.letters.iter().position(|l| l == c).map_or(1, |axis| dims[axis])).collect();
        aligned.push(cx.reshape(&value, &shape)?);
    }
    let value = cx.binary("Mul", &aligned[0], &aligned[1])?;
    summed(cx, Term { value, letters }, later)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(dims: &[&[usize]]) -> Vec<TensorType> {
        dims.iter().map(|d| TensorType::new(ElementType::F32, *d)).collect()
    }

    #[test]
    fn equations_are_read() {
        let (inputs, output) = parse(" ij, jk -> ik", &f32s(&[&[2, 3], &[3, 4]])).expect("right");
        assert_eq!(inputs, [vec!['i', 'j'], vec!['j', 'k']]);
        assert_eq!(output, ['i', 'k']);
        assert_eq!(parse("ba", &f32s(&[&[2, 3]])).expect("right").1, ['a', 'b']);
        let (inputs, output) = parse("...ij,...jk->...ik", &f32s(&[&[5, 2, 3], &[3, 4]])).expect("right");
        assert_eq!((inputs[0].len(), inputs[1].len(), output.len()), (3, 2, 3));
        assert_eq!(inputs[0][0], output[0]);
        for bad in ["ij->i", "i,j->ij", "i.j->ij", "1j->j"] {
            let ranks: &[&[usize]] = if bad == "i,j->ij" { &[&[2]] } else { &[&[2, 3, 4]] };
            assert!(parse(bad, &f32s(ranks)).is_err(), "{bad}");
        }
    }
}
