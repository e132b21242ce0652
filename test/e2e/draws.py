# SPDX-License-Identifier: Apache-2.0
"""Draws whose numbers only the sample has, and make no sense: a bad sample each, whose message stands at the user's line."""
from pipelines import LanguageTest
from support import main

ENDS, FEW, WEIGHT = "this range ends before it starts", "there is no whole number in ", "a weight is 0 or more, and this is -3"
SD, PROBABILITY = "a standard deviation is 0 or more, and this is ", "a probability is 0 to 1, and this is "
CHOSEN = "row.x |> choose { i => invert, j => posterize(2) }"
# An expression of `a`, `b` (floats), `i`, `j` (ints), what these are, and what is said.
SENSELESS = [
    ("draw uniform(a .. b)", {"a": "3"}, ENDS + ": 3 .. 2"),
    ("draw uniform(a .. b * gone)", {}, ENDS + ": 1 .. nan"),
    ("draw uniform(gone .. 2.0)", {}, ENDS + ": nan .. 2"),
    ("draw uniform(a .. b)", {"a": "-1.7e308", "b": "1.7e308"}, "this range is wider than the largest f64: -1.7e+308 .. 1.7e+308"),
    ("draw uniform(0.0 .. a * far)", {}, "this range is wider than the largest f64: 0 .. inf"),
    ("map (q in 0 .. 3) { draw uniform(a .. b) per [q] }", {"a": "3"}, ENDS + ": 3 .. 2"),
    ("draw int(i .. j)", {"i": "4"}, FEW + "4 .. 4"),
    ("draw int(0 .. j)", {"j": "-5"}, FEW + "0 .. -5"),
    ("draw int(i ..= j)", {"i": "5"}, FEW + "5 ..= 4"),
    ("draw int(i ..= 9223372036854775806)", {"i": "9223372036854775807"}, FEW + "9223372036854775807 ..= 9223372036854775806"),
    ("search (3) { let y = draw int(i .. j)  accept y when y > 0 } else 0", {"i": "4"}, FEW + "4 .. 4"),
    ("search (3) { let y = draw int(i .. j - 4)  accept y when y > 0 } else 0", {}, FEW + "0 .. 0"),
    # In arms, and where a search gives up.
    ("if j > 0 then draw int(i .. j) else 7", {"i": "4"}, FEW + "4 .. 4"),
    ("if j > 0 then if i > 0 then draw int(i .. j) else 6 else 7", {"i": "4"}, FEW + "4 .. 4"),
    ("if j > 0 then check(a, a < 1.0, \"a is below 1\") else 0.0", {}, "a is below 1, and this is 1"),
    ("if j == 0 then 7 else draw int(i .. j)", {"i": "4"}, FEW + "4 .. 4"),
    ("search (3) { let y = if j > 0 then draw int(i .. j) else 5  accept y when y > 0 } else 0", {"i": "4"}, FEW + "4 .. 4"),
    ("search (9) { let c = draw int(0 .. 9)  let y = if c < 8 then draw int(i .. j) else 5  accept y when y > 9 } else 0",
     {"i": "4"}, FEW + "4 .. 4"),
    ("search (3) { let y = search (2) { let z = if j > 0 then draw int(i .. j) else 1  accept z when z > 0 } else 0"
     "  accept y when y > 0 } else 0", {"i": "4"}, FEW + "4 .. 4"),
    ("search (3) { let y = draw int(0 .. 5)  accept y when y > 9 } else draw int(i .. j)", {"i": "4"}, FEW + "4 .. 4"),
    ("search (3) { let y = draw normal(a, b)  accept y when y > 9.0 } else 0.0", {"b": "-1"}, SD + "-1"),
    ("search (3) { let y = 7 |> choose { i => identity, j => identity }  accept y when y > 9 } else 0", {"i": "-3"}, WEIGHT),
    ("chance(a)", {"a": "2"}, PROBABILITY + "2"), ("chance(a)", {"a": "-0.5"}, PROBABILITY + "-0.5"),
    ("chance(gone)", {}, PROBABILITY + "nan"), ("draw bernoulli(a)", {"a": "2"}, PROBABILITY + "2"),
    ("draw normal(a, b)", {"b": "-1"}, SD + "-1"), ("draw normal(a, gone)", {}, SD + "nan"),
    ("draw exponential(a)", {"a": "-1"}, "the mean of an exponential variate is 0 or more, and this is -1"),
    ("draw gamma(a)", {"a": "0"}, "the shape of a gamma variate is above 0, and this is 0"),
    ("draw gamma(gone)", {}, "the shape of a gamma variate is above 0, and this is nan"),
    ("draw beta(a, b)", {"b": "-1"}, "the parameters of a beta variate are above 0, and this is -1"),
    ("draw log_uniform(a .. b)", {"a": "0"}, "a range for `log_uniform` starts above 0, and this is 0 .. 2"),
    ("draw log_uniform(a .. b)", {"a": "3"}, ENDS + ", and this is 3 .. 2"),
    ("draw log_uniform(a .. far)", {}, "a range for `log_uniform` is finite, and this is 1 .. inf"),
    (CHOSEN, {"i": "-3"}, WEIGHT), (CHOSEN, {"i": "0", "j": "0"}, "no arm of this `choose` has a weight above 0"),
    ("row.x |> random_resized_crop(8, scale = a .. b)", {"a": "0.9", "b": "0.5"}, ENDS + ", and this is 0.9 .. 0.5"),
    ("row.x |> random_resized_crop(8, ratio = a .. b)", {"a": "0.9", "b": "0.5"}, ENDS + ", and this is 0.9 .. 0.5"),
    ("row.x |> erase(area = a .. b)", {"a": "0.9", "b": "0.5"}, ENDS + ", and this is 0.9 .. 0.5"),
    ("row.x |> random_rotation(a .. b)", {"a": "9"}, ENDS + ": 9 .. 2"),
]


