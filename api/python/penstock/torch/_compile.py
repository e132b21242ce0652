# SPDX-License-Identifier: Apache-2.0
"""A torchvision transform as the text of a pipeline."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from ..errors import PenstockError
from ._chain import Chain, Unknown
from ._follow import Follower, mapped, recording


class UnknownTransform(PenstockError):
    """A transform that cannot be written as stages of a pipeline."""

    def __init__(self, transform: str, reason: str):
        super().__init__(f"{transform}: {reason}")
        #: The class or function, with its module.
        self.transform = transform
        #: The reason, in words.
        self.reason = reason


@dataclass(frozen=True)
class Stages:
    """The stages of a pipeline that compute a transform."""
    #: Declarations that the stages refer to: what stands between `use` and `pipeline`.
    declarations: str
    #: A chain where the transform returns one image; else the list, tuple or dict of chains that it returns.
    result: Any


def follow_transforms(transform: Callable[[Any], Any], takes: str = "image") -> Stages:
    """Follows a transform through what it does with an image; `takes` as in compile_transforms. Raises UnknownTransform."""
    follower = Follower()
    start = Chain(grey=True) if takes == "grey" else Chain(kind=takes)
    try:
        with recording(follower):
            result = follower.result(transform, start)
    except Unknown as unknown:
        raise UnknownTransform(unknown.transform, unknown.reason) from unknown
    return Stages(follower.names.text(), result)


def follow_steps(parts: Sequence[Any], takes: str = "image") -> tuple[list[Stages], UnknownTransform | None]:
    """The stages of the first part, of the first two and so on, as far as they are known, and what is wrong with the part behind them. Each is
    followed once: one that does something else each time is not asked again, until it seems not to."""
    follower, steps = Follower(), []
    value: Any = Chain(grey=True) if takes == "grey" else Chain(kind=takes)
    try:
        with recording(follower):
            for part in parts:
                value = mapped(lambda one: follower.result(part, one), value) # noqa: B023: called at once
                steps.append(Stages(follower.names.text(), value))
    except Unknown as unknown:
        return steps, UnknownTransform(unknown.transform, unknown.reason)
    return steps, None


def named_chains(result: Any, name: str = "image") -> dict[str, Chain]:
    """The chains of a result, each with the name of its output: image; image0, image1; image_left, image_right."""
    if isinstance(result, Chain):
        return {name: result}
    found = {}
    for key, inner in result.items() if isinstance(result, dict) else enumerate(result):
        plain = f"{name}_{key}" if isinstance(key, str) else f"{name}{key}"
        if not plain.isidentifier() or not plain.isascii():
            raise UnknownTransform("dict", f"an output cannot be called {key!r}")
        found.update(named_chains(inner, plain))
    return found


def output_of(name: str, chain: Chain, dtype: str) -> str:
    kind = {"image": "u8[n, h, w, c]", "bytes": "u8[n, c, h, w]", "tensor": f"{dtype}[n, c, h, w]"}[chain.kind]
    return f"    output {name}: {kind} = {name}_of_row"


def compile_transforms(transform: Callable[[Any], Any], *, source: str = "image_folder(root)",
                       parameters: str = "root: path, per_rank: int = 64", image: str = "row.data |> decode(rgb)",
                       outputs: Mapping[str, tuple[str, str]] = {"label": ("i64[n]", "row.label")},
                       order: str = "shuffled", batch: str = "per_rank per rank last keep", takes: str = "image",
                       dtype: str = "f32", name: str = "transformed") -> str:
    """The text of a pipeline that does to each image what a torchvision transform does.

    transform   a Compose of torchvision's classes (v1, v2), or whatever calls such: presets, functions, classes that make
                several views. Classes of the script's own are followed where they only call known transforms or a few
                functions of Pillow on the image.
    source      the table of the pipeline, and its `order`
    parameters  of the pipeline
    image       the image of a row, as u8[h, w, c: rgb]
    outputs     other outputs: type and value by name
    batch       what stands behind `batch`
    takes       what the transform is given: "image", a Pillow image; "grey", one of mode L, for which `image` has three equal
                channels; "bytes" or "tensor", a torch tensor of u8 or f32, and `image` is that of a row
    dtype       of images that the transform makes float tensors: "f32", "f16" or "bf16"

    One image is the output `image`; several are `image0`, `image1` and so on, with draws of their own. What the transform
    leaves a Pillow image is u8[n, h, w, c]. docs/torchvision.md says what is known.

    Raises UnknownTransform, which says which transform is not known and why."""
    return pipeline_text(follow_transforms(transform, takes), source=source, parameters=parameters, image=image,
                         outputs=outputs, order=order, batch=batch, dtype=dtype, name=name)


def pipeline_text(stages: Stages, *, source: str, parameters: str, image: str, outputs: Mapping[str, tuple[str, str]],
                  order: str, batch: str, dtype: str = "f32", name: str = "transformed") -> str:
    """The text of a pipeline with these stages; the rest as in compile_transforms."""
    chains = named_chains(stages.result)
    lines = ["pipe 1", "use vision", stages.declarations + f"pipeline {name}({parameters}) {{",
             f"  for row in {source} order {order}", f"  let base = {image}"]
    for output, chain in chains.items():
        lines.append(f"  let {output}_of_row = " + "\n    |> ".join(("base", *chain.stages)))
    lines.append(f"  batch {batch} {{")
    lines += [output_of(output, chain, dtype) for output, chain in chains.items()]
    lines += [f"    output {output}: {kind} = {value}" for output, (kind, value) in outputs.items()]
    return "\n".join(lines + ["  }", "}", ""])
