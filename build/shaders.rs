//! Compiles every variant, in parallel and through a cache, and writes kernels.rs.
//!
//! A kernel that needs what lesser devices lack (PLAIN_WITHOUT) has a second, plain form beside it, of the same source: where it includes X.glsl
//! and there is an X.plain.glsl, that is taken instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::pack::pack;
use crate::reflect::{Reflection, reflect};
use crate::variants::Variant;

/// Changes when the options of the compiler do, so that no stale result is taken from the cache.
const COMPILER_OPTIONS: &str = "shaderc 0.10, vulkan1.2, spirv1.5, v1";

/// Capabilities that a plain form does without: subgroup arithmetic, shuffles, storage of 16 and of 8 bits.
const PLAIN_WITHOUT: [u32; 5] = [63, 65, 66, 4433, 4448];

pub fn compile(variants: &[Variant], out: &Path) {
    let cache = out.join("../../caldera-shader-cache");
    std::fs::create_dir_all(&cache).expect("the build folder is writable");
    let (next, results, failed) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, |n| n.get()) {
            scope.spawn(|| {
                let compiler = shaderc::Compiler::new().expect("shaderc starts");
                while let Some(variant) = variants.get(next.fetch_add(1, Ordering::Relaxed)) {
                    match one(&compiler, variant, &cache) {
                        Ok(compiled) => drop(results.lock().expect("no panic").insert(variant.name.clone(), compiled)),
                        Err(message) => failed.lock().expect("no panic").push(message),
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no panic");
    if !failed.is_empty() {
        eprintln!("{}", failed.join("\n"));
        std::process::exit(1);
    }
    write_kernels(variants, &results.into_inner().expect("no panic"), out);
}

/// The shader's text with the files it includes put in place, each once.
fn source(path: &Path, plain: bool, seen: &mut Vec<PathBuf>) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut out = String::new();
    for (number, line) in text.lines().enumerate() {
        match line.trim().strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) {
            Some(name) => {
                let mut included = Path::new("shaders").join(name);
                let replacement = included.with_extension("plain.glsl");
                if plain && replacement.exists() {
                    included = replacement;
                }
                if !seen.contains(&included) {
                    seen.push(included.clone());
                    out += &source(&included, plain, seen)?;
                    let _ = writeln!(out, "#line {}", number + 2);
                }
            }
            None => out += &format!("{line}\n"),
        }
    }
    Ok(out)
}

/// A compiled variant: the SPIR-V that ships, and the same before the optimiser took the names away.
struct Compiled {
    code: Vec<u32>,
    named: Vec<u32>,
    /// The plain form, where there is one.
    plain: Option<Box<Compiled>>,
}

fn one(compiler: &shaderc::Compiler, variant: &Variant, cache: &Path) -> Result<Compiled, String> {
    let mut compiled = form(compiler, variant, None, cache)?;
    if variant.plain && reflect(&compiled.code).capabilities.iter().any(|c| PLAIN_WITHOUT.contains(c)) {
        let invocations = reflect(&compiled.named).local_size.iter().product();
        let plain = form(compiler, variant, Some(invocations), cache)?;
        if let Some(capability) = reflect(&plain.code).capabilities.iter().find(|c| PLAIN_WITHOUT.contains(c)) {
            return Err(format!("{} ({}): the plain form needs capability {capability}", variant.file.display(), variant.name));
        }
        compiled.plain = Some(Box::new(plain));
    }
    Ok(compiled)
}

/// The variant, or with `plain`, the size of its workgroup, its plain form.
fn form(compiler: &shaderc::Compiler, variant: &Variant, plain: Option<u32>, cache: &Path) -> Result<Compiled, String> {
    let text = source(&variant.file, plain.is_some(), &mut Vec::new())?;
    let invocations = plain.map(|n| ("INVOCATIONS".to_string(), format!("{n}u")));
    let mut defines: Vec<&(String, String)> = variant.defines.iter().chain(&invocations).collect();
    defines.sort();
    defines.dedup();
    let (version, body) = text.split_once('\n').unwrap_or((&text, ""));
    let lines: String = defines.iter().map(|(name, value)| format!("#define {name} {value}\n")).collect();
    let text = format!("{version}\n{lines}#line 2\n{body}");
    let named = stage(compiler, variant, &text, shaderc::OptimizationLevel::Zero, cache)?;
    if !variant.optimize {
        return Ok(Compiled { code: named.clone(), named, plain: None });
    }
    let code = stage(compiler, variant, &text, shaderc::OptimizationLevel::Performance, cache)?;
    if has_narrow_constants(&code) {
        return Ok(Compiled { code: named.clone(), named, plain: None });
    }
    Ok(Compiled { code, named, plain: None })
}

/// True if there is a constant of 8 or 16 bits without the capability for such arithmetic. The optimiser makes them when it folds the
/// conversion of a constant that is stored to a narrow type; the module is then invalid, the unoptimised one is not.
fn has_narrow_constants(spirv: &[u32]) -> bool {
    const CAPABILITY: u32 = 17;
    const TYPE_INT: u32 = 21;
    const TYPE_FLOAT: u32 = 22;
    const CONSTANT: u32 = 43;
    const FLOAT16: u32 = 9;
    const INT16: u32 = 22;
    const INT8: u32 = 39;
    let (mut capabilities, mut narrow) = (Vec::new(), Vec::new());
    let mut rest = &spirv[5..];
    while let [first, ..] = rest {
        let (length, code) = ((first >> 16) as usize, first & 0xffff);
        let instruction = &rest[..length];
        let needed = match (code, instruction.get(2)) {
            (TYPE_INT, Some(8)) => Some(INT8),
            (TYPE_INT, Some(16)) => Some(INT16),
            (TYPE_FLOAT, Some(16)) => Some(FLOAT16),
            _ => None,
        };
        match (code, needed) {
            (CAPABILITY, _) => capabilities.push(instruction[1]),
            (_, Some(needed)) if !capabilities.contains(&needed) => narrow.push(instruction[1]),
            (CONSTANT, _) if narrow.contains(&instruction[1]) => return true,
            _ => {}
        }
        rest = &rest[length..];
    }
    false
}

fn stage(
    compiler: &shaderc::Compiler,
    variant: &Variant,
    text: &str,
    level: shaderc::OptimizationLevel,
    cache: &Path,
) -> Result<Vec<u32>, String> {
    let mut hasher = DefaultHasher::new();
    (COMPILER_OPTIONS, text, level as u32).hash(&mut hasher);
    let cached = cache.join(format!("{:016x}.spv", hasher.finish()));
    if let Ok(bytes) = std::fs::read(&cached) {
        return Ok(bytes.chunks_exact(4).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]])).collect());
    }
    let mut options = shaderc::CompileOptions::new().map_err(|e| e.to_string())?;
    options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_2 as u32);
    options.set_target_spirv(shaderc::SpirvVersion::V1_5);
    options.set_optimization_level(level);
    let result = compiler
        .compile_into_spirv(text, shaderc::ShaderKind::Compute, &variant.name, "main", Some(&options))
        .map_err(|e| format!("{} ({}): {e}", variant.file.display(), variant.name))?;
    let temporary = cached.with_extension(format!("{}.part", std::process::id()));
    if std::fs::write(&temporary, result.as_binary_u8()).is_ok() {
        let _ = std::fs::rename(&temporary, &cached);
    }
    Ok(result.as_binary().to_vec())
}

