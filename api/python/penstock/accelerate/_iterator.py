# SPDX-License-Identifier: Apache-2.0
"""The iterator of a DataLoader whose batches come from a pipeline."""
from __future__ import annotations

import collections
import time
from typing import Any, Sequence

import numpy
import torch
from torch.utils.data import DataLoader, _utils
from torch.utils.data.dataloader import _BaseDataLoaderIter

from ..errors import SessionError
from ..torch._loader import as_tensor
from . import _compare
from ._fetch import fetched
from ._guard import Guard
from ._plan import Plan, as_value, askable, asked_ahead, flat, mapped, pieces
from ._report import Entry
from ._session import FORKED, PushedLoader, epoch_number
from ._workers import WorkerRandomness


class PipelineIterator(_BaseDataLoaderIter):
    """In place of torch's iterators. Sampler and generators are used by their code, in their order; images come from
    a session; targets, and what is not compiled, from the script's own Python, here."""

    def __init__(self, loader: DataLoader, plan: Plan, entry: Entry, compared: int):
        self._session: PushedLoader | None = None
        super().__init__(loader) # draws the base seed
        self._plan, self._entry, self._compared = plan, entry, compared
        self._ahead, self._askable, self._begun = asked_ahead(loader), askable(loader.batch_sampler), -1
        self._workers = WorkerRandomness(self._base_seed, self._num_workers)
        self._targets = [part.frozen() if self._num_workers else part.target for part in plan.table.parts]
        self._target_transforms = [part.dataset.target_transform for part in plan.table.parts]
        self._by_sample = not plan.plain or bool(plan.work.rest) or any(t is not None for t in self._target_transforms)
        # Without workers, what the script changes between two batches counts at once.
        self._guards = [] if self._num_workers else [
            Guard(part.transform, len(flat(part.transform)) - len(plan.work.rest)) for part in plan.table.parts]
        self._session = plan.session()
        if self._num_workers:
            self._reset(loader, first_iter=True)
        else:
            self._begin()

    def _reset(self, loader: DataLoader, first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        if self._session is None: # of persistent workers, after an epoch
            self._session = self._plan.session()
        self._begin()
        for _ in range(self._ahead):
            self._ask()

    def _begin(self) -> None:
        assert self._session is not None
        self._begun += 1
        self._epoch = epoch_number(self._base_seed, self._begun)
        self._session.begin(self._epoch)
        self._asked: collections.deque[tuple[Any, list[Any]]] = collections.deque()
        self._position = self._number = 0
        self._ended = False
        self._entry.begun()

    def _ask(self) -> None:
        """Asks the sampler for another batch, and the session for its images."""
        if self._ended:
            return
        try:
            indices = self._next_index()
        except StopIteration:
            self._ended = True
            return
        rows = self._plan.table.row_of(indices)
        parts = [] if rows is None else pieces(rows, self._plan.capacity)
        if self._session is not None:
            for part in parts:
                self._session.push(part)
        self._asked.append((indices, parts))

    def _next_data(self) -> Any:
        start = time.perf_counter()
        if self._session is not None and not self._session.is_open:
            self._entry.failed(SessionError(FORKED))
            self._session = None
        while not self._num_workers and not self._ended and len(self._asked) < self._ahead and (
                not self._asked or self._number + len(self._asked) < self._askable):
            self._ask()
        if not self._asked:
            self._leave()
            raise StopIteration
        indices, parts = self._asked.popleft()
        try:
            data = self._made(indices, parts)
        finally:
            if self._num_workers: # DataLoader gives its workers more to do before it raises what one of them has raised
                self._ask()
        if self._number < self._compared:
            _compare.compare(self._dataset, self._collate_fn, indices, data, self._plan.work.draws,
                             f"{self._entry.name}, batch {self._number}")
        self._number += 1
        if self._pin_memory:
            data = _utils.pin_memory.pin_memory(data, self._pin_memory_device)
        self._entry.delivered(len(indices), start, time.perf_counter())
        return data

    # --- one batch --------------------------------------------------------------------------------------------------------

    def _made(self, indices: Sequence[Any], parts: list[numpy.ndarray]) -> Any:
        if self._session is not None and not self._num_workers and not self._same(indices, parts):
            self._entry.note("the data set or a transform was changed within an epoch: the rest of it comes from the script's own code")
            self._session.close()
            self._session = None
        if not parts or self._session is None: # the data set itself has to make sense of these numbers
            return self._original(indices)
        try:
            batches = [[as_tensor(output) for output in self._session.next()] for _ in parts]
        except SessionError as error: # rows that nothing can stand in for, say
            self._entry.failed(error)
            self._session.close()
            self._session = None
            return self._original(indices)
        outputs = batches[0] if len(parts) == 1 else [torch.cat(tensors) for tensors in zip(*batches)]
        rows = numpy.concatenate(parts).tolist() if len(parts) > 1 else parts[0].tolist()
        first, self._position = self._position, self._position + len(rows)
        bad = self._bad_within(first, len(rows))
        if not self._by_sample and not bad:
            return [arranged(self._plan.collated, outputs), self._collate_fn(tuple(self._target(row) for row in rows))] # texts stay the tuple
        with self._workers.of(self._number):
            samples = [self._dataset[indices[k]] if k in bad else self._sample(row, k, outputs) for k, row in enumerate(rows)]
            return self._collate_fn(samples)

    def _same(self, indices: Sequence[Any], parts: list[numpy.ndarray]) -> bool:
        """True if the script has not changed what the images and targets of a batch come from, since the epoch began."""
        table = self._plan.table
        return all(guard.same() for guard in self._guards) and all(
            part.dataset.transform is guard.transform and part.dataset.target_transform is change
            for part, guard, change in zip(table.parts, self._guards, self._target_transforms)) and (
            not parts or table.still(indices, [row for rows in parts for row in rows.tolist()]))

    def _target(self, row: int) -> Any:
        if len(self._targets) == 1:
            return self._targets[0](row)
        part, inner = self._plan.table.place(row)
        return self._targets[self._plan.table.parts.index(part)](inner)

    def _sample(self, row: int, k: int, outputs: list[torch.Tensor]) -> tuple[Any, Any]:
        work = self._plan.work
        values = iter(outputs)
        value = mapped(lambda chain: as_value(next(values)[k], chain), work.stages.result)
        for transform in work.rest:
            value = transform(value)
        target = self._target(row)
        change = self._target_transforms[self._plan.table.parts.index(self._plan.table.place(row)[0])]
        return value, target if change is None else change(target)

    def _bad_within(self, first: int, count: int) -> set[int]:
        """The samples of the batch whose files could not be used: Pillow may know better, and else it says what is wrong."""
        assert self._session is not None
        return {position - first for position in self._session.bad_behind(self._epoch, first) if position - first < count}

    def _original(self, indices: Sequence[Any]) -> Any:
        with self._workers.of(self._number):
            return self._collate_fn(fetched(self._dataset, indices))

    # --- the end --------------------------------------------------------------------------------------------------------------

    def _leave(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            self._plan.give_back(session)

    def __del__(self) -> None:
        if getattr(self, "_session", None) is not None:
            self._leave()


def arranged(template: Any, outputs: list[torch.Tensor]) -> Any:
    """The structure with output k in place of the number k."""
    if isinstance(template, torch.Tensor):
        return outputs[int(template)]
    if isinstance(template, dict):
        return {key: arranged(inner, outputs) for key, inner in template.items()}
    return type(template)([arranged(inner, outputs) for inner in template])
