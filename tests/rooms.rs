//! Knowledge looks down only: a room may use those that docs/internals.md lists for it, and no other.

use std::path::{Path, PathBuf};

/// Each room and what it may use. `error` and `log` serve all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("tensor", &[]),
    ("kernels", &[]),
    ("graph", &["ops", "tensor"]),
    ("ops", &["graph", "kernels", "plan", "tensor"]),
    ("passes", &["graph", "ops", "tensor"]),
    ("plan", &["graph", "kernels", "ops", "tensor"]),
    ("vulkan", &["kernels"]),
    ("runtime", &["graph", "ops", "passes", "plan", "tensor", "vulkan"]),
    ("formats", &["graph", "ops", "tensor"]),
    ("models", &["formats", "graph", "ops", "runtime", "tensor"]),
    ("ffi", &["formats", "graph", "models", "ops", "plan", "runtime", "tensor"]),
];

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("src is readable").flatten() {
        match entry.path() {
            path if path.is_dir() => files(&path, out),
            path if path.extension().is_some_and(|e| e == "rs") => out.push(path),
            _ => {}
        }
    }
}

/// At run time: this program may have been built from another clone.
fn src() -> PathBuf {
    Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs the tests")).join("src")
}

/// A file without its tests.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).expect("a source file");
    text.split("#[cfg(test)]").next().unwrap_or_default().into()
}

/// Messages are for people: `Some(3)` and `Kind(Cpu)` are not. Titles of test cases are the one place where operators print as Rust does.
#[test]
fn messages_have_no_debug_text() {
    let (mut list, mut problems) = (Vec::new(), Vec::new());
    files(&src(), &mut list);
    for file in list.iter().filter(|f| !f.ends_with("ops/case.rs") && !f.ends_with("tests.rs")) {
        for (k, line) in code(file).lines().enumerate() {
            let is_message = (line.contains(":?}") || line.contains(":#?}")) && !line.contains("unreachable!");
            if is_message {
                problems.push(format!("{}:{}: {}", file.display(), k + 1, line.trim()));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_room_uses_one_above_it() {
    let src = src();
    let mut problems = Vec::new();
    for (room, allowed) in MAY_USE {
        let mut list = Vec::new();
        match src.join(room) {
            folder if folder.is_dir() => files(&folder, &mut list),
            folder => list.push(folder.with_extension("rs")),
        }
        assert!(!list.is_empty(), "{room} has no files");
        for file in list {
            // Tests may look anywhere.
            let code = code(&file);
            for (other, _) in MAY_USE {
                let used = code.contains(&format!("crate::{other}::")) || code.contains(&format!("crate::{{{other}"));
                if used && other != room && !allowed.contains(other) {
                    problems.push(format!("{} uses {other}", file.strip_prefix(&src).unwrap_or(&file).display()));
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
