"""What a transform makes of an image, as stages of a pipeline."""
from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any


class Unknown(Exception):
    """This transform has no stages; the text says why. `transform` names it."""

    def __init__(self, reason: str, transform: str = ""):
        super().__init__(reason)
        self.reason, self.transform = reason, transform


@dataclass(frozen=True)
class Chain:
    """The stages so far, and what they lead to."""
    stages: tuple[str, ...] = ()
    #: "image": a Pillow image, u8[h, w, c]; "bytes", "tensor": a torch tensor of u8 or f32.
    kind: str = "image"
    #: Pillow's mode L: three equal channels here, of which a tensor gets one.
    grey: bool = False

    def then(self, *stages: str, **changes: Any) -> Chain:
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


@dataclass
class Declarations:
    """Constants and functions that stages refer to."""
    constants: dict[str, str] = field(default_factory=dict) # what stands behind the name: the name
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
