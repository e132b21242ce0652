"""Writes small pictures that fuzzing begins with: seeds.py FOLDER."""
import io
import os
import sys

import numpy
from PIL import Image

# What Pictures.cpp reads before the file.
CHOICES = bytes([3]) * 17


def pictures():
    """{name: the bytes of a file}, one of each kind that Pillow writes."""
    rng = numpy.random.default_rng(1)
    pixels = rng.integers(0, 256, (9, 13, 4), dtype=numpy.uint8)
    rgba = Image.fromarray(pixels)
    rgb, gray = rgba.convert("RGB"), rgba.convert("L")
    kinds = [
        ("rgb.png", rgb, {}), ("rgba.png", rgba, {}), ("gray.png", gray, {}), ("ga.png", rgba.convert("LA"), {}),
        ("palette.png", rgb.quantize(7), {"bits": 4}), ("one.png", gray.convert("1"), {}),
        ("deep.png", gray.convert("I;16"), {}), ("lossy.webp", rgb, {}), ("lossless.webp", rgba, {"lossless": True}),
        ("rgb.bmp", rgb, {}), ("gray.bmp", gray, {}), ("palette.bmp", rgb.quantize(7), {}),
        ("one.bmp", gray.convert("1"), {}), ("rgb.ppm", rgb, {}), ("gray.pgm", gray, {}), ("one.pbm", gray.convert("1"), {}),
    ]
    for name, image, options in kinds:
        stream = io.BytesIO()
        kind = {"pgm": "PPM", "pbm": "PPM"}.get(name[-3:], name.rsplit(".")[1].upper())
        image.save(stream, kind, **options)
        yield name, stream.getvalue()


def main():
    for name, data in pictures():
        for target, before in (("headers", b""), ("pictures", CHOICES)):
            folder = os.path.join(sys.argv[1], target)
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, name), "wb") as file:
                file.write(before + data)


if __name__ == "__main__":
    main()
