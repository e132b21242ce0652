# SPDX-License-Identifier: Apache-2.0
"""The cost of compiling grows no faster than the program: families of programs at n and 2n.

The measure is how often the compiler asks for memory, which is the same on every machine; bench/startup
has the times. Of the operators after themselves a third is compiled, and where a pass is left out for one machine, which the commit
chooses; scripts/soak has all, by PENSTOCK_ALL_OPERATORS=1 and PENSTOCK_ALL_IN_TURN=1. What may not grow that far is refused, with a message that is pinned here.
"""
import itertools
import os
import re
import resource
import subprocess
import sys

from chains import OPERATORS, Chain
from support import ToolTest, chosen, in_turn, unittest

SOURCE = "  for row in synthetic(64, x = u8[h = 48, w = 48, c = rgb], k = 0 .. 10) order sequential\n"


def program(lets, functions="", outputs=("    output image: u8[n, h, w, c] = x\n",)):
    return f"pipe 1\nuse vision\n{functions}pipeline p() {{\n{SOURCE}{lets}  batch 8 {{\n{''.join(outputs)}  }}\n}}\n"


def stages(n, *names):
    """x through the stages, again and again."""
    return "  let x = row.x" + "".join(f"\n    |> {names[i % len(names)]}" for i in range(n)) + "\n"


# One operator after itself, which reads what it makes at several places or in several ways.
REPEATED = [
    *(f"extend({axis}, 1, 2, border = {border})" for axis in "hw" for border in ("constant", "edge", "reflect", "symmetric", "wrap")),
    "{ extend(h, 1, 1, border = wrap) |> extend(w, 1, 1, border = edge) }",
    "{ pad(1, border = reflect) |> flip(w) if chance(0.5) }",
    "choose { 1 => flip(w), 1 => flip(h), 1 => rotate90 }",
    "choose { 1 => invert, 1 => posterize(3), 1 => solarize(100) }",
    "choose { 1 => grayscale, 1 => smooth, 1 => autocontrast }",
    "smooth if chance(0.5)", "box_blur(1) if chance(0.5)", "color_jitter(0.4, 0.4, 0.4, 0.1) if chance(0.5)", "resize_axis(w, 40)",
    "erase",
    *(stage for stage in (operator(Chain(4)) for operator in OPERATORS) if "augment" not in stage),
]


def add(n):
    return f"map (p in x) {{ u8(i32(p) + {n}) }}"


def chain(n):
    return program(stages(n, "f(1)", "f(2)", "f(3)"),
                   "fn f(x: u8[h, w, c], k: int) -> u8[h, w, c] = map (p in x) { u8.clamp(i32(p) * 3 / 2 - i32(k)) }\n")


def conditions(n):
    return program(stages(n, "autocontrast if chance(0.5)"))


def grey_by_chance(n):
    return program(stages(n, "grayscale if chance(0.5)"))


def inverted_by_chance(n):
    return program(stages(n, "invert if chance(0.5)"))


def repeated_choices(n):
    return program(f"  let x = row.x |> repeat ({n}) {{ choose {{ 1 => identity, 1 => autocontrast, 1 => invert }} }}\n")


def nested_choices(n):
    inner = "identity"
    for _ in range(n):
        inner = f"choose {{ 1 => identity, 1 => {{ autocontrast |> {inner} }} }}"
    return program(f"  let x = row.x |> {inner}\n")


def views(n):
    return program(f"  let x = each (v in 0 .. {n}) {{ row.x |> random_resized_crop(24) |> flip(w) if chance(0.5) }}\n",
                   outputs=["    output image: u8[n, v, h, w, c] = x\n"])


def doubling(n):
    """Functions that call functions twice: n operations."""
    levels = n.bit_length() - 1
    functions = "fn g0(x: u8[h, w, c]) -> u8[h, w, c] = map (p in x) { u8(i32(p) + 1) }\n"
    for i in range(levels):
        functions += f"fn g{i + 1}(x: u8[h, w, c]) -> u8[h, w, c] = g{i}(g{i}(x))\n"
    return program(f"  let x = g{levels}(row.x)\n", functions)


def bilateral(n):
    return program(f"""  let x = row.x
  let y = window (v in x, h = -1 ..= 1, w = 0 .. {n}) {{
    let d = f32(v) - f32(v[h = 0, w = 0])
    let weight = 1.0 / (1.0 + d * d)
    return sum(weight * f32(v) over [h, w]) / sum(weight over [h, w])
  }}
""", outputs=["    output y: f32[n, h, w, c] = y\n"])


def wide_window(n):
    return program(f"  let x = window (v in row.x, w = 0 .. {n}) {{ u8(sum(i32(v) over [w]) / {n}) }}\n")


def pairs(n):
    """n pairs of neighbours, one sum of terms that are alike in runs only."""
    return program(f"""  let x = row.x
  let y = window (v in x[c = 0], h = 0 .. {n // 16}, w = 0 .. 16) {{
    return sum(map (p in v[h = 0], q in v[w = 0]) {{ if p < q then 1 else 0 }} over [h, w])
  }}
""", outputs=["    output y: i64[n, h, w] = y\n"])


