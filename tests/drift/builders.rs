//! Every operator of the table has a C builder.

use std::collections::BTreeSet;

use super::{caldera_h, functions, root};

/// Names of operators as the builders' source spells them.
fn built() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("src/ffi/builders")).expect("the builders are there").flatten() {
        let text = std::fs::read_to_string(entry.path()).expect("a source file");
        for call in ["one(", "plain(", "many(", "several(", "add("] {
            for rest in text.split(call).skip(1) {
                let rest = rest.trim_start();
                if let Some(name) = rest.strip_prefix('"').and_then(|r| r.split('"').next()) {
                    names.insert(name.to_string());
                }
            }
        }
    }
    names
}

#[test]
fn every_operator_has_a_builder() {
    let built = built();
    let missing: Vec<&str> = caldera::ops::table().map(|e| e.name).filter(|&name| !built.contains(name)).collect();
    assert!(missing.is_empty(), "operators without a builder in src/ffi/builders: {missing:?}");
}

#[test]
fn names_are_unique() {
    let all = functions(&caldera_h());
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!(all.len(), distinct.len());
    assert!(all.len() > 150, "{} functions", all.len());
}
