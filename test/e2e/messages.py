# SPDX-License-Identifier: Apache-2.0
"""Messages to users: the draws of a sample, and faults of a pipeline or a value."""
import os
import re

from pipelines import LanguageTest
from support import main


class Shown(LanguageTest):
    """The draws that `sample` and `view` show: each value, by the place where it is written."""

    def shown(self, lets, top="use vision", outputs="output x: u8[n, h, w, c] = x", position=3):
        path = self.write(f"""{top}
pipeline p() {{
  for row in synthetic(100, image = u8[h = 20, w = 30, c = rgb]) order sequential
  {lets}
  batch 4 per rank last drop {{ {outputs} }}
}}""")
        out = self.run_tool("sample", path, "--position", position).stdout
        return dict(re.findall(r"^  draw (.*) = (\S+)$", out, re.M))

    def bytes_of(self, *names):
        with open(os.path.join(self.folder, *names), "rb") as file:
            return file.read()

    def test_a_search_shows_what_it_accepts(self):
        for position in range(5):
            found = self.shown("let x = row.image |> random_resized_crop(8)", position=position)
            self.assertEqual(list(found), [f"p/x/random_resized_crop/crop_box/{name}"
                                           for name in ("top", "left", "height", "width")])
            top, left, height, width = map(int, found.values())
            self.assertTrue(0 <= top <= 20 - height and 0 <= left <= 30 - width)
            # The box is the one that is cut out, not one that was tried before.
            path = self.write(f"""use vision
pipeline p() {{
  for row in synthetic(100, image = u8[h = 20, w = 30, c = rgb]) order sequential
  batch 4 per rank last drop {{
    output a: u8[n, h, w, c] = resize(crop(row.image, {top}, {left}, {height}, {width}), 8, 8) }}
}}""", "fixed.pipe")
            self.run_tool("sample", path, "--position", position, "-o", os.path.join(self.folder, "fixed"))
            self.run_tool("sample", os.path.join(self.folder, "test.pipe"), "--position", position,
                          "-o", os.path.join(self.folder, "drawn"))
            self.assertEqual(self.bytes_of("fixed", "a.raw"), self.bytes_of("drawn", "x.raw"))

    def test_a_search_that_falls_back_shows_the_fallback(self):
        found = self.shown("let k = search (2) { let u = draw int(0 .. 10) accept u when u > 99 } else 77\n"
                           "let x = row.image |> solarize(k)")
        self.assertEqual(found, {"p/k/search": "77"})

    def test_each_and_repeat_number_their_draws(self):
        found = self.shown("let x = each (v in 0 .. 2) { row.image |> flip(w) if chance(0.5) }",
                           outputs="output x: u8[n, v, h, w, c] = x")
        self.assertEqual(set(found), {"p/x/flip if chance[0]", "p/x/flip if chance[1]"})
        for stage in ("invert if chance(0.5)", "box_blur if chance(0.5)"):  # inside a kernel, and not
            found = self.shown(f"let x = row.image |> repeat (2) {{ {stage} }}")
            self.assertEqual(set(found), {f"p/x/{stage.split('(')[0]}[{i}]" for i in range(2)})

    def test_distributions_and_choices_show_their_outcome(self):
        found = self.shown("let t = draw normal(100.0, 1.0)\n"
                           "let x = row.image |> choose { 1 => solarize(int(t)), 1 => invert }")
        self.assertEqual(list(found), ["p/t/normal", "p/x/choose arm"])
        self.assertTrue(90 < float(found["p/t/normal"]) < 110)
        self.assertIn(found["p/x/choose arm"], "01")

    def test_truth_values_read_as_such(self):
        found = self.shown("let x = row.image |> flip(w) if chance(1.0) |> flip(h) if chance(0.0)")
        self.assertEqual(found, {"p/x/flip if chance": "true", "p/x/flip if chance#1": "false"})


