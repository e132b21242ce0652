# SPDX-License-Identifier: Apache-2.0
"""A loader with the attributes that trainers know from torch's DataLoader."""
from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence

import torch
import torch.distributed
import torch.utils.dlpack

from .. import _c
from .._dlpack import make_capsules
from ..loader import Loader as PlainLoader
from ..loader import load
from ..outputs import Array, Batch

# Makes a tensor of a capsule; torch.utils.dlpack.from_dlpack calls it.
_from_dlpack = getattr(torch._C, "_from_dlpack", torch.utils.dlpack.from_dlpack)


def current_stream() -> int | None:
    """The CUDA stream of this thread; None before CUDA is initialized."""
    return torch.cuda.current_stream().cuda_stream if torch.cuda.is_initialized() else None


def as_tensor(output: Array) -> torch.Tensor:
    """A tensor that views an output, on the CPU or a GPU; its memory is given back with the tensor's."""
    try:
        return torch.utils.dlpack.from_dlpack(output.__dlpack__(stream=current_stream()))
    except RuntimeError: # a type that this torch does not take so: bool, u16
        import numpy
        return torch.from_numpy(numpy.asarray(output))


class Ragged(NamedTuple):
    """A ragged output: sample i has the values ``values[offsets[i]:offsets[i + 1]]``."""
    values: torch.Tensor
    offsets: torch.Tensor


def as_tuple(batch: Batch) -> tuple[torch.Tensor | Ragged, ...]:
    """As `as_tensor` of each output, without making the outputs: this runs for every batch. Ragged ones have their offsets."""
    try:
        tensors = tuple(map(_from_dlpack, make_capsules(batch._owner, 0, current_stream())))
    except RuntimeError:
        tensors = tuple(map(as_tensor, batch))
    ragged = batch._names.ragged
    if not ragged:
        return tensors
    return tuple(Ragged(tensor, as_tensor(batch[i].offsets)) if i in ragged else tensor for i, tensor in enumerate(tensors))


def as_dict(batch: Batch) -> dict[str, torch.Tensor | Ragged]:
    return dict(zip(batch._names, as_tuple(batch)))


class Dataset:
    """`loader.dataset` as trainers use it: its length, and its classes."""

    def __init__(self, loader: PlainLoader):
        self._loader = loader

    @property
    def classes(self) -> list[str]:
        return self._loader.classes

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.classes)}

    def __len__(self) -> int:
        """Rows of the table."""
        return self._loader.info["table_length"]

    def __repr__(self) -> str:
        return f"<the table of {self._loader.program.name}: {len(self)} rows>"


class Rows:
    """The batches that a batch sampler of torch's gives for an epoch. Epochs may be asked for before trainers set them."""

    def __init__(self, batches: Any):
        self._batches = batches
        self._samplers = [one for one in (batches, getattr(batches, "sampler", None)) if hasattr(one, "set_epoch")]
        self._seen: int | None = 0 # what samplers begin with

    def __call__(self, epoch: int) -> Iterable[Sequence[int]]:
        for one in self._samplers:
            one.set_epoch(epoch)
        self.look()
        return iter(self._batches)

    def _now(self) -> int | None:
        return next((one.epoch for one in self._samplers if isinstance(getattr(one, "epoch", None), int) and one.epoch >= 0), None)

    def look(self) -> None:
        self._seen = self._now()

    def given(self) -> int | None:
        """The epoch that the trainer has given to the sampler itself since this was last looked at."""
        now = self._now()
        return None if now == self._seen else now


class Sampler:
    """`loader.sampler` as trainers use it: `set_epoch`, and the number of samples of an epoch on this rank."""

    def __init__(self, loader: PlainLoader, batches: Any):
        self._loader, self._batches = loader, batches

    def set_epoch(self, epoch: int, **parameters: Any) -> None:
        self._loader.set_epoch(epoch, **parameters)

    def __len__(self) -> int:
        if isinstance(self._batches, (list, tuple)):
            return sum(map(len, self._batches))
        if self._batches is not None:
            return len(self._batches.sampler)
        return self._loader.info["samples_per_epoch"]


