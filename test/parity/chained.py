# SPDX-License-Identifier: Apache-2.0
"""Random recipes of the library's functions and the language's own words, of images, waves, spectra and volumes: generated
code, of a level of the CPU and without an optimising pass too, has the bits of the reference interpreter.

A few, chosen by the commit; PENSTOCK_CHAINS says how many, PENSTOCK_CHAINS_SEED from where. What differs, or is refused by one
of them alone, is printed with as few of its steps as show it. test/e2e/chains.py has arms and repetitions in each other.
"""
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

import numpy

TOOL, REFERENCE = sys.argv[1:3]
COUNT = int(os.environ.get("PENSTOCK_CHAINS", 24))
#: Said of a recipe that both refuse, or of which both have a bad sample.
REFUSED = "refused"
#: One is chosen for each recipe, beside this machine's own.
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni")
PASSES = ("split-choices", "merge-views", "compose-views", "sink-casts", "merge-maps", "narrow", "collapse-tables", "required-regions", "fuse", "share-kernels")


class Value:
    """What a step makes: an element type, and axes with their extents, None where a sample decides."""

    def __init__(self, element, axes, least=None, rgb=False):
        self.element, self.axes, self.rgb = element, dict(axes), rgb
        self.least = least or {axis: extent for axis, extent in axes.items()}

    def has(self, *axes):
        return set(axes) <= set(self.axes)

    def known(self, *axes):
        return all(self.axes.get(axis) is not None for axis in axes or self.axes)

    def changed(self, **changes):
        """Axes of other extents; an extent is a number, or (least, most)."""
        axes, least = dict(self.axes), dict(self.least)
        for axis, extent in changes.items():
            axes[axis] = extent if isinstance(extent, int) else None
            least[axis] = extent if isinstance(extent, int) else extent[0]
        return Value(self.element, axes, least, self.rgb)

    def of(self, element):
        return Value(element, self.axes, self.least, self.rgb)


def is_picture(v):
    return v.element == "u8" and list(v.axes) == ["h", "w", "c"] and v.rgb


def number(r, low, high):
    return f"{r.uniform(low, high):.3f}"


def some(r, low, high, drawn=0.3):
    """A number, or a drawn one between two."""
    return f"draw uniform({low:.2f} .. {high:.2f})" if r.random() < drawn else number(r, low, high)


FILTERS = ("bilinear", "bicubic", "box", "nearest", "lanczos", "hamming")
BORDERS = ("edge", "reflect", "symmetric", "wrap", "constant")
STEPS = []


def step(wanted, weight=1):
    """A step for values that `wanted` accepts: the text behind `x |>`, or with {x} where it stands, and what it makes."""
    def note(function):
        STEPS.append((wanted, function, weight))
        return function
    return note


def on_plane(v):
    return v.has("h", "w") and v.least["h"] >= 8 and v.least["w"] >= 8 and v.element not in ("bool", "bf16")


# --- moves --------------------------------------------------------------------------------------

@step(on_plane, 2)
def cropped(r, v):
    height, width = r.randint(5, v.least["h"]), r.randint(5, v.least["w"])
    return f"random_crop({height}, {width})", v.changed(h=height, w=width)


@step(on_plane, 2)
def cropped_by_draws(r, v):
    rows, columns = r.randint(5, v.least["h"]), r.randint(5, v.least["w"])
    return (f"crop(0, 0, draw int({rows} ..= {v.least['h']}), draw int({columns} ..= {v.least['w']}))",
            v.changed(h=(rows, v.least["h"]), w=(columns, v.least["w"])))


@step(on_plane, 2)
def resized(r, v):
    height, width = r.randint(6, 40), r.randint(6, 40)
    antialias = r.choice(("", "", ", antialias = false"))
    return f"resize({height}, {width}, filter = {r.choice(FILTERS)}{antialias})", v.changed(h=height, w=width)


