# SPDX-License-Identifier: Apache-2.0
"""Chains of a pipeline's stages that compute a transform."""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any


class Unknown(Exception):
    """This transform has no stages; the text says why. `transform` names it."""

    #: What is known of the last one: a script's own `except Exception` may have caught it. Not the exception itself, as its traceback
    #: would keep whatever its callers had, such as a loader and its workers.
    last: dict[str, str] | None = None

    def __init__(self, reason: str, transform: str = ""):
        super().__init__(reason)
        self.reason, self.transform = reason, transform
        Unknown.last = vars(self)


@dataclass(frozen=True)
class Chain:
    """The stages so far, and what they lead to."""
    stages: tuple[str, ...] = ()
    #: "image": a Pillow image, u8[h, w, c]; "bytes", "tensor": a torch tensor of u8 or f32.
    kind: str = "image"
    #: Pillow's mode L: three equal channels here, of which a tensor gets one.
    grey: bool = False
    #: Of a tensor, its class: "Image", torchvision's tv_tensors.Image; "Tensor", a plain one; "": one of these.
    cls: str = "Tensor"

    def then(self, *stages: str, **changes: Any) -> Chain:
        if changes.get("kind") == "image":
            changes["cls"] = "Tensor"
        return replace(self, stages=self.stages + stages, **changes)

    def after(self, start: Chain) -> tuple[str, ...]:
        """The stages behind `start`, which this chain begins with."""
        return self.stages[len(start.stages):]


HELPERS = {
    "first_channel": "fn first_channel[E: (u8, f32)](x: E[h, w, c]) -> E[h, w, c] = x[c = 0 .. 1]",
    "looked_up": "fn looked_up(x: u8[h, w, c], table: u8[k]) -> u8[h, w, c] = map (p in x) { table[k = p] }",
    # The second version of torchvision's transforms multiplies where ToTensor divides.
    # Pillow's resize from version 13 on: down first where the height shrinks by more than twice what the width does.
    # One size: that of the shorter side; the longer one has at most `most`.
    "resized": """\
fn resized(x: u8[h, w], height: int, width: int, filter: filter = bilinear) -> u8[h, w] =
  if height < h and h - height > 2 * (w - width) then resize_axis(resize_axis(x, h, height, filter), w, width, filter)
  else resize(x, height, width, filter)
fn shorter_resized(x: u8[h, w], size: int, most: int, filter: filter = bilinear) -> u8[h, w] {
  let long  = int(f64(size * max(h, w)) / f64(min(h, w)))
  let short = if long > most then int(f64(most * size) / f64(long)) else size
  let kept  = min(long, most)
  return resized(x, if h < w then short else kept, if h < w then kept else short, filter)
}""",
    # The longer side becomes `most`; as above, by Pillow 13.
    "longer_resized": """\
fn longer_resized[E: (u8, f32)](x: E[h, w], most: int, filter: filter = bilinear, antialias: bool = true) -> E[h, w] {
  let short = int(f64(most * min(h, w)) / f64(max(h, w)))
  return resize(x, if h < w then short else most, if h < w then most else short, filter, antialias)
}""",
    "tall_longer_resized": """\
fn tall_longer_resized(x: u8[h, w], most: int, filter: filter = bilinear) -> u8[h, w] {
  let short = int(f64(most * min(h, w)) / f64(max(h, w)))
  return resized(x, if h < w then short else most, if h < w then most else short, filter)
}""",
    # A fill for each channel: a fourth channel, of which 0 is made where nothing of the image is.
    "with_inside": """\
fn with_inside(x: u8[h, w, c: rgb]) -> u8[h, w, c] = stack([x[c = 0], x[c = 1], x[c = 2], map (p in x[c = 0]) { u8(255) }], c)""",
    "filled": """\
fn where_inside(x: u8[h, w], inside: u8[h, w], fill: u8) -> u8[h, w] = map (p in x, i in inside) { if i == 0 then fill else p }
fn filled(x: u8[h, w, c], r: u8, g: u8, b: u8) -> u8[h, w, c: rgb] =
  stack([where_inside(x[c = 0], x[c = 3], r), where_inside(x[c = 1], x[c = 3], g), where_inside(x[c = 2], x[c = 3], b)], c)""",
    "scaled": "fn scaled(x: u8[h, w, c]) -> f32[h, w, c] = map (p in x) { f32(p) * f32(0.00392156862745098) }",
    "to_image": "fn to_image(x: f32[h, w, c]) -> u8[h, w, c] = map (p in x) { u8.clamp(trunc(p * f32(255.0))) }",
}

