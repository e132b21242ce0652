# SPDX-License-Identifier: Apache-2.0
"""A peer without work, for the tests of the harness."""

import time

from bench.peers.peer import Peer


def failing(job):
    """Does `samples` samples per slice and fails at slice number `fail_at`."""
    turns = [0]

    def slice():
        turns[0] += 1
        if turns[0] == job["fail_at"]:
            raise RuntimeError(f"slice {turns[0]} fails as asked")
        return job["samples"]

    return Peer(slice, "nothing", "1")


def large(job):
    """Has `bytes` of memory while it runs a slice, and not after."""
    def slice():
        held = bytearray(job["bytes"])
        held[::4096] = b"x" * len(held[::4096])
        time.sleep(0.2)
        return job["samples"]

    return Peer(slice, "nothing", "1")