@step(on_plane)
def crop_resized(r, v):
    size = r.randint(7, 33)
    return f"random_resized_crop({size}, scale = 0.2 .. 1.0)", v.changed(h=size, w=size)


@step(on_plane)
def padded(r, v):
    by = r.randint(1, 5)
    changes = {a: v.axes[a] + 2 * by if v.axes[a] else (v.least[a] + 2 * by, 0) for a in "hw"}
    return f"pad({by}, border = {r.choice(BORDERS)})", v.changed(**changes)


@step(lambda v: v.axes, 2)
def flipped(r, v):
    axis = r.choice(list(v.axes))
    return f"flip({axis})" + r.choice(("", " if chance(0.5)")), v


@step(lambda v: any(v.least[a] >= 3 for a in v.axes))
def rolled(r, v):
    axis = r.choice([a for a in v.axes if v.least[a] >= 3])
    return f"roll({axis}, {r.choice((str(r.randint(-2, 2)), 'draw int(-2 ..= 2)'))})", v


@step(on_plane)
def shifted(r, v):
    return r.choice((f"shift({r.randint(-3, 3)}, draw int(-3 ..= 3))",
                     f"translate(draw int(-3 ..= 3), {r.randint(-3, 3)})")), v


@step(on_plane)
def turned(r, v):
    how = r.choice(("nearest", "linear", "cubic"))
    return r.choice((f"rotate({number(r, -40, 40)} * 1deg, interpolation = {how})",
                     f"random_rotation(-30.0 .. 30.0, interpolation = {how})",
                     f"shear({r.choice('hw')}, {number(r, -0.4, 0.4)}, interpolation = {how})",
                     f"random_affine(-20.0 .. 20.0, scale = 0.8 .. 1.2, interpolation = {how})")), v


@step(lambda v: on_plane(v) and v.known("h", "w"))
def quarter_turned(r, v):
    return "rotate90", v.changed(h=v.axes["w"], w=v.axes["h"])


@step(on_plane)
def erased(r, v):
    return "erase(area = 0.1 .. 0.3)" + r.choice(("", " if chance(0.5)")), v


@step(lambda v: any(v.axes[a] and v.axes[a] >= 2 for a in v.axes), 2)
def cut(r, v):
    axis = r.choice([a for a in v.axes if v.axes[a] and v.axes[a] >= 2])
    low = r.randint(0, v.axes[axis] - 1)
    high = r.randint(low + 1, v.axes[axis])
    made = v.changed(**{axis: high - low})
    made.rgb = v.rgb and axis != "c"
    return f"{{x}}[{axis} = {low} .. {high}]", made


@step(lambda v: len(v.axes) > 1 and any(v.axes.values()))
def picked(r, v):
    axis = r.choice([a for a in v.axes if v.axes[a]])
    axes = {a: e for a, e in v.axes.items() if a != axis}
    return f"{{x}}[{axis} = {r.randrange(v.axes[axis])}]", Value(v.element, axes, {a: v.least[a] for a in axes})


@step(lambda v: v.axes.get("c") == 3)
def other_channels(r, v):
    order = r.choice(([2, 1, 0], [0, 0, 1, 2], [1, 2]))
    made = v.changed(c=len(order))
    made.rgb = False
    return f"{{x}}[c = [{', '.join(map(str, order))}]]", made


@step(lambda v: v.element != "bool" and v.axes)
def extended(r, v):
    axis = r.choice(list(v.axes))
    before, behind = r.randint(0, 3), r.randint(0, 3)
    border = r.choice(BORDERS)
    made = v.changed(**{axis: v.axes[axis] + before + behind if v.axes[axis] else (v.least[axis] + before + behind, 0)})
    made.rgb = v.rgb and axis != "c"
    return f"extend({axis}, {before}, {behind}, border = {border})", made


