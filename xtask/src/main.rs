//! `cargo run --release -p xtask -- regen` writes include/caldera.h and c_tests/null_arguments.c; `-- check` fails if they would change.

mod header;
mod null_calls;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The root of the repository, as cargo says at run time: a program that another clone built into the same target folder has the path of that clone.
fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs xtask");
    Path::new(&package).parent().expect("xtask lies in the repository").to_path_buf()
}

fn main() -> ExitCode {
    let write = match std::env::args().nth(1).as_deref() {
        Some("regen") => true,
        Some("check") => false,
        _ => {
            eprintln!("usage: xtask regen|check");
            return ExitCode::from(2);
        }
    };
    let header = header::made();
    let calls = null_calls::made(&header);
    let (mut passed, mut failed) = (0, 0);
    for (path, text) in [("include/caldera.h", header), ("c_tests/null_arguments.c", calls)] {
        let file = root().join(path);
        if write {
            std::fs::write(&file, &text).unwrap_or_else(|e| panic!("{path}: {e}"));
        }
        let there = std::fs::read_to_string(&file).unwrap_or_default();
        if there == text {
            passed += 1;
            continue;
        }
        failed += 1;
        let first = text.lines().zip(there.lines()).find(|(made, found)| made != found);
        println!("FAILED {path} is not what src/ffi says: ./run regen writes it; first difference, made and found: {first:?}");
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