class Loader:
    """Batches of a pipeline as torch tensors, without a copy::

        loader = penstock.torch.Loader("train.pipe", root="photos", per_rank=256)
        for epoch in range(90):
            loader.sampler.set_epoch(epoch)
            for image, label in loader:
                ...

    source   a .pipe file, its text, or an open penstock.Loader
    output   what a batch becomes: "tuple" (in the order of the text), "dict" (by name), or a function of the dict. A ragged
             output is a named tuple, `Ragged(values, offsets)`
    batch_sampler  says which rows come, as lists of their numbers, in place of the pipeline's order: torch's BatchSampler over
             any sampler, of batches up to the pipeline's size. Ranks are the sampler's business then. Its `set_epoch` is called
             for each epoch; one that the trainer gives to the sampler itself is the next that begins
    rank, world, options
             as penstock.load; ranks are torch.distributed's where a process group is initialized

    `dataset`, `sampler.set_epoch`, `batch_size`, `len`, `drop_last` and the rest are where trainers look for them;
    `state_dict` and `load_state_dict` are the protocol of torchdata's StatefulDataLoader."""

    num_workers = 0
    pin_memory = False
    persistent_workers = False
    timeout = 0
    collate_fn = None

    def __init__(self, source: str | os.PathLike[str] | PlainLoader, *,
                 output: str | Callable[[dict[str, Any]], Any] = "tuple",
                 batch_sampler: Iterable[Sequence[int]] | None = None, rank: int | None = None,
                 world: int | None = None, **options: Any):
        self.batch_sampler = batch_sampler
        self._rows = None if batch_sampler is None else Rows(batch_sampler)
        if self._rows is not None:
            options["rows"], rank, world = self._rows, 0, 1
            given = self._rows.given()
            if given is not None:
                options.setdefault("epoch", given)
            self._rows.look()
        if isinstance(source, PlainLoader):
            if options or rank is not None or world is not None:
                raise TypeError("an open loader has its options")
            self.loader = source
        else:
            together = torch.distributed.is_available() and torch.distributed.is_initialized()
            if rank is None:
                rank = torch.distributed.get_rank() if together else 0
            if world is None:
                world = torch.distributed.get_world_size() if together else 1
            #: The penstock.Loader below.
            self.loader = load(source, rank=rank, world=world, **options)
        self._function = output if callable(output) else None
        if output in ("tuple", "dict") or callable(output):
            self._make: Callable[[Batch], Any] = as_tuple if output == "tuple" else as_dict
        else:
            raise ValueError(f'output is "tuple", "dict" or a function, not {output!r}')
        self.dataset, self.sampler = Dataset(self.loader), Sampler(self.loader, batch_sampler)

    @property
    def batch_size(self) -> int:
        return self.loader.batch_size

    @property
    def drop_last(self) -> bool:
        """True if rows that fill no batch are left out."""
        if self.batch_sampler is not None:
            return getattr(self.batch_sampler, "drop_last", False)
        given = self.loader._options["last"]
        if given != _c.LAST_PIPELINE:
            return given == _c.LAST_DROP
        # Where all rows fill batches, the pipeline's text says what would be; a bundle has none.
        said = set(re.findall(r"\blast\s+(keep|drop|pad)\b", self.loader.program._text or ""))
        return len(self.loader) * self.batch_size <= len(self.sampler) and not said - {"drop"}

    def __len__(self) -> int:
        return len(self.loader if self.batch_sampler is None else self.batch_sampler) # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        if self._rows is not None and (given := self._rows.given()) is not None:
            self._rows.look()
            self.loader.set_epoch(given)
        batches = self.loader._batches_as(self._make)
        return batches if self._function is None else map(self._function, batches)

    def set_epoch(self, epoch: int, **parameters: Any) -> None:
        """As `sampler.set_epoch`; parameters as of `penstock.Loader.set_epoch`."""
        self.loader.set_epoch(epoch, **parameters)

    def state_dict(self) -> dict[str, Any]:
        return self.loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.loader.load_state_dict(state)
        if self._rows is not None:
            self._rows.look()

    def close(self) -> None:
        self.loader.close()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<penstock.torch.Loader {self.loader.program.name}: batches of {self.batch_size}>"
