// SPDX-License-Identifier: Apache-2.0
//
// Hand-written, hand-fused SIMD code for three chains: what a good engineer
// would write for exactly these pixels. bench/kernels compares generated code
// with it, bit for bit and in CPU time. It is never linked into the product.
//
// Each chain has a setup, which corresponds to the runtime's setup stage and is
// timed apart, and a run over pixels. A run writes no memory but `out` and is
// safe to call from many threads with the same plan.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HW_API __attribute__((visibility("default")))

typedef enum hw_isa { HW_SCALAR = 0, HW_AVX2 = 1, HW_AVX512 = 2 } hw_isa;

/// The best level of this CPU. HW_AVX512 asks for F, BW, DQ, VL, VBMI and VNNI.
HW_API hw_isa hw_best_isa(void);

/// A rectangle in pixels of the image.
typedef struct hw_box {
  int top, left, height, width;
} hw_box;

// --- imagenet: crop, resize to 224x224, flip, ToTensor, Normalize, f16 CHW ---

typedef struct hw_imagenet_plan hw_imagenet_plan;

/// Weights and tables for one box of an image of `width` pixels. Pillow's
/// bilinear with antialias; the box clips the taps, as crop() and then resize()
/// do. The mean and deviation are ImageNet's. NULL when the box leaves the
/// image or is empty; free with hw_imagenet_plan_free().
HW_API hw_imagenet_plan *hw_imagenet_plan_make(int width, int height, hw_box box, int flip);
/// Sets an existing plan, without allocation. Returns 0 on success.
HW_API int hw_imagenet_plan_set(hw_imagenet_plan *plan, int width, int height, hw_box box,
                                int flip);
HW_API void hw_imagenet_plan_free(hw_imagenet_plan *plan);
/// The level that `isa` resolves to: very large scales fall back.
HW_API hw_isa hw_imagenet_plan_isa(const hw_imagenet_plan *plan, hw_isa isa);

/// `image` is RGB u8, HWC, the whole image with rows `stride` bytes apart;
/// `out` holds 3 x 224 x 224 f16.
HW_API void hw_imagenet_run(const hw_imagenet_plan *plan, hw_isa isa, const uint8_t *image,
                            ptrdiff_t stride, uint16_t *out);

// --- cifar: pad 4 with zeros, crop 32x32 at (dy, dx), flip, normalise, f32 CHW ---

typedef struct hw_cifar_draw {
  uint8_t dy, dx, flip, unused; // 0..8, 0..8, 0..1
} hw_cifar_draw;

/// Image i is at `images + rows[i] * 3072`, its output at `out + i * 3072`
/// floats. With `streaming`, stores bypass the cache; `out` is then 64-byte
/// aligned.
HW_API void hw_cifar_run(hw_isa isa, const uint8_t *images, const int64_t *rows,
                         const hw_cifar_draw *draws, size_t count, int streaming, float *out);

// --- colour: brightness, contrast, saturation as PIL's ImageEnhance, then f16 ---

/// `image` is 224x224x3 u8 HWC without gaps; `out` 3 x 224 x 224 f16. Factors
/// lie in [0, 16]. Each step rounds to u8 as Pillow does; contrast blends with
/// the rounded mean of the L image.
HW_API void hw_colour_run(hw_isa isa, const uint8_t *image, float brightness, float contrast,
                          float saturation, uint16_t *out);

#ifdef __cplusplus
}
#endif
