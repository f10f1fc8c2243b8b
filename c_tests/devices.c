/* Devices: listing, opening, memory, caches. */
#include "harness.h"

static void lists(void) {
    caldera_device_properties infos[16];
    size_t count = 0, room, i;
    OK(caldera_device_list(NULL, &count, err()));
    CHECK(count >= 1 && count <= 16);
    room = 1;
    OK(caldera_device_list(infos, &room, err())); /* too little room fills what fits */
    CHECK(room == count);
    room = 16;
    OK(caldera_device_list(infos, &room, err()));
    CHECK(room == count);
    CHECK(infos[count - 1].kind == CALDERA_DEVICE_CPU && infos[count - 1].usable == 1);
    for (i = 0; i < count; i++) {
        CHECK(strlen(infos[i].name) > 0 && strlen(infos[i].name) < 256);
        CHECK(infos[i].kind >= CALDERA_DEVICE_DISCRETE && infos[i].kind <= CALDERA_DEVICE_CPU);
        CHECK(i == 0 || infos[i].kind >= infos[i - 1].kind);
    }
    FAILS(CALDERA_INVALID_ARGUMENT, "count is NULL", caldera_device_list(infos, NULL, err()));
}

static void refusals(void) {
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;
    caldera_device *device = NULL;
    options.kind = 77;
    FAILS(CALDERA_INVALID_ARGUMENT, "no device kind 77", caldera_device_open(&options, &device, err()));
    options.kind = CALDERA_DEVICE_CPU;
    options.select = "cpu";
    FAILS(CALDERA_INVALID_ARGUMENT, "both given", caldera_device_open(&options, &device, err()));
    options.kind = 0;
    options.select = "no such device";
    FAILS(CALDERA_INVALID_ARGUMENT, "no such device", caldera_device_open(&options, &device, err()));
    options.select = "999";
    FAILS(CALDERA_NO_DEVICE, "fits index 999", caldera_device_open(&options, &device, err()));
    options.select = "0123456789abcdefFFFFFFFFffffffff";
    FAILS(CALDERA_NO_DEVICE, "fits UUID 0123456789abcdefffffffffffffffff", caldera_device_open(&options, &device, err()));
    options.select = "cpu";
    options.struct_size = 0;
    FAILS(CALDERA_INVALID_ARGUMENT, "struct_size is 0", caldera_device_open(&options, &device, err()));
    options.struct_size = sizeof options + 8;
    FAILS(CALDERA_INVALID_ARGUMENT, "struct_size is", caldera_device_open(&options, &device, err()));
    CHECK(device == NULL);
    options.struct_size = sizeof options;
    options.reserved = 7;
    FAILS(CALDERA_INVALID_ARGUMENT, "reserved is 7", caldera_device_open(&options, &device, err()));
    options.reserved = 0;
    FAILS(CALDERA_INVALID_ARGUMENT, "device is NULL", caldera_device_open(&options, NULL, err()));
}

static void opened(caldera_device *device) {
    caldera_device_properties info;
    uint64_t used = 1, reserved = 1;
    char text[512];
    size_t size = 0, cache_size = 0, room;
    const char *path = "caldera_devices_test.cache";
    void *cache;
    caldera_device *again = NULL;
    caldera_device_options options = CALDERA_DEVICE_OPTIONS_INIT;

    OK(caldera_device_info(device, &info, err()));
    CHECK(info.usable == 1);
    CHECK((info.kind == CALDERA_DEVICE_CPU) == on_cpu());
    FAILS(CALDERA_INVALID_ARGUMENT, "info is NULL", caldera_device_info(device, NULL, err()));
    OK(caldera_device_memory(device, &used, &reserved, err()));
    CHECK(used <= reserved || reserved == 0);
    OK(caldera_device_memory(device, NULL, NULL, err()));
    OK(caldera_device_trim(device, err()));

    OK(caldera_device_describe(device, NULL, &size, err()));
    CHECK(size > 5 && size < sizeof text);
    room = sizeof text;
    OK(caldera_device_describe(device, text, &room, err()));
    CHECK(room == size && strlen(text) + 1 == size);
    room = 4;
    OK(caldera_device_describe(device, text, &room, err()));
    CHECK(strlen(text) == 3 && room == size);
    FAILS(CALDERA_INVALID_ARGUMENT, "size is NULL", caldera_device_describe(device, text, NULL, err()));

    OK(caldera_device_cache(device, NULL, &cache_size, err()));
    cache = malloc(cache_size + 1);
    OK(caldera_device_cache(device, cache, &cache_size, err()));
    OK(caldera_device_save_cache(device, path, err()));
    FAILS(CALDERA_FILE, "no/such/folder", caldera_device_save_cache(device, "no/such/folder/file", err()));
    FAILS(CALDERA_INVALID_ARGUMENT, "path is NULL", caldera_device_save_cache(device, NULL, err()));
    options.select = device_name();
    options.cache = cache;
    options.cache_bytes = cache_size;
    OK(caldera_device_open(&options, &again, err()));
    caldera_device_free(again);
    options.cache = "this is no cache of any driver";
    options.cache_bytes = 30;
    OK(caldera_device_open(&options, &again, err()));
    caldera_device_free(again);
    options.cache = NULL;
    FAILS(CALDERA_INVALID_ARGUMENT, "cache is NULL, but its size is 30 bytes", caldera_device_open(&options, &again, err()));
    options.cache_bytes = 0;
    options.cache_path = path;
    OK(caldera_device_open(&options, &again, err()));
    caldera_device_free(again);
    options.cache_path = "there_is_no_such_file.cache";
    OK(caldera_device_open(&options, &again, err()));
    caldera_device_free(again);
    options.cache_path = "."; /* there, but no file */
    FAILS(CALDERA_FILE, ".: ", caldera_device_open(&options, &again, err()));
    free(cache);
    remove(path);
}

int main(void) {
    caldera_device *device = open_device();
    lists();
    refusals();
    opened(device);
    caldera_device_free(device);
    caldera_device_free(NULL);
    return finish();
}