@step(lambda v: any(e and e < 60 for e in v.axes.values()))
def joined(r, v):
    axis = r.choice([a for a in v.axes if v.axes[a] and v.axes[a] < 60])
    made = v.changed(**{axis: 2 * v.axes[axis]})
    made.rgb = v.rgb and axis != "c"
    return f"concat([{{x}}, flip({{x}}, {r.choice(list(v.axes))})], {axis})", made


@step(lambda v: v.has("t") and v.axes["t"] and v.axes["t"] >= 64 and len(v.axes) == 1)
def framed(r, v):
    size, hop = r.choice((16, 20, 32)), r.choice((7, 8, 16))
    return f"frames(t, k, {size}, {hop})", Value(v.element, {"t": (v.axes["t"] - size) // hop + 1, "k": size})


# --- elements -------------------------------------------------------------------------------------

@step(is_picture, 2)
def coloured(r, v):
    return r.choice((f"brightness({some(r, 0.4, 1.6)})", f"contrast({some(r, 0.4, 1.6)})", f"saturation({some(r, 0.0, 2.0)})",
                     f"hue({number(r, -0.4, 0.4)})", "grayscale", "random_grayscale(0.5)",
                     "color_jitter(0.4, 0.4, 0.4, 0.1)" + r.choice(("", " if chance(0.8)")))), v


@step(lambda v: v.element == "u8", 2)
def toned(r, v):
    return r.choice((f"solarize({r.randint(0, 256)})", f"posterize({r.randint(1, 8)})", "invert", "invert if chance(0.4)",
                     f"brightness({some(r, 0.4, 1.6)})")), v


@step(is_picture)
def stretched(r, v):
    return r.choice(("autocontrast", "equalize", "equalize if chance(0.5)")), v


@step(is_picture)
def by_policy(r, v):
    return r.choice((f"rand_augment({r.randint(1, 2)}, {r.randint(0, 14)})", "trivial_augment_wide", "auto_augment(cifar10)")), v


@step(lambda v: v.element != "bool", 2)
def converted(r, v):
    wanted = r.choice(("f32", "f32", "f32", "f16", "bf16", "u8.clamp", "i16", "i32", "f64"))
    made = v.of(wanted.split(".")[0])
    made.rgb = v.rgb and made.element == "u8"
    return wanted, made


@step(lambda v: v.element == "u8")
def to_floats(r, v):
    return "to_tensor", v.of("f32")


@step(lambda v: v.element in ("u8", "f32") and v.axes.get("c") == 3)
def normal(r, v):
    made = v.of("f32")
    made.rgb = False
    return f"normalize({r.choice(('imagenet', 'cifar10'))})", made


@step(lambda v: v.element in ("f32", "f64"), 2)
def computed(r, v):
    return r.choice((f"map (p in {{x}}) {{ p * {number(r, -2, 2)} + {number(r, -1, 1)} }}", "exp({x} * 0.01)", "tanh({x})", "sin({x})",
                     f"clamp({{x}}, {number(r, -2, 0)}, {number(r, 0, 2)})", "log(abs({x}) + 1.0)", "sqrt(abs({x}))",
                     f"map (p in {{x}}) {{ if p > {number(r, -1, 1)} then p else -p }}")), v


@step(lambda v: v.element in ("u8", "i16", "i32"))
def counted(r, v):
    return r.choice((f"map (p in {{x}}) {{ p / {r.randint(2, 9)} }}", f"map (p in {{x}}) {{ p % {r.randint(2, 9)} }}",
                     f"map (p in {{x}}) {{ bit_xor(p, {r.randint(1, 100)}) }}", f"map (p in {{x}}) {{ min(p, {r.randint(1, 100)}) + 1 }}")), v


@step(lambda v: v.axes and v.element != "bool")
def by_place(r, v):
    axis = r.choice(list(v.axes))
    return (f"map (p in {{x}}, i in index({{x}}, {axis})) {{ if i % {r.randint(2, 4)} == 0 then p else {r.randint(0, 3)} }}", v)


@step(lambda v: v.element == "f32" and v.axes)
def noisy(r, v):
    return f"map (p in {{x}}) {{ p + {number(r, 0, 1)} * f32(draw normal per [{', '.join(v.axes)}]) }}", v


# --- neighbours and sums ------------------------------------------------------------------------------

@step(is_picture)
def blurred(r, v):
    if min(v.least["h"], v.least["w"]) <= 4:
        return None
    size = r.choice((3, 5, 7))
    return r.choice((f"gaussian_blur({size}, {number(r, 0.3, 2)})", f"random_gaussian_blur({size})" + r.choice(("", " if chance(0.5)")),
                     f"box_blur({r.randint(1, 2)})", f"pillow_blur({number(r, 0.2, 2)})", f"sharpness({some(r, 0.1, 1.9)})", "smooth")), v


@step(lambda v: v.axes and v.element != "bool", 3)
def windowed(r, v):
    axes = r.sample(list(v.axes), min(len(v.axes), r.choice((1, 1, 2))))
    spans = [f"{a} = {r.randint(-3, 0)} ..= {r.randint(0, 3)}" for a in axes]
    kind = r.choice(("max", "min", "sum" if v.element in ("f32", "i32", "f64") else "max"))
    return (f"window (p in {{x}}, {', '.join(spans)}, border = {r.choice(BORDERS)}) {{ {kind}(p over [{', '.join(axes)}]) }}", v)


@step(lambda v: len(v.axes) > 1 and v.element in ("f32", "f64", "i32"), 2)
def reduced(r, v):
    axis = r.choice(list(v.axes))
    axes = {a: e for a, e in v.axes.items() if a != axis}
    return f"{r.choice(('sum', 'max', 'min'))}({{x}} over [{axis}])", Value(v.element, axes, {a: v.least[a] for a in axes})


@step(lambda v: v.axes and v.element == "f32", 2)
def less_its_mean(r, v):
    axes = r.sample(list(v.axes), r.randint(1, len(v.axes)))
    over = ", ".join(axes)
    return r.choice((f"{{x}} - mean({{x}} over [{over}])", f"softmax({{x}} over [{axes[0]}])", f"{{x}} / (std({{x}} over [{over}]) + 1.0)",
                     f"{{x}} / (norm({{x}} over [{axes[0]}]) + 1.0)")), v


@step(lambda v: v.axes and v.element in ("f32", "f64", "i32", "i16"))
def scanned(r, v):
    axis = r.choice(list(v.axes))
    return (r.choice((f"scan_sum({axis})", f"scan_max({axis})")) if v.element in ("f32", "f64") else f"scan_sum({axis})"), v


@step(lambda v: v.axes and v.known() and 2 <= min(v.axes.values()) and v.element != "bool")
def ordered(r, v):
    axis = r.choice(list(v.axes))
    return f"sort({axis})", v.of("i64")


@step(lambda v: v.element == "u8" and len(v.axes) > 1)
def counts(r, v):
    axes = r.sample(list(v.axes), r.randint(1, len(v.axes)))
    kept = {a: e for a, e in v.axes.items() if a not in axes}
    return f"f32(histogram({{x}} over [{', '.join(axes)}]))", Value("f32", {**kept, "bin": 256}, {**{a: v.least[a] for a in kept}, "bin": 256})


@step(lambda v: v.element == "f32" and list(v.axes) == ["t"] and v.axes["t"] and v.axes["t"] >= 64, 3)
def of_sound(r, v):
    return r.choice((f"lowpass(16kHz, {r.randint(500, 4000)}Hz)", f"highpass(16kHz, {r.randint(200, 2000)}Hz)", f"equalizer(16kHz, 1kHz, {number(r, -9, 9)})",
                     f"preemphasis({number(r, 0.8, 0.99)})", "normalize_wave", f"gain({some(r, -6, 6)})", "time_mask(20)", "dither(0.01)")), v


@step(lambda v: v.element == "f32" and list(v.axes) == ["t"] and v.axes["t"] and v.axes["t"] >= 256, 3)
def to_mel(r, v):
    made = Value("f32", {"t": v.axes["t"] // 32 + 1, "freq": 10})
    return "mel_spectrogram(16kHz, 64, 32, 10, 0Hz .. 8kHz)", made


@step(lambda v: v.element == "f32" and v.has("t", "freq") and len(v.axes) == 2)
def of_spectra(r, v):
    return r.choice(("decibels", "time_mask(3)", "frequency_mask(3)", "normalize_features", "log_clamped(0.001)", "dynamic_range(8.0)")), v


# --- of two values, and several of one ----------------------------------------------------------------

@step(lambda v: v.axes and v.element in ("f32", "f64", "u8", "i32"), 3)
def mixed(r, v):
    """{like}: an earlier value of this type."""
    return r.choice(("map (p in {x}, q in {like}) { if p > q then p else q }", "map (p in {x}, q in {like}) { p - q }",
                     "map (p in {x}, q in {like}) { p / 2 + q / 3 }", "if draw uniform(0.0 .. 1.0) < 0.5 then {x} else {like}")), v


@step(lambda v: v.known() and len(v.axes) < 4 and "v" not in v.axes)
def stacked(r, v):
    return "stack([{x}, {like}], v)", Value(v.element, {"v": 2, **v.axes})


@step(lambda v: is_picture(v) and v.known() and min(v.axes["h"], v.axes["w"]) > 8, 2)
def views(r, v):
    size = r.randint(6, 24)
    made = Value("u8", {"v": 2, "h": size, "w": size, "c": 3}, rgb=True)
    inner = [f"random_resized_crop({size}, scale = 0.3 .. 1.0)", "flip(w) if chance(0.5)"]
    inner += r.sample(["color_jitter(0.4, 0.4, 0.4, 0.1) if chance(0.8)", "grayscale if chance(0.2)", "solarize(128) if chance(0.5)",
                       "random_gaussian_blur(3) if chance(0.5)", "brightness(draw uniform(0.5 .. 1.5))", "invert if chance(0.3)"], r.randint(0, 3))
    return f"each (v in 0 .. 2) {{ {{x}} |> {' |> '.join(inner)} }}", made


@step(lambda v: v.has("v") and v.axes["v"] == 2 and len(v.axes) > 1)
def one_view(r, v):
    axes = {a: e for a, e in v.axes.items() if a != "v"}
    return f"{{x}}[v = draw int(0 .. 2)]", Value(v.element, axes, {a: v.least[a] for a in axes}, v.rgb)


@step(lambda v: is_picture(v), 2)
def in_branches(r, v):
    """Steps that some samples take."""
    some = r.sample(["grayscale", "contrast(1.4)", "hue(0.1)", "saturation(0.3)", "equalize", "autocontrast", "box_blur(1)", "solarize(99)", "flip(w)", "flip(h)"], 3)
    return (f"if row.index % 2 == 0 then ({{x}} |> {some[0]} |> {some[1]}) else ({{x}} |> {some[2]} if chance(0.5))", v)


SOURCES = (
    lambda r: (f"u8[h = {r.randint(9, 44)}, w = {r.randint(9, 70)}, c = rgb]", True),
    lambda r: (f"u8[h = {r.randint(9, 44)}, w = {r.randint(9, 70)}, c = rgb]", True),
    lambda r: (f"u8[h = {r.randint(8, 40)}, w = {r.randint(8, 90)}]", False),
    lambda r: (f"f32[h = {r.randint(8, 30)}, w = {r.randint(8, 70)}, c = {r.randint(1, 4)}]", False),
    lambda r: (f"f32[t = {r.choice((64, 300, 1000, 1031))}]", False),
    lambda r: (f"f32[t = {r.randint(2, 60)}, freq = {r.randint(1, 40)}]", False),
    lambda r: (f"i16[t = {r.randint(9, 300)}]", False),
    lambda r: (f"u8[z = {r.randint(2, 9)}, y = {r.randint(2, 17)}, x = {r.randint(2, 40)}]", False),
)


def value_of(column, rgb):
    element, axes = re.fullmatch(r"(\w+)\[(.*)\]", column).groups()
    return Value(element, {a: 3 if e == "rgb" else int(e) for a, e in (pair.split(" = ") for pair in axes.split(", "))}, rgb=rgb)


class Recipe:
    """A column, and steps: each the text of a value, made of the one before."""

    def __init__(self, seed):
        r = random.Random(seed)
        self.column, rgb = r.choice(SOURCES)(r)
        self.steps, value = [], value_of(self.column, rgb)
        self.values = [value]
        for _ in range(r.choice((2, 3, 4, 5, 6, 8, 12))):
            fitting = [(function, weight) for wanted, function, weight in STEPS if wanted(value)]
            if not fitting:
                break
            function = r.choices(*zip(*fitting))[0]
            made = function(r, value)
            if made is None or (made[1].known() and numpy.prod(list(made[1].axes.values()), dtype=float) > 20000):
                continue
            like = [number for number, other in enumerate(self.values)
                    if other.axes == value.axes and other.element == value.element and value.known()]
            text = made[0].replace("{like}", f"v{r.choice(like[-4:])}" if like else "{x}")
            self.steps.append((text, r.random() < 0.12))
            value = made[1]
            self.values.append(value)
        self.level = r.choice(LEVELS)
        self.without = r.choice(PASSES)
        self.outer = r.random() < 0.15
        self.turned = r.random() < 0.3
        self.early = r.randrange(len(self.values)) if r.random() < 0.3 else None

    def text(self):
        lines = []
        for number, (made, is_chosen) in enumerate(self.steps):
            before = f"v{number}"
            whole = made.replace("{x}", before) if "{x}" in made else f"{before} |> {made}"
            same = self.values[number].axes == self.values[number + 1].axes and self.values[number].element == self.values[number + 1].element
            if is_chosen and same and self.values[number].known() and not re.search(r"\bif\b", whole):
                whole = f"if row.index % 2 == 0 then {before} else ({whole})"
            lines.append(f"  let v{number + 1} = {whole}")
        outputs = [self.output("y", len(self.steps))]
        if self.early is not None and self.early < len(self.steps):
            outputs.append(self.output("early", self.early))
        return "\n".join(["pipe 1", "use vision, audio, signal", "pipeline recipe(x: path) {", f"  for row in raw(x = column(x, {self.column}))",
                          "  let v0 = row.x", *lines, "  batch 2 {", *outputs, "  }", "}", ""])

    def output(self, name, number):
        value, text = self.values[number], f"v{number}"
        axes = list(value.axes)
        for axis in axes:
            if value.axes[axis] is None: # of no more elements than fit
                text = f"fit_length({text}, {axis}, {value.least[axis] + 3})"
        if self.turned:
            axes.reverse()
        return f"    output {name}: {value.element}[{', '.join(['n'] + axes)}] = {text}"

    def without_step(self, number):
        """The same less a step, where the others still fit; None else."""
        shorter = Recipe.__new__(Recipe)
        shorter.__dict__.update(self.__dict__)
        before, behind = self.values[number], self.values[number + 1]
        if before.axes != behind.axes or before.element != behind.element:
            if number + 1 < len(self.steps):
                return None
        names = {f"v{other}": f"v{other - 1}" for other in range(number + 1, len(self.steps) + 1)}
        shorter.steps = self.steps[:number] + [(re.sub(r"\bv\d+\b", lambda name: names.get(name[0], name[0]), made), chosen)
                                               for made, chosen in self.steps[number + 1:]]
        shorter.values = self.values[:number + 1] + self.values[number + 2:]
        shorter.early = None
        return shorter


def rows(column, seed):
    element, axes = re.fullmatch(r"(\w+)\[(.*)\]", column).groups()
    count = 3 * int(numpy.prod([3 if pair.endswith("rgb") else int(pair.split(" = ")[1]) for pair in axes.split(", ")]))
    drawn = numpy.random.default_rng(seed)
    if element == "f32":
        return drawn.normal(0, 1, count).astype("f4")
    return drawn.integers(0, 256, count).astype("u1") if element == "u8" else drawn.integers(-32768, 32768, count).astype("i2")


def outputs(folder, command):
    os.mkdir(folder)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "takes more than two minutes"
    if done.returncode != 0:
        return f"{done.returncode}: {done.stderr[-2000:]}"
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


def difference(recipe, seed):
    """What is not as it should be, in words; nothing where all agrees, and REFUSED where both refuse."""
    with tempfile.TemporaryDirectory() as folder:
        path, data = os.path.join(folder, "recipe.pipe"), os.path.join(folder, "x")
        with open(path, "w") as file:
            file.write(recipe.text())
        rows(recipe.column, seed).tofile(data)
        settings = ["--set", f"x={data}"]
        wanted = outputs(os.path.join(folder, "reference"), [REFERENCE, path, "1", os.path.join(folder, "reference"), *settings])
        for name, more in (("native", []), (recipe.level, ["--target", recipe.level]), (f"without {recipe.without}", ["--disable-pass", recipe.without])):
            place = os.path.join(folder, name.replace(" ", "-"))
            found = outputs(place, [TOOL, "sample", path, "--no-cache", "--position", "1", "-o", place, *settings, *more])
            if isinstance(found, str) and "which this processor does not offer" in found:
                continue
            if isinstance(wanted, str) and isinstance(found, str) and found.startswith("1:") and wanted.startswith("1:"):
                return REFUSED
            if isinstance(wanted, str) or isinstance(found, str):
                return f"{name}: reference {wanted if isinstance(wanted, str) else 'runs'}; code {found if isinstance(found, str) else 'runs'}"
            wrong = [output for output in wanted if found.get(output) != wanted[output]]
            if wrong:
                return f"{name}: {wrong} differ"
    return ""


def smallest(recipe, seed):
    """As few steps as still show something, and what they show."""
    found = difference(recipe, seed)
    number = len(recipe.steps) - 1
    while number >= 0:
        shorter = recipe.without_step(number)
        if shorter and (shown := difference(shorter, seed)) not in ("", REFUSED):
            recipe, found = shorter, shown
        number -= 1
    return recipe, found


def check(seed):
    recipe = Recipe(seed)
    found = difference(recipe, seed)
    if found in ("", REFUSED):
        return found
    recipe, found = smallest(recipe, seed)
    return f"recipe {seed}: {found}\n{recipe.text()}"


def first_seed():
    given = os.environ.get("PENSTOCK_CHAINS_SEED")
    if given:
        return int(given)
    done = subprocess.run(["git", "-C", os.path.dirname(os.path.abspath(__file__)), "rev-parse", "HEAD"], capture_output=True, text=True)
    return int(done.stdout[:8] or "0", 16)


class Chained(unittest.TestCase):
    def test_code_has_the_bits_of_the_reference(self):
        first = first_seed()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            results = list(pool.map(check, range(first, first + COUNT)))
        found, refused = [result for result in results if result not in ("", REFUSED)], results.count(REFUSED)
        print(f"{COUNT - len(found) - refused} recipes from {first} equal, {refused} refused, {len(found)} differ")
        self.assertEqual("\n".join(found), "")
        self.assertLessEqual(refused, max(2, COUNT // 4)) # what nobody runs shows nothing


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