def windows_in_a_row(n):
    return program(f"  let y = row.x[c = 0] |> repeat ({n}) {{ f }}\n", """fn f(x: u8[h, w]) -> u8[h, w] =
  window (v in x, h = -1 ..= 1, border = edge) { u8(sum(i32(v) over [h]) / 3) }
""", outputs=["    output y: u8[n, h, w] = y\n"])


def many_outputs(n):
    return program("  let x = row.x\n", outputs=[f"    output y{i}: u8[n, h, w, c] = {add(i)}\n" for i in range(n)])


def terms(n):
    return program("  let x = map (p in row.x) { u8(i32(p)" + "".join(f" + i32(p) * {i + 3}" for i in range(n)) + ") }\n")


def terms_of_numbers(n):
    return program("  let s = row.k" + "".join(f" + row.k * {i + 3} % {i + 5}" for i in range(n)) +
                   "\n  let x = map (p in row.x) { u8(i64(p) + s) }\n")


def lets(n):
    steps = "".join(f"  let x{i + 1} = map (p in x{i}, q in x{max(0, i - 1)}) {{ u8((i32(p) + i32(q)) / 2) }}\n"
                    for i in range(n))
    return program(f"  let x0 = row.x\n{steps}  let x = x{n}\n")


def conditions_of_conditions(n):
    steps = "".join(f"  let x{i + 1} = map (p in x{i}, q in x{max(0, i - 1)}) {{ (p and not q) or (q and not p) }}\n" for i in range(n))
    return program(f"  let x0 = map (p in row.x) {{ p > 100 }}\n{steps}", outputs=[f"    output y: i64[n, h, c] = count(x{n} over [w])\n"])


def long_record(n):
    fields = ", ".join(f"a{i} = {add(i)}" for i in range(n))
    return program(f"  let x = row.x\n  let r = {{ {fields} }} |> flip(w) if chance(0.5)\n",
                   outputs=[f"    output y{i}: u8[n, h, w, c] = r.a{i}\n" for i in range(n)])


def pad_crop_flip_resize(n):
    return program(stages(n, "{ pad(4) |> random_crop(48) |> flip(w) if chance(0.5) |> resize(48, 48) }"))


def resizes(n):
    return program(stages(n, *(f"resize({40 + i}, {49 - i})" for i in range(9))))


def reductions(n):
    return program(f"  let x0 = row.x\n" + "".join(
        f"  let x{i + 1} = map (p in x{i}, m in max(x{i} over [h, w])) {{ u8((i32(p) + i32(m)) / 2) }}\n"
        for i in range(n)) + f"  let x = x{n}\n")


FAMILIES = [(chain, 24), (conditions, 12), (grey_by_chance, 9), (inverted_by_chance, 12),
            (repeated_choices, 12), (nested_choices, 8), (views, 10), (doubling, 64),
            (wide_window, 120), (bilateral, 60), (pairs, 256), (many_outputs, 12), (terms, 150), (terms_of_numbers, 150), (lets, 24),
            (long_record, 8), (pad_crop_flip_resize, 12), (resizes, 9), (reductions, 16)]
# What is decided for registers of each width and kind.
TARGETS = ("x86-64-v2", "x86-64-v4-vnni", "armv8-a")


