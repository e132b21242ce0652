# SPDX-License-Identifier: Apache-2.0
"""Unmodified PyTorch scripts with Penstock's batches::

    penstock accelerate train.py --epochs 90
    python -m penstock.accelerate train.py --epochs 90

`install()` does the same from within a script. docs/accelerate.md says what becomes of a DataLoader."""
from __future__ import annotations

from ._originals import originals, watch

__all__ = ["install"]

watch()


def install(compare: int = 0) -> None:
    """From now on DataLoaders of this process iterate over Penstock's batches where that gives the same.

    compare   of each loader, so many batches are also made by the original, and an error is raised where they differ"""
    with originals.restored(): # some are kept by name there
        from ._hook import Hook
    Hook(compare).install()
