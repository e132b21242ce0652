# SPDX-License-Identifier: Apache-2.0
"""Windows over rows and pictures whose extents differ from sample to sample, beside NumPy."""
import itertools
import os

import numpy
import soundfile
from PIL import Image

from pipelines import LanguageTest
from support import main


class Windows(LanguageTest):
    def test_places_in_wide_windows_of_rows_of_many_lengths(self):
        """No extent is known when compiling, so that no spans of neighbours are stored."""
        keys = {"f32": ("v", lambda x: x), "u8": ("u8.clamp(abs(v) * 9.0)", lambda x: numpy.clip(numpy.trunc(numpy.abs(x) * numpy.float32(9)), 0, 255)),
                "i64": ("i64(v * 50.0)", lambda x: numpy.trunc(x * numpy.float32(50)))}
        lets, outputs, wanted = [], [], {}
        for (key, (value, of)), find, (border, mode) in itertools.product(keys.items(), ("argmin", "argmax"), (("edge", "edge"), ("constant, fill = 0", "constant"))):
            name = f"{key}_{find}_{mode}"
            lets.append(f"let {name}_keys = map (v in wave) {{ {value} }}\n")
            outputs.append(f"output {name}: i64[n, t <= 900] pad -1 = window (v in {name}_keys, t = -30 ..= 33, border = {border}) {{ {find}(v over [t]) + i64(v[t = 0]) }}\n")
            wanted[name] = (of, find, mode)
        text = f"""use audio
pipeline test(list: path) with on_error = fail {{
  for row in file_list(list) order sequential
  let wave = row.data |> decode(mono)
  {" ".join(lets)}
  batch 1 per rank last keep {{ {" ".join(outputs)} output wave: f32[n, t <= 900] pad 2 = wave }}
}}"""
        lengths = (1, 40, 700)
        for length in lengths:
            soundfile.write(os.path.join(self.folder, f"{length}.wav"), numpy.random.default_rng(length).integers(-9000, 9000, length).astype(numpy.int16), 16000)
        listed = os.path.join(self.folder, "list.txt")
        with open(listed, "w") as file:
            file.writelines(f"{length}.wav\n" for length in lengths)
        for position, length in enumerate(lengths):
            found = self.sample(text, position, "--set", f"list={listed}")
            x = found.pop("wave").ravel()[:length]
            for name, (of, find, mode) in wanted.items():
                neighbours = numpy.lib.stride_tricks.sliding_window_view(numpy.pad(of(x), (30, 33), mode), 64)
                numpy.testing.assert_array_equal(found[name].ravel()[:length], getattr(neighbours, find)(-1) + numpy.trunc(of(x)), name)

    def test_places_in_wide_windows_of_pictures(self):
        """Of rows longer and shorter than lanes, in all borders, which few pixels apart see."""
        borders = {"edge": "edge", "reflect": "reflect", "symmetric": "symmetric", "wrap": "wrap", "constant, fill = 9": "constant"}
        outputs = "\n".join(f"output {mode}_{find}: i64[n, h <= 90, w <= 90] pad -1 = window (v in gray, h = -3 ..= 4, w = -5 ..= 6, border = {border}) {{ {find}(v over [h, w]) }}"
                            for border, mode in borders.items() for find in ("argmin", "argmax"))
        text = f"""use vision
pipeline test(list: path) with on_error = fail {{
  for row in file_list(list) order sequential
  let image = row.data |> decode(gray)
  let gray = image[c = 0]
  batch 1 per rank last keep {{ {outputs} }}
}}"""
        sizes = ((20, 7), (9, 20), (33, 70), (70, 33), (8, 90))
        pictures = [numpy.random.default_rng(width).integers(0, 60, (height, width)).astype(numpy.uint8) for height, width in sizes]
        listed = os.path.join(self.folder, "list.txt")
        with open(listed, "w") as file:
            for number, picture in enumerate(pictures):
                Image.fromarray(picture).save(os.path.join(self.folder, f"{number}.png"))
                file.write(f"{number}.png\n")
        for position, picture in enumerate(pictures):
            found = self.sample(text, position, "--set", f"list={listed}")
            height, width = picture.shape
            for mode in borders.values():
                more = {"constant_values": 9} if mode == "constant" else {}
                padded = numpy.pad(picture, ((3, 4), (5, 6)), mode, **more)
                neighbours = numpy.lib.stride_tricks.sliding_window_view(padded, (8, 12)).reshape(height, width, 96)
                for find in ("argmin", "argmax"):
                    numpy.testing.assert_array_equal(found[f"{mode}_{find}"][:height, :width], getattr(neighbours, find)(-1), f"{mode} {find} {picture.shape}")


if __name__ == "__main__":
    main()