#: Colours of u8 tensors, as torchvision computes them in f32. `second`: of transforms v2, which multiplies by 1/255 and 1/6 where the first version
#: divides. `fused`: its sums are fused multiply-adds, which torch has on processors with AVX2; in f64 they are exact before they are rounded.
TORCH_COLOURS = """\
fn torch_sum(x: f32, y: f32, by: f32, fused: bool) -> f32 = if fused then f32(f64(x) + f64(y) * f64(by)) else x + y * by
fn torch_grey(r: u8, g: u8, b: u8, fused: bool) -> f32 =
  floor(torch_sum(torch_sum(f32(r) * f32(0.2989), f32(g), f32(0.587), fused), f32(b), f32(0.114), fused))
fn torch_greys(x: u8[h, w, c: rgb], fused: bool) -> f32[h, w] = map (r in x[c = 0], g in x[c = 1], b in x[c = 2]) { torch_grey(r, g, b, fused) }
fn torch_blend(p: u8, other: f32, ratio: f64, fused: bool) -> u8 = u8.clamp(trunc(torch_sum(f32(p) * f32(ratio), other, f32(1.0 - ratio), fused)))
fn torch_grayscale(x: u8[h, w, c: rgb], fused: bool) -> u8[h, w, c: rgb] = map (p in x, g in torch_greys(x, fused)) { u8.clamp(trunc(g)) }
fn torch_brightness(x: u8[h, w, c: rgb], ratio: f64) -> u8[h, w, c: rgb] = map (p in x) { u8.clamp(trunc(f32(p) * f32(ratio))) }
fn torch_contrast(x: u8[h, w, c: rgb], ratio: f64, fused: bool) -> u8[h, w, c: rgb] {
  let total = sum(i64(torch_greys(x, fused)) over [h, w])
  let mean = map (s in total) { f32(s) / f32(h * w) }
  return map (p in x, m in mean) { torch_blend(p, m, ratio, fused) }
}
fn torch_saturation(x: u8[h, w, c: rgb], ratio: f64, fused: bool) -> u8[h, w, c: rgb] =
  map (p in x, g in torch_greys(x, fused)) { torch_blend(p, g, ratio, fused) }
fn torch_scaled(p: u8, second: bool) -> f32 = if second then f32(p) * f32(0.00392156862745098) else f32(p) / 255.0
fn torch_turned(r: f32, g: f32, b: f32, by: f64, second: bool) -> f32 {
  let high  = max(r, max(g, b))
  let range = high - min(r, min(g, b))
  let share = if range == 0.0 then f32(1.0) else range
  let rest  = { r = (high - r) / share, g = (high - g) / share, b = (high - b) / share }
  let sixths = if high == r then rest.b - rest.g else if high == g then rest.r + 2.0 - rest.b else rest.g + 4.0 - rest.r
  let whole  = (if second then sixths * f32(0.16666666666666666) else sixths / 6.0) + 1.0
  let turned = whole - floor(whole) + f32(by)
  return if turned < 0.0 then turned + 1.0 else if turned >= 1.0 then turned - 1.0 else turned
}
fn torch_cut(x: f32) -> f32 = max(min(x, 1.0), 0.0)
fn torch_channel(channel: int, turn: f32, r: f32, g: f32, b: f32, second: bool) -> f32 {
  let v = max(r, max(g, b))
  let low = min(r, min(g, b))
  let s = (v - low) / (if v == low then f32(1.0) else v)
  let f = turn * 6.0 - floor(turn * 6.0)
  let t = if second then (s * f + (1.0 - s)) * v else v * (1.0 - s * (1.0 - f))
  let at = (int(floor(turn * 6.0)) + 6 - 2 * channel) % 6
  return if at == 0 or at == 5 then v else if at == 1 then torch_cut(v * (1.0 - s * f)) else if at == 4 then torch_cut(t) else torch_cut(v * (1.0 - s))
}
fn torch_hue(x: u8[h, w, c: rgb], by: f64, second: bool, most: f32) -> u8[h, w, c: rgb] =
  map (r in x[c = 0], g in x[c = 1], b in x[c = 2], k in index(x, c)) {
    u8.clamp(trunc(most * torch_channel(k, torch_turned(torch_scaled(r, second), torch_scaled(g, second), torch_scaled(b, second), by, second),
      torch_scaled(r, second), torch_scaled(g, second), torch_scaled(b, second), second)))
  }
fn torch_step(x: u8[h, w, c: rgb], step: int, brightness: f64, contrast: f64, saturation: f64, hue: f64, turns: bool, second: bool, fused: bool, most: f32) -> u8[h, w, c: rgb] =
  x |> choose {
    int(step == 0) => torch_brightness(brightness),
    int(step == 1) => torch_contrast(contrast, fused),
    int(step == 2) => torch_saturation(saturation, fused),
    int(step == 3) => torch_hue(hue, second, most) if turns,
  }
// One of four comes first, one of the three behind it (in a circle) second, one of two third.
fn torch_steps(x: u8[h, w, c: rgb], first: int, second_of_3: int, third_of_2: int, brightness: f64, contrast: f64, saturation: f64, hue: f64, turns: bool, second: bool, fused: bool, most: f32) -> u8[h, w, c: rgb] =
  x |> torch_step(first, brightness, contrast, saturation, hue, turns, second, fused, most)
  |> torch_step((first + 1 + second_of_3) % 4, brightness, contrast, saturation, hue, turns, second, fused, most)
  |> torch_step((first + 1 + (second_of_3 + 1 + third_of_2) % 3) % 4, brightness, contrast, saturation, hue, turns, second, fused, most)
  |> torch_step((first + 1 + (second_of_3 + 2 - third_of_2) % 3) % 4, brightness, contrast, saturation, hue, turns, second, fused, most)
fn torch_jitter(x: u8[h, w, c: rgb], brightness: range, contrast: range, saturation: range, hue: range, second: bool, fused: bool, most: f32) -> u8[h, w, c: rgb] =
  torch_steps(x, draw int(0 .. 4), draw int(0 .. 3), draw int(0 .. 2), draw uniform(brightness), draw uniform(contrast), draw uniform(saturation), draw uniform(hue),
    hue.low < 0.0 or hue.high > 0.0, second, fused, most)"""