fn write_kernels(variants: &[Variant], compiled: &BTreeMap<String, Compiled>, out: &Path) {
    let mut families: BTreeMap<&str, Vec<(usize, &Variant)>> = BTreeMap::new();
    let mut table = String::new();
    let (mut packed, mut plain_rows, mut plain_count) = (Vec::new(), String::new(), 0);
    for (index, variant) in variants.iter().enumerate() {
        families.entry(&variant.family).or_default().push((index, variant));
        let compiled = &compiled[&variant.name];
        let plain = compiled.plain.as_ref().map(|plain| {
            plain_rows += &row(&format!("{}_plain", variant.name), plain, None, &mut packed);
            plain_count += 1;
            variants.len() + plain_count - 1
        });
        table += &row(&variant.name, compiled, plain, &mut packed);
    }
    let count = variants.len() + plain_count;
    let mut text = format!("pub(super) static KERNELS: [KernelInfo; {count}] = [\n{table}{plain_rows}];\n");
    text += "pub(super) static SPIRV: &[u8] = include_bytes!(concat!(env!(\"OUT_DIR\"), \"/kernels.spv\"));\n";
    text += "/// One function a family: the kernel for the values of its axes, in the order of their names.\npub mod kernel {\nuse super::*;\n";
    for (family, members) in families {
        let count = members[0].1.values.len();
        let parameters: Vec<String> = (0..count).map(|i| format!("v{i}: &str")).collect();
        let arguments: Vec<String> = (0..count).map(|i| format!("v{i}")).collect();
        let arms: String = members.iter().map(|(i, v)| format!("({:?}, {i}), ", v.values.join(" "))).collect();
        let _ = writeln!(
            text,
            "pub fn {family}({}) -> Result<Kernel> {{ find({family:?}, &[{}], &[{arms}]) }}",
            parameters.join(", "),
            arguments.join(", ")
        );
    }
    text += "}\n";
    std::fs::write(out.join("kernels.spv"), packed).expect("OUT_DIR is writable");
    std::fs::write(out.join("kernels.rs"), text).expect("OUT_DIR is writable");
}

/// The row of a kernel in the table, `plain` being the place of its plain form; its code goes to `packed`.
fn row(name: &str, kernel: &Compiled, plain: Option<usize>, packed: &mut Vec<u8>) -> String {
    let r = Reflection { capabilities: reflect(&kernel.code).capabilities, ..reflect(&kernel.named) };
    let (start, words) = (packed.len(), kernel.code.len());
    packed.extend(pack(&kernel.code));
    let packed = start..packed.len();
    let push: String = r
        .push
        .iter()
        .map(|m| format!("PushMember {{ name: {:?}, offset: {}, kind: PushKind::{} }}, ", m.name, m.offset, m.kind))
        .collect();
    let spec: String = r.spec.iter().map(|(name, id)| format!("({name:?}, {id}), ")).collect();
    format!(
        "    KernelInfo {{ name: {name:?}, packed: {packed:?}, words: {words}, push: &[{push}], spec: &[{spec}], local_size: {:?}, capabilities: &{:?}, plain: {plain:?} }},\n",
        r.local_size, r.capabilities
    )
}
