# SPDX-License-Identifier: Apache-2.0
"""`DataLoader._get_iterator`, replaced: every loader asks it for its iterator, subclasses and loaders that are made anew, too."""
from __future__ import annotations

import atexit
import weakref
from typing import Any

from torch.utils.data import DataLoader

from ..errors import PenstockError
from ._guard import unlike
from ._iterator import PipelineIterator
from ._leaves import LeafIterator, LeafPlan, leaf_plan_of
from ._plan import Plan, check, length_of, notes_of, plan_of
from ._report import Entry, Report, say, where
from ._tables import Declined

_original = DataLoader._get_iterator


class Hook:
    """The loaders of this process: plans, names and their report."""

    def __init__(self, compared: int = 0):
        self.report, self.compared = Report(), compared
        #: Plans of loaders, by the loader, with batches that are still to be compared.
        self.plans: weakref.WeakKeyDictionary[DataLoader, Plan | LeafPlan] = weakref.WeakKeyDictionary()
        self.names: weakref.WeakKeyDictionary[DataLoader, str] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        hook = self

        def _get_iterator(self: DataLoader) -> Any:
            return hook.iterator(self)
        DataLoader._get_iterator = _get_iterator # type: ignore[method-assign]

    def remove(self) -> None:
        """Loaders are as they were, and nothing is said at the end."""
        atexit.unregister(self.report.print)
        DataLoader._get_iterator = _original # type: ignore[method-assign]

    def iterator(self, loader: DataLoader) -> Any:
        name = self.names.get(loader)
        first = name is None
        if name is None:
            name = self.names[loader] = f"{where()}, {_described(loader)}"
        try:
            plan = self._plan(loader)
        except Exception as why: # noqa: BLE001: what fails here is ours or the script's, which its own iterator raises, too
            known = isinstance(why, (Declined, PenstockError))
            entry, new = self.report.entry(name, str(why) if known else f"it could not be set up: {type(why).__name__}: {why}")
            if new:
                say(entry.line())
            return _original(loader)
        entry, _ = self.report.entry(name, "")
        compared = self.compared if first else 0
        if isinstance(plan, Plan):
            for note in notes(loader, plan):
                entry.note(note)
            return PipelineIterator(loader, plan, entry, compared)
        return LeafIterator(loader, plan, entry, compared, _original)

    def _plan(self, loader: DataLoader) -> Plan | LeafPlan:
        """The plan of the loader's batches. Raises Declined or PenstockError where the original iterator has to make them."""
        check(loader)
        if different := unlike():
            raise Declined(different)
        try:
            plan = self._known(loader, plan_of(loader))
            if not plan.idle:
                plan.idle.append(plan.session()) # or what cannot be opened is found too late
            return plan
        except (Declined, PenstockError) as error:
            reason = str(error)
        leaves = self._known(loader, leaf_plan_of(loader, reason))
        if leaves.useful is False:
            raise Declined(f"{reason}, which looks at its images before a Compose that is known takes them, or opens none")
        return leaves

    def _known(self, loader: DataLoader, plan: Any) -> Any:
        """The loader's plan, which may have open sessions, where this one is the same."""
        known = self.plans.get(loader)
        if type(known) is type(plan) and known.same_as(plan):
            if isinstance(known, LeafPlan):
                return known
            plan.idle = known.idle # which rows a Subset names, and their targets, may be others now
        self.plans[loader] = plan
        return plan


def _described(loader: DataLoader) -> str:
    name, length = type(loader.dataset).__name__, length_of(loader.dataset)
    return name if length is None else f"{name} of {length}"


def notes(loader: DataLoader, plan: Plan) -> list[str]:
    """Notes for the report: differences from the script's own loader, and transforms that stay in Python."""
    found = notes_of(plan.work, loader.num_workers)
    if loader.worker_init_fn is not None and loader.num_workers:
        found.append("worker_init_fn is not called, as there are no workers")
    return found
