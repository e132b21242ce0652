"""A peer without work, for the tests of the harness."""

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