HELPERS["torch_colours"] = TORCH_COLOURS


@dataclass
class Declarations:
    """Constants and functions that stages refer to."""
    constants: dict[str, str] = field(default_factory=dict) # the name by its value
    helpers: dict[str, str] = field(default_factory=dict)

    def constant(self, stem: str, declared: str) -> str:
        count = sum(name.startswith(stem) for name in self.constants.values())
        return self.constants.setdefault(declared, f"{stem}{count}")

    def helper(self, name: str) -> str:
        self.helpers[name] = HELPERS[name]
        return name

    def text(self) -> str:
        lines = [f"const {name}{declared}" for declared, name in self.constants.items()]
        return "".join(line + "\n" for line in lines + list(self.helpers.values()))


def number(value: Any) -> str:
    """A float as the language writes it."""
    value = float(value)
    if not math.isfinite(value):
        raise Unknown(f"{value} is no number to compute with")
    text = repr(value)
    return text if "e" not in text or "." in text else text.replace("e", ".0e")


def span(low: Any, high: Any) -> str:
    """A range of floats."""
    return f"{number(low)} .. {number(high)}"


def numbers(values: Any) -> str:
    return "[" + ", ".join(number(value) for value in values) + "]"


def with_chance(p: Any, stages: tuple[str, ...]) -> tuple[str, ...]:
    """The stages, applied with probability p."""
    if not stages or float(p) <= 0.0:
        return ()
    if float(p) >= 1.0:
        return stages
    inner = stages[0] if len(stages) == 1 and " if " not in stages[0] else "{ " + " |> ".join(stages) + " }"
    return (f"{inner} if chance({number(p)})",)


def one_of(weighted: list[tuple[float, tuple[str, ...]]]) -> tuple[str, ...]:
    """One of several lists of stages, by weight."""
    merged: dict[tuple[str, ...], float] = {}
    for weight, stages in weighted:
        merged[stages] = merged.get(stages, 0.0) + weight
    total = sum(merged.values())
    if len(merged) == 1:
        return next(iter(merged))
    if len(merged) == 2 and () in merged:
        (stages, weight), = [(stages, weight) for stages, weight in merged.items() if stages]
        return with_chance(weight / total, stages)
    equal = len(set(merged.values())) == 1
    arms = [f"{1 if equal else round(1e6 * weight / total)} => {' |> '.join(stages) or 'identity'}"
            for stages, weight in merged.items()]
    return ("choose { " + ", ".join(arms) + " }",)
