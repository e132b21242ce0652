# SPDX-License-Identifier: Apache-2.0
"""Random generators of a DataLoader's workers, simulated where there are no workers."""
from __future__ import annotations

import contextlib
import random
from typing import Any, Iterator

import numpy
import torch
from torch.utils.data._utils import worker as torch_worker


def _states() -> tuple[Any, Any, Any]:
    return random.getstate(), numpy.random.get_state(), torch.get_rng_state()


def _set(states: tuple[Any, Any, Any]) -> None:
    random.setstate(states[0])
    numpy.random.set_state(states[1])
    torch.set_rng_state(states[2])


class WorkerRandomness:
    """The generators that each worker of a DataLoader would have. Batch k is worker k mod count's; without workers, it
    is the process's own."""

    def __init__(self, base_seed: int, count: int):
        self.base_seed, self.count = base_seed, count
        self.states: dict[int, tuple[Any, Any, Any]] = {}

    def _seed(self, worker: int) -> None:
        # As torch's _worker_loop.
        seed = self.base_seed + worker
        random.seed(seed)
        torch.default_generator.manual_seed(seed) # that of the GPUs stays
        numpy.random.seed(torch_worker._generate_state(self.base_seed, worker))

    @contextlib.contextmanager
    def of(self, batch: int) -> Iterator[None]:
        """The generators are those of the worker that makes this batch."""
        if not self.count:
            yield
            return
        worker, kept = batch % self.count, _states()
        try:
            if worker in self.states:
                _set(self.states[worker])
            else:
                self._seed(worker)
            yield
            self.states[worker] = _states()
        finally:
            _set(kept)
