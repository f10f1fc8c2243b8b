//! Features that are hidden are neither turned on nor used by a pipeline, on the software driver.

use std::sync::Arc;

use caldera::Status;
use caldera::kernels::Kernel;
use caldera::vulkan::{Device, DeviceKind, Features, Instance, Masks, PhysicalDevice, PipelineKey};

/// Features that every operator does without, with the SPIR-V capabilities that then must not occur.
const HIDDEN: [(&str, &[u32]); 9] = [
    ("int16", &[22]),
    ("int8", &[39]),
    ("float16", &[9]),
    ("storage16", &[4433]),
    ("storage8", &[4448]),
    ("integer_dot_product", &[6016, 6017, 6018, 6019]),
    ("subgroup_arithmetic", &[63]),
    ("subgroup_shuffle", &[65, 66]),
    ("cooperative_matrix", &[6022, 5118]),
];

/// Kernels that lesser devices have no form of: their operators choose others.
const OTHERS_CHOSEN: [&str; 7] = [
    "matmul_coop_",
    "quant_coop_",
    "quant_affine_coop_",
    "quant_rows_4_",
    "attention_decode_",
    "attention_tiles_",
    "attention_combine_",
];

fn software() -> (Arc<Instance>, PhysicalDevice) {
    let instance = Instance::new(None).expect("a Vulkan instance");
    let device = instance.devices().expect("devices").into_iter().find(|d| d.kind == DeviceKind::Software);
    (instance, device.expect("a software driver"))
}

fn key(kernel: Kernel) -> PipelineKey {
    PipelineKey { kernel, spec: Vec::new() }
}

#[test]
fn hidden_features_are_off_and_unused() {
    let (instance, physical) = software();
    for (name, capabilities) in HIDDEN {
        let masks = Features::from_text(name).expect("a feature");
        let device = Device::open(&instance, physical.clone(), masks, None, None).expect("a device");
        assert_eq!(device.features().without(masks), *device.features(), "{name} is on");
        assert!(capabilities.iter().all(|c| !device.caps().capabilities.contains(c)), "{name}: {:?}", device.caps());
        for kernel in Kernel::all().filter(|k| k.info().capabilities.iter().any(|c| capabilities.contains(c))) {
            let title = kernel.info().name;
            let error = device.warm_up(&[key(kernel)]).expect_err(title);
            assert!(error.message.contains(title), "{name}: {}", error.message);
            let fitting = device.caps().fitting(kernel);
            let chosen = OTHERS_CHOSEN.iter().any(|family| title.starts_with(family));
            assert!(chosen || device.caps().missing(fitting).is_none(), "{name}: there is no form of {title} for it");
        }
    }
}

#[test]
fn a_device_with_all_features_takes_no_plain_kernel() {
    let (instance, physical) = software();
    let device = Device::open(&instance, physical, Masks::default(), None, None).expect("a device");
    for kernel in Kernel::all().filter(|&k| device.caps().missing(k).is_none()) {
        assert!(device.caps().fitting(kernel) == kernel, "{}", kernel.info().name);
    }
}

#[test]
fn what_cannot_be_hidden_or_asked_for_is_refused() {
    let error = Features::from_text("storage16,storag8").expect_err("no such feature");
    assert_eq!(error.status, Status::InvalidArgument);
    assert!(error.message.contains("\"storag8\"") && error.message.contains("storage8"), "{}", error.message);
    let (instance, physical) = software();
    // The software driver has one size of subgroups, that of its vectors.
    let own = Device::open(&instance, physical.clone(), Masks::default(), None, None).expect("a device").caps().subgroup_size;
    for size in [0, 3, 4, 8, 16, 32, 64] {
        match Device::open(&instance, physical.clone(), Masks::default(), Some(size), None) {
            Ok(device) => assert_eq!((device.caps().subgroup_size, size), (own, own)),
            Err(error) => {
                assert_eq!((error.status, size == own), (Status::Unsupported, false), "{}", error.message);
                assert!(error.message.contains(&format!("subgroups of {size}")), "{}", error.message);
            }
        }
    }
}
