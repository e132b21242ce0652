# SPDX-License-Identifier: Apache-2.0
"""Workloads of bench/augment_cpu: the operators of `vision` as stages of a pipeline, and three recipes."""

OPERATORS = {
    "crop": "crop(16, 16, 192, 192)",
    "random_resized_crop": "random_resized_crop(224)",
    "resize": "resize(176, 176)",
    "pad": "pad(8, border = reflect)",
    "flip": "flip(w)",
    "rotate90": "rotate90",
    "rotate nearest": "rotate(draw uniform(-30deg .. 30deg))",
    "rotate linear": "rotate(draw uniform(-30deg .. 30deg), linear)",
    "affine nearest": "affine(10deg, 5, 7, draw uniform(0.8 .. 1.2), 3deg)",
    "affine linear": "affine(10deg, 5, 7, draw uniform(0.8 .. 1.2), 3deg, 0deg, linear)",
    "translate": "translate(draw int(-20 .. 20), draw int(-20 .. 20))",
    "shear": "shear(w, draw uniform(-0.3 .. 0.3))",
    "brightness": "brightness(f32(draw uniform(0.6 .. 1.4)))",
    "contrast": "contrast(f32(draw uniform(0.6 .. 1.4)))",
    "saturation": "saturation(f32(draw uniform(0.6 .. 1.4)))",
    "hue": "hue(draw uniform(-0.1 .. 0.1))",
    "color_jitter": "color_jitter(0.4, 0.4, 0.4, 0.1)",
    "grayscale": "grayscale",
    "invert": "invert",
    "posterize": "posterize(draw int(3 .. 7))",
    "solarize": "solarize(draw int(0 .. 256))",
    "autocontrast": "autocontrast",
    "equalize": "equalize",
    "sharpness": "sharpness(f32(draw uniform(0.1 .. 1.9)))",
    "gaussian_blur": "gaussian_blur(23, draw uniform(0.1 .. 2.0))",
    "erase": "erase",
    "normalize": "identity",
}
RECIPES = {
    "SimCLR colours": """{ color_jitter(0.8, 0.8, 0.8, 0.2) if chance(0.8) |> grayscale if chance(0.2)
      |> random_gaussian_blur(23) if chance(0.5) }""",
    "RandAugment": "rand_augment(2, 9)",
    "ResNet reference": "{ random_resized_crop(224) |> flip(w) if chance(0.5) |> trivial_augment_wide |> erase if chance(0.1) }",
}
STAGES = {**OPERATORS, **RECIPES}
# Without draws, and defined by Pillow: all that claim it must have the same bits.
FIXED = ["crop", "pad", "flip", "rotate90", "grayscale", "invert", "autocontrast", "equalize", "normalize"]

PIPELINE = """pipe 1
use vision
/// One operator between bytes and normalised f16.
pipeline augment(images: path, per_rank: int = 16) {{
  for row in raw(pixels = column(images, u8[h = 224, w = 224, c = rgb]))
  let image = row.pixels |> {stage}
  batch per_rank per rank last keep {{ output image: f16[n, c, h, w] = image |> normalize(imagenet) }}
}}
"""
