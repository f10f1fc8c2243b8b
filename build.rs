//! Compiles shaders/ to SPIR-V and writes the list of kernels that `src/kernels.rs` includes.
//!
//! shaders/*/variants.toml name the kernels. What the Rust side must agree on with a shader (push constant members,
//! specialization constants, workgroup size, capabilities) is read from the SPIR-V itself.

#[path = "build/pack.rs"]
mod pack;
#[path = "build/reflect.rs"]
mod reflect;
#[path = "build/shaders.rs"]
mod shaders;
#[path = "src/kernels/unpack.rs"]
mod unpack;
#[path = "build/variants.rs"]
mod variants;

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=shaders");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    println!("cargo:rerun-if-changed=src/kernels/unpack.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let variants = variants::read(&PathBuf::from("shaders"));
    shaders::compile(&variants, &out);
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcaldera.so.0");
    }
}
