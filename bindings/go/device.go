package caldera

// #include <caldera.h>
// #include <stdlib.h>
import "C"

import "unsafe"

// DeviceKind says how a device is attached.
type DeviceKind uint32

// The kinds, in the order of preference.
const (
	AnyKind    DeviceKind = C.CALDERA_DEVICE_ANY
	Discrete   DeviceKind = C.CALDERA_DEVICE_DISCRETE
	Integrated DeviceKind = C.CALDERA_DEVICE_INTEGRATED
	Virtual    DeviceKind = C.CALDERA_DEVICE_VIRTUAL
	OtherKind  DeviceKind = C.CALDERA_DEVICE_OTHER
	// Software is a Vulkan driver that computes on the CPU.
	Software DeviceKind = C.CALDERA_DEVICE_SOFTWARE
	// CPU is the built-in CPU device, which needs no Vulkan.
	CPU DeviceKind = C.CALDERA_DEVICE_CPU
)

// DeviceInfo is what a device is.
type DeviceInfo struct {
	Kind DeviceKind
	// Usable: it has all that Caldera needs.
	Usable       bool
	UUID         [16]byte
	Name, Driver string
	// Features: optional ones that it has, separated by spaces.
	Features string
	// Memory: bytes of device-local memory; 0 for the CPU device.
	Memory uint64
	// APIVersion of Vulkan: major, minor, patch.
	APIVersion [3]uint32
}

func deviceInfo(p *C.caldera_device_properties) DeviceInfo {
	info := DeviceInfo{
		Kind: DeviceKind(p.kind), Usable: p.usable != 0, Name: C.GoString(&p.name[0]), Driver: C.GoString(&p.driver[0]),
		Features: C.GoString(&p.features[0]), Memory: uint64(p.memory),
	}
	for i, b := range p.uuid {
		info.UUID[i] = byte(b)
	}
	for i, v := range p.api_version {
		info.APIVersion[i] = uint32(v)
	}
	return info
}

// Devices lists the devices, best first; the CPU device is the last.
func Devices() ([]DeviceInfo, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	list, err := readList(func(out *C.caldera_device_properties, count *C.size_t) error {
		return call(func(p problem) status { return C.caldera_device_list(out, count, p) })
	})
	infos := make([]DeviceInfo, len(list))
	for i := range list {
		infos[i] = deviceInfo(&list[i])
	}
	return infos, err
}

// readList asks how many things there are, then for the things.
func readList[T any](f func(out *T, count *C.size_t) error) ([]T, error) {
	var count C.size_t
	if err := f(nil, &count); err != nil || count == 0 {
		return nil, err
	}
	out := make([]T, count)
	if err := f(&out[0], &count); err != nil {
		return nil, err
	}
	if int(count) < len(out) {
		out = out[:count]
	}
	return out, nil
}

// DeviceOptions say which device to open. Without any it is the best GPU.
type DeviceOptions struct {
	// Kind: the best device of this kind.
	Kind DeviceKind
	// Select names one: its place in Devices ("0"), a UUID in hexadecimal, or a kind ("discrete", "integrated", "virtual", "software", "cpu").
	Select string
	// AllowSoftware: with nothing selected, a software Vulkan driver may be taken where there is no GPU; AllowCPU: the CPU device.
	AllowSoftware, AllowCPU bool
	// Validation: Vulkan validation layers.
	Validation bool
	// CachePath: a file that SaveCache wrote. A missing file is no error.
	CachePath string
}

// Device is one opened device.
type Device struct{ handle }

func (d *Device) raw() *C.caldera_device { return (*C.caldera_device)(d.pointer) }

// Open opens a device.
func Open(options DeviceOptions) (*Device, error) {
	if err := checkABI(); err != nil {
		return nil, err
	}
	// Structs with pointers must point to memory of C.
	var texts cMemory
	defer texts.free()
	given := C.caldera_device_options{
		struct_size: C.sizeof_caldera_device_options, kind: C.uint32_t(options.Kind), allow_software: flag(options.AllowSoftware),
		allow_cpu: flag(options.AllowCPU), validation: flag(options.Validation),
	}
	var err error
	if options.Select != "" {
		if given._select, err = texts.text(options.Select); err != nil {
			return nil, err
		}
	}
	if options.CachePath != "" {
		if given.cache_path, err = texts.text(options.CachePath); err != nil {
			return nil, err
		}
	}
	var device *C.caldera_device
	if err := call(func(p problem) status { return C.caldera_device_open(&given, &device, p) }); err != nil {
		return nil, err
	}
	return &Device{handle{pointer: unsafe.Pointer(device)}}, nil
}

// Close gives the device up. It itself closes when the last object made of it does.
func (d *Device) Close() {
	d.close(func(p unsafe.Pointer) { C.caldera_device_free((*C.caldera_device)(p)) })
}

// Info is what the device is.
func (d *Device) Info() (DeviceInfo, error) {
	var info C.caldera_device_properties
	if err := d.shared(func(p problem) status { return C.caldera_device_info(d.raw(), &info, p) }); err != nil {
		return DeviceInfo{}, err
	}
	return deviceInfo(&info), nil
}

// Describe is a line of text about the device: name, driver, memory.
func (d *Device) Describe() (string, error) {
	return readText(func(out *C.char, size *C.size_t) error {
		return d.shared(func(p problem) status { return C.caldera_device_describe(d.raw(), out, size, p) })
	})
}

// Memory is how many bytes of device memory Caldera uses, and has reserved from the driver.
func (d *Device) Memory() (used, reserved uint64, err error) {
	var u, r C.uint64_t
	err = d.shared(func(p problem) status { return C.caldera_device_memory(d.raw(), &u, &r, p) })
	return uint64(u), uint64(r), err
}

// Trim gives reserved memory that nothing uses back to the driver.
func (d *Device) Trim() error {
	return d.shared(func(p problem) status { return C.caldera_device_trim(d.raw(), p) })
}

// SaveCache writes the pipelines made so far to a file, for DeviceOptions.CachePath.
func (d *Device) SaveCache(path string) error {
	name, err := cText(path)
	if err != nil {
		return err
	}
	return d.shared(func(p problem) status { return C.caldera_device_save_cache(d.raw(), name, p) })
}

// cMemory is memory of C for structs with pointers, which memory of Go must not be given to.
type cMemory struct{ blocks []unsafe.Pointer }

func (m *cMemory) copy(v view) unsafe.Pointer {
	block := C.malloc(C.size_t(len(v.bytes))) // never returns nil
	copy(unsafe.Slice((*byte)(block), len(v.bytes)), v.bytes)
	m.blocks = append(m.blocks, block)
	return block
}

func (m *cMemory) text(s string) (*C.char, error) {
	text, err := cText(s)
	if err != nil {
		return nil, err
	}
	return (*C.char)(m.copy(elements(unsafe.Slice((*byte)(unsafe.Pointer(text)), len(s)+1), U8))), nil
}

func (m *cMemory) free() {
	for _, block := range m.blocks {
		C.free(block)
	}
}