class Refused(LanguageTest):
    """Constructs without a meaning yet are refused by their names, at the user's line."""

    text = """use vision
pipeline p(root: path) OPTIONS {
  let table = image_folder(root)
  for row in table ORDER
  let x = row.data |> decode(rgb) |> resize(8, 8)
  LET
  batch 4 per rank last drop {
    output image: u8[n, h, w, c] OUTPUT = x
    output label: i64[n] = row.label
  }
}"""
    constructs = {
        "OPTIONS": [("with index = false", "`index` is `auto`, `off` or a parameter"), ("with numerics = fast", "`fast`")],
        "ORDER": [("where row.label", "`where` must be true or false"),
                  ("order weighted(row.data)", "the weight of a row is a number"),
                  ("order root", "an order is `sequential`")],
        "LET": [("let y = map (p in x) { sum(each (v in 0 .. 2) { p } over [v]) }", "`each` inside a `map`"),
                ("let y = map (p in x) { search (3) { let a = draw int(0 .. 4) accept a when a > 1 } else 0 }",
                 "`search` inside a `map`"),
                ("let y = box_blur(x, draw int(1 .. 3))", "a window must be known when compiling"),
                ("let y = coco(root, root)", "unknown function `coco`")],
    }

    def test_by_name_at_its_line(self):
        for place, entries in self.constructs.items():
            for written, named in entries:
                with self.subTest(written=written):
                    text = self.text.replace(place, written)
                    for other in ("OPTIONS", "ORDER", "LET", "OUTPUT"):
                        text = text.replace(other, "")
                    line = 2 + text[:text.index(written)].count("\n")
                    self.refused(text, f"test.pipe:{line}:", named)

    def test_a_row_that_is_picked_by_another(self):
        text = self.text.replace("LET", "let y = pick(table, row.label)").replace("row.data", "y.data")
        for place in ("OPTIONS", "ORDER", "OUTPUT"):
            text = text.replace(place, "")
        lines = text.splitlines()
        lines[4], lines[5] = lines[5], lines[4]
        for command in ("check", "compile"):
            done = self.run_tool(command, self.write("\n".join(lines)), expect=1)
            self.assertIn("test.pipe:6:", done.stderr)
            self.assertIn("the number of a picked row must be known before any row is fetched", done.stderr)

    def test_messages_of_passes_stand_at_the_users_line_and_in_words_when_checking_too(self):
        views = "each (i in 0 .. 64) { " * 4 + "f32(row.label)" + " }" * 4
        for letter in "jkl":
            views = views.replace("(i in", f"({letter} in", 1)
        path = self.write("pipeline p() {\n  for row in synthetic(9, label = 0 .. 3)\n"
                          f"  let x = {views}\n  batch 3 {{ output x: f32[n, j, k, l, i] = x }}\n}}")
        for command in ("check", "compile"):
            done = self.run_tool(command, path, expect=1)
            self.assertRegex(done.stderr, r"test.pipe:4:\d+: error: 64 views of \d+ operations each are too many")
            self.assertNotIn("see current operation", done.stderr)

    def test_an_output_on_gpu_compiles_and_is_refused_where_there_is_none(self):
        text = self.text.replace("OUTPUT", "on gpu")
        for place in ("OPTIONS", "ORDER", "LET"):
            text = text.replace(place, "")
        path = self.write(text)
        self.run_tool("check", path)
        self.run_tool("compile", path)
        self.assertRegex(self.run_tool("explain", path, "--all").stdout,
                         r"\n  place: everything runs on the CPU; delivered in a GPU's memory: `image`\n")
        done = self.run_tool("run", path, "--set", f"root={self.folder}", expect=1)
        self.assertIn("output `image`", done.stderr)
        self.assertIn("test.pipe:9:", done.stderr)
        self.assertIn("on gpu", done.stderr)

    def test_a_pipeline_that_ignores_its_rows(self):
        self.refused("pipeline p() {\n  for row in synthetic(4, label = 0 .. 3)\n  batch 2 {\n"
                     "    output x: f64[n] = draw uniform(0.0 .. 1.0) }\n}", "test.pipe:2:10: error: no output depends on the rows")


class Parameters(LanguageTest):
    text = """pipeline p(root: path, turn: angle = 3deg, small: u8 = 7, count: int = 3, flag: bool = true) {
  for row in synthetic(9, label = 0 .. 3)
  batch count per rank last keep {
    output x: f64[n] = turn / 1deg
    output y: u8[n] = small
    output z: i64[n] = if flag then row.label else 0
  }
}"""

    def test_values_of_run_time_parameters_are_not_needed_to_compile(self):
        self.run_tool("compile", self.write(self.text))

    def test_a_bad_value_is_shown_at_the_parameter(self):
        path = self.write(self.text)
        self.run_tool("compile", path)  # from the cache, messages are the same
        for setting, said in [("turn=10ms", "a number with a unit, such as `3deg`"), ("turn=10", "such as `3deg`"),
                              ("small=256", "a whole number from 0 to 255"), ("small=-1", "from 0 to 255"),
                              ("count=few", "a whole number such as `128`"), ("count=1.5", "whole number"),
                              ("flag=yes", "`true` or `false`")]:
            with self.subTest(setting=setting):
                done = self.run_tool("run", path, "--set", setting, expect=1)
                name, _, value = setting.partition("=")
                self.assertRegex(done.stderr, rf"test.pipe:2:\d+: error: the value `{value}` given for `{name}`")
                self.assertIn(said, done.stderr)


class Terminals(LanguageTest):
    def test_what_files_hold_is_no_command_to_a_terminal(self):
        table = os.path.join(self.folder, "table.csv")
        with open(table, "w") as file:
            file.write("v,name\n\x1b[31mRED\x1b[2J,a\n")
        text = self.write("""pipeline p(list: path) { for row in csv(list, v = i64) order sequential
  batch 1 per rank last keep { output v: i64[n] = row.v } }""")
        done = self.run_tool("run", text, "--set", f"list={table}", expect=1)
        self.assertIn("`\\x1b[31mRED\\x1b[2J` is not a whole number", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        name = os.path.join(self.folder, "a\x1b[2J.csv")
        done = self.run_tool("run", text, "--set", f"list={name}", expect=1)
        self.assertIn("a\\x1b[2J.csv", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)


if __name__ == "__main__":
    main()
