/* Builders of operators on pictures and other grids. */
#include "operators.h"

static const float PICTURE[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void convolutions(caldera_value x) {
    static const float w[] = {1, 0, 0, 1}, bias[] = {10};
    const caldera_value vw = given(CALDERA_F32, w, 4, 1, 1, 2, 2), vb = given(CALDERA_F32, bias, 1, 1), no = CALDERA_NO_VALUE;
    caldera_conv_options o = CALDERA_CONV_OPTIONS_INIT;
    caldera_value y = 0;
    FAILS(CALDERA_INVALID_ARGUMENT, "spatial is 0", caldera_conv(graph(), x, vw, no, &o, &y, err()));
    o.spatial = 2;
    OK(caldera_conv(graph(), x, vw, vb, &o, &y, err()));
    EXPECT(y, 16, 18, 22, 24);
    o.stride[0] = o.stride[1] = 2;
    o.pad_begin[0] = 1;
    o.pad_end[1] = 1;
    o.act = CALDERA_ACTIVATION_RELU;
    OK(caldera_conv(graph(), x, vw, no, &o, &y, err()));
    EXPECT(y, 2, 0, 12, 6);
    FAILS(CALDERA_INVALID_ARGUMENT, "act", caldera_conv_transpose(graph(), x, vw, no, &o, &y, err()));
    memset(&o, 0, sizeof o);
    o.struct_size = sizeof o;
    o.spatial = 2;
    o.output_padding[0] = 1;
    FAILS(CALDERA_INVALID_ARGUMENT, "output_padding", caldera_conv(graph(), x, vw, no, &o, &y, err()));
    o.output_padding[0] = 0;
    OK(caldera_conv_transpose(graph(), x, vw, no, &o, &y, err()));
    EXPECT(y, 1, 2, 3, 0, 4, 6, 8, 3, 7, 12, 14, 6, 0, 7, 8, 9);
    FAILS(CALDERA_INVALID_ARGUMENT, "options is NULL", caldera_conv(graph(), x, vw, no, NULL, &y, err()));
}

static void pools(caldera_value x) {
    const struct { uint32_t kind; double want[4]; } list[] = {
        {CALDERA_POOL_MAX, {5, 6, 8, 9}}, {CALDERA_POOL_MEAN, {3, 4, 6, 7}}, {CALDERA_POOL_MIN, {1, 2, 4, 5}}, {CALDERA_POOL_SUM, {12, 16, 24, 28}},
        {CALDERA_POOL_LP, {sqrt(46.0), sqrt(74.0), sqrt(154.0), sqrt(206.0)}},
    };
    caldera_pool_options o = CALDERA_POOL_OPTIONS_INIT;
    caldera_value y = 0;
    uint32_t i;
    o.spatial = 2;
    o.kernel[0] = o.kernel[1] = 2;
    FAILS(CALDERA_INVALID_GRAPH, "kind", caldera_pool(graph(), x, &o, &y, err()));
    for (i = 0; i < COUNT(list); i++) {
        o.kind = list[i].kind;
        OK(caldera_pool(graph(), x, &o, &y, err()));
        expect(y, list[i].want, 4, __LINE__);
    }
    o.kind = CALDERA_POOL_MEAN;
    o.stride[0] = o.stride[1] = 2;
    o.pad_begin[0] = o.pad_begin[1] = 1;
    o.count_include_pad = 1;
    OK(caldera_pool(graph(), x, &o, &y, err()));
    EXPECT(y, 0.25, 1.25, 2.75, 7);
    o.kind = CALDERA_POOL_LP;
    o.p = 1;
    o.count_include_pad = 0;
    o.pad_begin[0] = o.pad_begin[1] = 0;
    o.ceil = 1;
    OK(caldera_pool(graph(), x, &o, &y, err()));
    EXPECT(y, 12, 9, 15, 9);
}

static void samples(caldera_value x) {
    static const int64_t sizes[] = {1, 1, 6, 3}, two[] = {2, 2}, ones[] = {1, 1}, none[] = {0, 0};
    static const double scales[] = {1, 1, 1, 0.75};
    static const float grid[] = {0, 0, -1, -1, 5, 5}, rois[] = {0, 0, 2, 2}, deep[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int64_t batch[] = {0};
    const caldera_value vg = given(CALDERA_F32, grid, 4, 1, 1, 3, 2), vr = given(CALDERA_F32, rois, 2, 1, 4), vi = given(CALDERA_I64, batch, 1, 1);
    const caldera_value vd = given(CALDERA_F32, deep, 4, 1, 8, 1, 1), vp = given(CALDERA_F32, deep, 4, 1, 1, 2, 4);
    caldera_resize_options o = CALDERA_RESIZE_OPTIONS_INIT;
    caldera_roi_align_options r = CALDERA_ROI_ALIGN_OPTIONS_INIT;
    caldera_value y = 0;
    o.mode = CALDERA_INTERPOLATE_NEAREST;
    o.coordinate_mode = CALDERA_COORDINATE_ASYMMETRIC;
    o.nearest_mode = CALDERA_NEAREST_FLOOR;
    o.rank = 4;
    FAILS(CALDERA_INVALID_ARGUMENT, "sizes and scales", caldera_resize(graph(), x, &o, &y, err()));
    o.sizes = sizes;
    OK(caldera_resize(graph(), x, &o, &y, err()));
    EXPECT(y, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 7, 8, 9, 7, 8, 9);
    o.sizes = NULL;
    o.scales = scales;
    o.mode = CALDERA_INTERPOLATE_LINEAR;
    OK(caldera_resize(graph(), x, &o, &y, err()));
    EXPECT(y, 1, 7.0 / 3, 4, 16.0 / 3, 7, 25.0 / 3);
    OK(caldera_resize_nearest2x(graph(), vd, &y, err()));
    EXPECT(y, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8);
    OK(caldera_im2col(graph(), x, two, ones, none, ones, &y, err()));
    EXPECT(y, 1, 2, 4, 5, 2, 3, 5, 6, 4, 5, 7, 8, 5, 6, 8, 9);
    OK(caldera_grid_sample(graph(), x, vg, CALDERA_INTERPOLATE_LINEAR, CALDERA_BORDER_ZEROS, 1, &y, err()));
    EXPECT(y, 5, 1, 0);
    OK(caldera_grid_sample(graph(), x, vg, CALDERA_INTERPOLATE_NEAREST, CALDERA_BORDER_EDGE, 1, &y, err()));
    EXPECT(y, 5, 1, 9);
    r.output_half_pixel = 1;
    r.sampling_ratio = 1;
    OK(caldera_roi_align(graph(), x, vr, vi, &r, &y, err()));
    EXPECT(y, 5);
    OK(caldera_depth_to_space(graph(), vd, 2, 0, &y, err()));
    EXPECT(y, 1, 3, 5, 7, 2, 4, 6, 8);
    OK(caldera_depth_to_space(graph(), vd, 2, 1, &y, err()));
    EXPECT(y, 1, 2, 3, 4, 5, 6, 7, 8);
    OK(caldera_space_to_depth(graph(), vp, 2, &y, err()));
    EXPECT(y, 1, 3, 2, 4, 5, 7, 6, 8);
}

int main(void) {
    caldera_device *device = open_device();
    caldera_value x;
    begin();
    x = given(CALDERA_F32, PICTURE, 4, 1, 1, 3, 3);
    convolutions(x);
    pools(x);
    samples(x);
    run_suite(device, __FILE__);
    caldera_device_free(device);
    return finish();
}
