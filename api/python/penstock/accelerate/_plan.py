# SPDX-License-Identifier: Apache-2.0
"""Plans of a loader's batches: a pipeline, and the part of the script's own Python that stays."""
from __future__ import annotations

import math
import os
import re
import types
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Callable, Sequence

import torch
from PIL import Image
from torch.utils.data import BatchSampler, DataLoader
from torch.utils.data._utils.collate import default_collate
from torch.utils.data.dataloader import _DatasetKind

from ..errors import CompileError
from ..program import Program
from ..torch._chain import Chain
from ..torch._compile import Stages, UnknownTransform, follow_steps, named_chains, pipeline_text
from ..torch._state import State, codes_in, keeps_state
from ._session import PushedLoader
from ._tables import OTHER_FORMATS, Declined, Source, Table, name_of, nothing, open_with, source_of, table_of


#: Words in the stages of a transform that draws.
DRAWS = re.compile(r"\b(chance|draw|choose|random_\w+|color_jitter|torch_jitter|erase\w*|\w+_augment\w*)\b")


@dataclass
class Work:
    """A transform as stages of a pipeline, followed by transforms that run in Python."""
    stages: Stages
    rest: list[Callable[[Any], Any]] = field(default_factory=list)
    #: The reason that these are not stages.
    why: str = ""
    #: True if torchvision's classes would draw, even without effect (p = 1).
    drew: bool = False

    @property
    def outputs(self) -> dict[str, Chain]:
        return named_chains(self.stages.result)

    @property
    def draws(self) -> bool:
        """True if images depend on random numbers of the pipeline's."""
        return any(DRAWS.search(stage) for chain in self.outputs.values() for stage in chain.stages)

    def same_as(self, other: Work) -> bool:
        return self.stages == other.stages and len(self.rest) == len(other.rest) and all(
            a is b for a, b in zip(self.rest, other.rest))


@dataclass
class Plan:
    """A loader's pipeline."""
    table: Table
    work: Work
    text: str
    #: Samples that a batch of the session has at most; larger ones are made in pieces.
    capacity: int
    #: True if the script's collate_fn is torch's.
    plain: bool
    #: Sessions that nobody iterates over.
    idle: list[PushedLoader] = field(default_factory=list)

    @cached_property
    def collated(self) -> Any:
        """The structure of a batch as default_collate returns it, with an output's number in place of each tensor."""
        numbers = iter(range(len(self.work.outputs)))
        return default_collate([mapped(lambda chain: torch.tensor(next(numbers)), self.work.stages.result)])

    def same_as(self, other: Plan) -> bool:
        return (self.text, self.capacity, self.plain) == (other.text, other.capacity, other.plain) and (
            self.work.same_as(other.work) and self.table.same_as(other.table))

    def session(self) -> PushedLoader:
        """A session that nobody else uses. Raises Declined where it cannot be opened."""
        while self.idle:
            if (session := self.idle.pop()).is_open:
                return session
        return open_session(self.text, self.capacity, *open_with(self.table))

    def give_back(self, session: PushedLoader) -> None:
        if len(self.idle) < 1:
            self.idle.append(session)
        else:
            session.close()


def mapped(function: Callable[[Chain], Any], structure: Any) -> Any:
    """The structure with the function of each chain in its place."""
    if isinstance(structure, Chain):
        return function(structure)
    if isinstance(structure, dict):
        return {key: mapped(function, inner) for key, inner in structure.items()}
    return type(structure)([mapped(function, inner) for inner in structure])


def open_session(text: str, capacity: int, parameters: dict[str, str] = {}, columns: dict[str, Any] = {}, # noqa: B006: not changed
                 opened: Callable[[], None] = nothing, renew: Callable[[], None] = nothing, dataset: Any = None) -> PushedLoader:
    """A session of a pipeline, which renews its columns when an epoch begins. Raises Declined where it cannot be opened."""
    try:
        program = Program(text.encode(), "<accelerate>", {**parameters, "per_rank": capacity})
        session = PushedLoader(program, columns=columns, seed=0, on_error=1.0, ranks_here=ranks_here(), dataset=dataset)
        session.renew = renew
        return session
    except CompileError as error:
        raise Declined(f"its pipeline does not compile: {first_message(error)}") from error
    finally:
        opened()


