# SPDX-License-Identifier: Apache-2.0
"""Exceptions."""
from __future__ import annotations

import json
from typing import Any


class PenstockError(RuntimeError):
    """Anything that Penstock refuses or cannot do. Its text is the library's message."""


class CompileError(PenstockError):
    """A .pipe file has errors. The text shows each with its place, its line and a caret."""

    def __init__(self, text: str, messages_json: str = "[]"):
        super().__init__(text)
        #: The messages as data: objects with file, line, column, severity, message, notes and hint, as `penstock check --json` prints them.
        self.messages: list[dict[str, Any]] = json.loads(messages_json or "[]")

    def __reduce__(self) -> Any:
        return (type(self), (str(self), json.dumps(self.messages)))


class SessionError(PenstockError):
    """A session cannot be opened, or its data is at fault."""


class CancelledError(PenstockError):
    """The loader was cancelled or closed while somebody waited for a batch."""