class Scaling(ToolTest):
    library = None

    def write(self, text):
        path = os.path.join(self.folder, "p.pipe")
        with open(path, "w") as file:
            file.write(text)
        return path

    def compile(self, text, *options, expect=0, stage=None):
        path = self.write(text)
        counted = os.path.join(self.folder, "allocations")
        wanted = ["--emit", stage, "-o", os.path.join(self.folder, stage)] if stage else []
        done = subprocess.run(self.command("compile", path, "--no-cache", *options, *wanted), capture_output=True, text=True,
                              timeout=300, env={**self.environment(), "LD_PRELOAD": self.library,
                                                "PENSTOCK_ALLOCATIONS": counted})
        self.assertEqual(done.returncode, expect, done.stderr)
        if expect:
            return done.stderr.replace(path, "p.pipe")
        with open(counted) as file:
            return int(file.read())

    def test_twice_as_much_costs_about_twice_as_much(self):
        empty = self.compile(program("  let x = row.x\n"))
        for family, n in FAMILIES:
            with self.subTest(family=family.__name__):
                once, twice = self.compile(family(n)) - empty, self.compile(family(2 * n)) - empty
                self.assertGreater(once, 0)
                # The square would be 4, n log n is 2.3 at these sizes.
                self.assertLess(twice / once, 2.5, f"{once} at {n}, {twice} at {2 * n}")

    def test_loops_in_a_row(self):
        """Without LLVM, in which so many take minutes."""
        once, twice = (self.compile(windows_in_a_row(n), stage="llvm") for n in (500, 1000))
        self.assertLess(twice / once, 2.2, f"{once} at 500, {twice} at 1000")

    def test_maps_that_stay_apart(self):
        """One kernel holds them all, and asks of each what it is made of."""
        for family in (lets, conditions_of_conditions):
            with self.subTest(family=family.__name__):
                once, twice = (self.compile(family(n), "--disable-pass", "merge-maps") for n in (24, 48))
                self.assertLess(twice / once, 2.5, f"{once} at 24, {twice} at 48")

    def test_on_every_machine_with_any_pass_left_out(self):
        """What is asked again and again on one machine alone, where a pass leaves much to ask: four times as many take no minutes.
        Without LLVM, 0.3 s of CPU time each; 30 mean that it does not end."""
        passes = re.search("known are (.*)", self.run_tool("compile", self.write(program("")), "--disable-pass", "none", expect=1).stderr)
        left_out = ["merge-maps", *in_turn(sorted({*passes[1].split(", ")} - {"merge-maps"}), 1, "passes")]
        for (family, n), name in itertools.product([*FAMILIES, (conditions_of_conditions, 24)], left_out):
            for target in in_turn(TARGETS, 1, f"{family.__name__} {name}"):
                with self.subTest(family=family.__name__, target=target, left_out=name):
                    done = subprocess.run(
                        self.command("compile", self.write(family(4 * n)), "--no-cache", "--target", target, "--disable-pass", name, "--emit",
                                     "llvm", "-o", os.devnull), capture_output=True, text=True, env=self.environment(),
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (30, 30)))
                    self.assertEqual(done.returncode, 0, done.stderr)

    def test_operators_after_themselves(self):
        empty = self.compile(program("  let x = row.x\n"))
        for stage in REPEATED if os.environ.get("PENSTOCK_ALL_OPERATORS") else chosen(REPEATED, len(REPEATED) // 3):
            with self.subTest(stage=stage):
                once, twice = (self.compile(program(stages(n, stage))) - empty for n in (8, 16))
                self.assertLess(twice / once, 2.5, f"{once} at 8, {twice} at 16")

    def test_functions_that_write_out_too_much_are_refused_before_they_are(self):
        message = self.compile(doubling(1 << 20), expect=1)
        self.assertEqual(message.splitlines()[0],
                         "p.pipe:26:11: error: with `g20`, this pipeline has 10485770 expressions once functions and constants "
                         "are inlined, and at most 500000 are possible")
        self.assertEqual(message.splitlines()[-1],
                         "hint: `repeat` and `each` go round without writing anything twice")
        self.compile(doubling(1 << 8))

    def test_constants_and_records_that_double_are_refused_before_they_are(self):
        functions = "const c0: int = 1\n" + "".join(f"const c{i}: int = c{i - 1} + c{i - 1}\n" for i in range(1, 60))
        for lets in ("", "  let y = c59\n"):
            self.assertRegex(self.compile(program(lets + "  let x = row.x\n", functions), expect=1),
                             r"p\.pipe:\d+:\d+: error: with `c\d+`, this (constant|pipeline) has .* and at most 500000 are possible\n")
        for value in ("{{ a = {0}, b = {0} }}", "{{ a = [{0}, 1, {0}] }}"):
            text = "  let x = row.x\n  let r0 = { a = 1 }\n" + "".join(f"  let r{i} = {value.format(f'r{i - 1}')}\n" for i in range(1, 60))
            self.assertRegex(self.compile(program(text), expect=1), r"p\.pipe:\d+:\d+: error: a record or list of \d+ values, .* at most 10000 are possible\n")

    def test_long_texts_are_read_to_their_end(self):
        """About as long as a text may be. Each takes 1 to 4 s of CPU time; 60 mean that the square of its length is in it."""
        def let(name, value):
            return f"  let {name} = {value}\n"
        plain = "fn f(x: u8[h, w, c]) -> u8[h, w, c] = 255 - x\n"
        for name, text, expect in (
                ("errors", program("".join(let(f"b{i}", f"nope{i}") for i in range(40000))), 1),
                ("stages", program(let("x", "row.x" + " |> f" * 60000), plain), 0),
                ("lines", program(let("x", "row.x") + "".join(let(f"b{i}", f"b{i - 1} + 1" if i else "row.k") for i in range(35000))), 0),
                ("fields", program(let("y", "row" + ".x" * 300000)), 1)):
            with self.subTest(text=name):
                done = subprocess.run(self.command("check", self.write(text)), capture_output=True, text=True, env=self.environment(),
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (60, 60)))
                self.assertEqual(done.returncode, expect, done.stderr[-300:])

    def test_views_that_write_out_too_much_are_refused_before_they_are(self):
        text = program("  let x = each (v in 0 .. 100_000) { row.x |> pad(4) |> random_crop(48) }\n",
                       outputs=["    output image: u8[n, v, h, w, c] = x\n"])
        self.assertRegex(self.compile(text, expect=1),
                         r"p\.pipe:5:11: error: 100000 views of \d+ operations each are too many: a pipeline has at most "
                         r"20000 operations, and this one \d+ before\n")


if __name__ == "__main__":
    Scaling.tool = os.path.abspath(sys.argv.pop(1))
    Scaling.library = os.path.abspath(sys.argv.pop(1))
    unittest.main()