def as_value(array: torch.Tensor, chain: Chain) -> Any:
    """An output as the script's own code takes it: images as Pillow's, all others as tensors of their class."""
    if chain.kind != "image":
        return array.as_subclass(tv_image()) if chain.cls == "Image" else array
    image = Image.fromarray(array.numpy())
    return image.getchannel(0) if chain.grey else image


def tv_image() -> type:
    from torchvision import tv_tensors # newer ones have it, where ToImage is
    return tv_tensors.Image


def ranks_here() -> int:
    """Processes that train on this machine, and share its processors."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return int(os.environ.get("LOCAL_WORLD_SIZE", torch.distributed.get_world_size()))
    return 1


def first_message(error: CompileError) -> str:
    return error.messages[0]["message"] if error.messages else str(error).splitlines()[0]


def check(loader: DataLoader) -> None:
    """Raises Declined for what is never accelerated."""
    if loader._dataset_kind == _DatasetKind.Iterable:
        raise Declined(f"{name_of(loader.dataset)} is an IterableDataset")
    if loader.batch_sampler is None:
        raise Declined("batch_size=None: samples are not put together")
    if length_of(loader.dataset) == 0:
        raise Declined("the data set is empty")


def length_of(dataset: Any) -> int | None:
    """None for a data set that does not say."""
    try:
        return len(dataset)
    except (TypeError, NotImplementedError):
        return None


def plan_of(loader: DataLoader) -> Plan:
    """The plan of a loader's batches. Raises Declined with the reason that there is none."""
    table = table_of(loader.dataset)
    files = [part.images for part in table.parts if part.layout is None]
    other = sum(path.lower().endswith(OTHER_FORMATS) for paths in files for path in paths)
    if other * 100 > sum(map(len, files)) > 0:
        raise Declined(f"{other} of {sum(map(len, files))} files have names of formats that are not decoded ("
                       f"{' '.join(OTHER_FORMATS)})")
    works = [work_of(part.transform, part.takes, lambda work: text_of(table, work)) for part in table.parts]
    if not all(work.same_as(works[0]) for work in works):
        raise Declined("its parts have different transforms")
    plain = loader.collate_fn is default_collate
    work = works[0]
    if loader.num_workers and (state := keeps_state(*work.rest)):
        raise Declined(f"{work.why}; it, or what stands behind it, {state}, and each worker has its own")
    if loader.num_workers and looks_at_worker(loader.worker_init_fn, loader.dataset):
        raise Declined("worker_init_fn asks for the worker's data set")
    if plain and not work.rest and any(chain.kind == "image" for chain in work.outputs.values()):
        raise Declined("the transform's result is a Pillow image")
    return Plan(table, work, text_of(table, work), capacity_of(loader), plain)


def looks_at_worker(function: Any, dataset: Any) -> bool:
    """True if a worker_init_fn may change what is the worker's own."""
    met = [] if function is None else State(function).met
    codes = [code for one in met if isinstance(one, types.FunctionType) for code in codes_in(one.__code__)]
    return any(one is dataset for one in met) or any({"get_worker_info", "_worker_info"} & set(code.co_names) for code in codes)


def capacity_of(loader: DataLoader) -> int:
    size = getattr(loader.batch_sampler, "batch_size", None)
    return size if isinstance(size, int) and size > 0 else 64


def text_of(table: Table, work: Work) -> str:
    return pipeline_of(source_of(table), work)


def pipeline_of(source: Source, work: Work) -> str:
    stages = Stages(source.declarations + work.stages.declarations, work.stages.result)
    return pipeline_text(stages, source=source.source, parameters=source.parameters + "per_rank: int = 64",
                         image=source.image, outputs={}, order="sequential", batch="per_rank per rank last keep",
                         name="accelerated")


