//! Reads from SPIR-V what the host must know of a kernel.

use std::collections::{BTreeMap, HashMap};

/// A member of the push constant block.
pub struct Member {
    pub name: String,
    pub offset: u32,
    /// "Address" (uvec2), "U32", "I32" or "F32".
    pub kind: &'static str,
}

#[derive(Default)]
pub struct Reflection {
    pub push: Vec<Member>,
    /// Name and id of each specialization constant.
    pub spec: Vec<(String, u32)>,
    pub local_size: [u32; 3],
    pub capabilities: Vec<u32>,
}

const STORAGE_PUSH_CONSTANT: u32 = 9;
const DECORATION_SPEC_ID: u32 = 1;
const DECORATION_OFFSET: u32 = 35;
const MODE_LOCAL_SIZE: u32 = 17;

fn text(words: &[u32]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).take_while(|&b| b != 0).collect();
    String::from_utf8(bytes).expect("SPIR-V names are UTF-8")
}

pub fn reflect(spirv: &[u32]) -> Reflection {
    let mut out = Reflection::default();
    let (mut names, mut member_names, mut offsets) = (HashMap::new(), HashMap::new(), BTreeMap::new());
    let (mut scalars, mut structs, mut push) = (HashMap::new(), HashMap::new(), None);
    let (mut pointers, mut spec_ids) = (HashMap::new(), BTreeMap::new());
    let mut at = 5;
    while at < spirv.len() {
        let (length, opcode) = ((spirv[at] >> 16) as usize, spirv[at] & 0xffff);
        let w = &spirv[at + 1..at + length];
        match opcode {
            5 => drop(names.insert(w[0], text(&w[1..]))),
            6 => drop(member_names.insert((w[0], w[1]), text(&w[2..]))),
            16 if w[1] == MODE_LOCAL_SIZE => out.local_size = [w[2], w[3], w[4]],
            17 => out.capabilities.push(w[0]),
            21 => drop(scalars.insert(w[0], if w[2] == 1 { "I32" } else { "U32" })),
            22 => drop(scalars.insert(w[0], "F32")),
            23 if w[2] == 2 && scalars.get(&w[1]) == Some(&"U32") => drop(scalars.insert(w[0], "Address")),
            30 => drop(structs.insert(w[0], w[1..].to_vec())),
            32 if w[1] == STORAGE_PUSH_CONSTANT => drop(pointers.insert(w[0], w[2])),
            59 if w[2] == STORAGE_PUSH_CONSTANT => push = pointers.get(&w[0]).copied(),
            71 if w[1] == DECORATION_SPEC_ID => drop(spec_ids.insert(w[2], w[0])),
            72 if w[2] == DECORATION_OFFSET => drop(offsets.insert((w[0], w[1]), w[3])),
            _ => {}
        }
        at += length;
    }
    if let Some(block) = push {
        for (i, member) in structs[&block].iter().enumerate() {
            let key = (block, i as u32);
            let kind = *scalars
                .get(member)
                .unwrap_or_else(|| panic!("push constant {:?} is neither u32, i32, f32 nor uvec2", member_names.get(&key)));
            out.push.push(Member { name: member_names.get(&key).cloned().unwrap_or_default(), offset: offsets[&key], kind });
        }
    }
    out.spec = spec_ids.into_iter().filter_map(|(id, constant)| Some((names.get(&constant)?.clone(), id))).collect();
    out.capabilities.sort_unstable();
    out
}
