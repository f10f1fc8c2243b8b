//! The shared library: what it exports, what it needs, its name.

use std::collections::BTreeSet;
use std::process::Command;

use super::{built, caldera_h, functions, output, read};

fn library() -> std::path::PathBuf {
    let path = built().join("libcaldera.so");
    // Cargo makes the library's cdylib before integration tests, beside its hashed name in deps.
    if path.is_file() { path } else { built().join("deps/libcaldera.so") }
}

#[test]
fn exports_are_the_functions_of_the_header() {
    let listed = output(Command::new("nm").args(["-D", "--defined-only"]).arg(library()));
    let exported: BTreeSet<String> =
        listed.lines().filter_map(|l| l.split_whitespace().nth(2)).map(|s| s.split('@').next().unwrap_or(s).to_string()).collect();
    let declared: BTreeSet<String> = functions(&caldera_h()).into_iter().collect();
    let hidden: Vec<&String> = declared.difference(&exported).collect();
    let stray: Vec<&String> = exported.difference(&declared).collect();
    assert!(hidden.is_empty() && stray.is_empty(), "declared but not exported: {hidden:?}; exported but not declared: {stray:?}");
}

#[test]
fn needs_only_the_c_library() {
    let dynamic = output(Command::new("readelf").args(["-d", "-W"]).arg(library()));
    let bracketed = |line: &str| line.split('[').nth(1).and_then(|l| l.split(']').next()).map(String::from);
    let needed: Vec<String> = dynamic.lines().filter(|l| l.contains("(NEEDED)")).filter_map(bracketed).collect();
    let allowed = ["libc.so.6", "libm.so.6", "libdl.so.2", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"];
    let stray: Vec<&String> = needed.iter().filter(|n| !allowed.contains(&n.as_str())).collect();
    assert!(!needed.is_empty() && stray.is_empty(), "the library needs {stray:?}");
    let soname: Vec<String> = dynamic.lines().filter(|l| l.contains("(SONAME)")).filter_map(bracketed).collect();
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    assert_eq!(soname, [format!("libcaldera.so.{major}")]);
}

#[test]
fn versions_agree() {
    let version = env!("CARGO_PKG_VERSION");
    assert!(read("CMakeLists.txt").contains(&format!("VERSION {version}")), "CMakeLists.txt has another version than {version}");
    let abi = caldera::ffi::CALDERA_ABI_VERSION;
    assert!(caldera_h().contains(&format!("#define CALDERA_ABI_VERSION {abi}\n")));
}