def work_of(transform: Any, takes: str, text: Callable[[Work], str]) -> Work:
    """The stages of a transform, as far as they are known; `text` is the pipeline that they are for."""
    if transform is None:
        raise Declined("there is no transform: samples are Pillow images")
    parts = flat(transform)
    steps, unknown = follow_steps(parts, takes)
    if unknown is None:
        stages = steps[-1] if steps else Stages("", Chain(grey=takes == "grey"))
        if not _fits(stages):
            raise Declined("the transform makes something else of images than images")
        if has_classes(stages):
            return Work(stages, drew=any(map(_draws, parts)))
        unknown = UnknownTransform(name_of(transform), MIXED)
    why = f"transform {unknown}"
    for count, stages in reversed([*enumerate(steps, 1)]):
        work = Work(stages, parts[count:], why, any(map(_draws, parts[:count])))
        if isinstance(stages.result, Chain) and stages.result.stages and has_classes(stages) and compiles(text(work)):
            return work
    raise Declined(why)


def _draws(transform: Any) -> bool:
    return type(transform).__name__.startswith("Random")


MIXED = "a transform of torchvision.transforms behind one of v2, which makes a tv_tensors.Image: what class comes out of it is not known"


def has_classes(stages: Stages) -> bool:
    """True if the classes of all tensors are known."""
    return all(chain.cls for chain in named_chains(stages.result).values())


def _fits(stages: Stages) -> bool:
    try:
        return bool(named_chains(stages.result))
    except UnknownTransform:
        return False


def notes_of(work: Work, num_workers: int) -> list[str]:
    """What is other than in the script's own loader where a transform goes like this."""
    found = []
    if work.rest:
        names = ", ".join(name_of(t).split(".")[-1] for t in work.rest)
        found.append(f"in Python stay {names}: {work.why}")
    if not num_workers and (work.draws or work.drew):
        found.append("num_workers=0: random transforms no longer move torch's generator")
    return found


def flat(transform: Any) -> list[Any]:
    """The parts of a Compose, of those in it, too; of anything else, itself."""
    if type(transform).__name__ != "Compose" or not type(transform).__module__.startswith("torchvision.transforms"):
        return [transform]
    return [part for inner in transform.transforms for part in flat(inner)]


def compiles(text: str) -> bool:
    """True if the text compiles without errors, such as images of unequal sizes in a batch."""
    try:
        Program(text.encode(), "<accelerate>", {}, check_only=True)
    except CompileError:
        return False
    return True


# --- order ------------------------------------------------------------------------------------------------------------

def asked_ahead(loader: DataLoader) -> int:
    """Number of batches whose indices are asked for before the first is delivered, if that many are `askable`: with workers as many as DataLoader
    asks for, which without asks for one at a time."""
    return loader.prefetch_factor * loader.num_workers if loader.num_workers else 3


def askable(batches: Any) -> float:
    """Number of batches of an epoch that may be asked for early: nothing is drawn before these but at the start, so that nobody can tell."""
    utils = torch.utils.data
    if type(batches) is not BatchSampler:
        return 0
    sampler = batches.sampler
    if type(sampler) is utils.RandomSampler and sampler.generator is not None:
        # It draws once more behind its last index, where it has as many as the data set.
        length = len(sampler.data_source)
        if sampler.replacement or sampler.num_samples > length:
            return 0
        return sampler.num_samples // batches.batch_size if sampler.num_samples == length else math.inf
    known = (utils.RandomSampler, utils.SequentialSampler, utils.SubsetRandomSampler, utils.WeightedRandomSampler, utils.DistributedSampler)
    return math.inf if type(sampler) in known else 0


def pieces(rows: Sequence[int], size: int) -> list[Sequence[int]]:
    return [rows[i:i + size] for i in range(0, len(rows), size)]
