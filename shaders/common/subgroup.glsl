// Subgroup arithmetic and shuffles. Plain kernels have subgroup.plain.glsl in its place.
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