class Draws(LanguageTest):
    def test_what_makes_no_sense_is_a_bad_sample(self):
        for expression, settings, message in SENSELESS:
            with self.subTest(expression):
                axes = ", h, w, c" if "row.x" in expression else ", q" if "map" in expression else ""
                kind = "u8" if axes[1:3] == " h" else "bool" if "chance" in expression or "bernoulli" in expression else \
                    "i64" if "int(" in expression else "f64"
                path = self.write(f"""use vision
pipeline p(a: f64 = 1.0, b: f64 = 2.0, i: int = 0, j: int = 4) {{
  for row in synthetic(8, x = u8[h = 20, w = 20, c = rgb], z = 0 .. 1)
  let gone = f64(row.z) * inf
  let far = (f64(row.z) + 1.0) * inf
  batch 4 {{
    output y: {kind}[n{axes}] = {expression}
    output z: i64[n] = row.z
  }}
}}""")
                given = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
                told = self.run_tool("sample", path, "--position", "1", *given, expect=1).stderr
                self.assertIn(f": {message} (test.pipe:", told.replace(self.folder + "/", ""))

    def test_what_makes_sense_is_drawn(self):
        found = self.scalars({"same": ("f64[n]", "draw uniform(a .. b)"), "one": ("i64[n]", "draw int(i ..= j)"),
                              "skipped": ("i64[n]", "if j > i then draw int(i .. j) else 7"),
                              "found": ("i64[n]", "search (2) { let y = draw int(0 .. 1)  accept y when y == 0 } else draw int(i .. j)"),
                              "tried": ("i64[n]", "search (999) { let top = draw int(0 .. 99)  let y = draw int(0 .. 4 - top)"
                                                  "  accept 1 when top == 3 } else 2"),
                              "chosen": ("i64[n]", "i64(row.x[h = 0, w = 0, c = 0]) |> choose { i => identity, j => identity }")},
                             settings=["a: f64 = 2.0", "b: f64 = 2.0", "i: int = 3", "j: int = 3"])
        self.assertEqual((found["same"], found["one"]), (2.0, 3))
        self.assertEqual((found["skipped"], found["found"], found["tried"]), (7, 0, 1))


if __name__ == "__main__":
    main()
