//! What must agree with the C header: struct layouts, enums, exported symbols, versions, builders. (That the header itself is what
//! src/ffi says is checked by xtask.)

mod builders;
mod layout;
mod library;
mod numbers;

use std::path::PathBuf;
use std::process::Command;

/// The root of the repository, as cargo says at run time: a program that another clone built into the same target folder has the path of that clone.
fn root() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs the tests").into()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The committed header.
fn caldera_h() -> String {
    read("include/caldera.h")
}

/// The folder that cargo built this test's library into.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("this program has a path");
    test.ancestors().nth(2).expect("tests lie in <profile>/deps").to_path_buf()
}

/// Standard output of a program that must succeed.
fn output(command: &mut Command) -> String {
    let out = command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).expect("text")
}

/// Every function that the header declares. A declaration begins at the start of a line, and its name is on that line.
fn functions(header: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in header.lines().filter(|l| !l.starts_with([' ', '/', '#', '}']) && !l.starts_with("typedef")) {
        let Some(open) = line.find('(') else { continue };
        let start = line[..open].rfind([' ', '*']).map_or(0, |i| i + 1);
        if line[start..].starts_with("caldera_") {
            names.push(line[start..open].to_string());
        }
    }
    names
}
