# SPDX-License-Identifier: Apache-2.0
"""Runs one peer in a process of its own, on orders from the harness.

    python -P worker.py PEER FUNCTION JOB.json

Orders and answers are lines of JSON; the peer's own chatter goes to stderr.
"""

import glob
import importlib
import json
import os
import pathlib
import sys
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]


def children(pid):
    found = []
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        try:
            for child in pathlib.Path(path).read_text().split():
                found += [int(child)] + children(int(child))
        except OSError:
            pass  # the thread or child is gone
    return found


def cpu_seconds():
    """CPU time of this process, its threads and its living children."""
    total = time.process_time()
    for pid in children(os.getpid()):
        try:
            total += time.clock_gettime((~pid << 3) | 2)
        except OSError:
            found.append(memory(os.getpid()))
    return total


def settle(limit=3.0):
    """Waits until prefetching has filled its queues, so that it does not run on
    while another contestant is timed."""
    end = time.monotonic() + limit
    before = cpu_seconds()
    while time.monotonic() < end:
        time.sleep(0.02)
        now = cpu_seconds()
        if now - before < 0.002:
            return
        before = now


def timed_slice(peer, order):
    """One slice, or slices of a part for at least the seconds that were ordered."""
    if "part" in order:
        return timed_part(peer.parts[order["part"]], order["seconds"])
    if peer.before:
        peer.before()
    cpu, wall = cpu_seconds(), time.perf_counter()
    result = peer.slice()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    samples = result
    if isinstance(result, tuple):
        samples, cpu = result
    settle()
    return {"samples": samples, "wall": wall, "cpu": cpu}


def timed_part(part, seconds):
    part()
    samples, cpu, wall = 0, cpu_seconds(), time.perf_counter()
    while samples == 0 or cpu_seconds() - cpu < seconds:
        samples += part()
    return {"samples": samples, "wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}


def memory(pid):
    """Bytes of a process and its children; what several share counts once."""
    total = 0
    for one in [pid] + children(pid):
        try:
            for line in pathlib.Path(f"/proc/{one}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1]) * 1024
        except OSError:
            pass  # the child is gone
    return total


def peak_memory(peer):
    """The largest of this process's and its children's memory in a slice; looking disturbs, so the slice is not timed."""
    found, done = [memory(os.getpid())], threading.Event()

    def look():
        while not done.wait(0.02):
            found.append(memory(os.getpid()))
    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        peer.slice()
    finally:
        done.set()
        watcher.join()
    settle()
    return {"peak_memory": max(found)}


def fixed_box(peer, order):
    import numpy
    array = peer.fixed_box(order["path"], tuple(order["box"]), order["flip"])
    numpy.save(order["to"], numpy.ascontiguousarray(array))
    return {}


def main(module, function, job):
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.path.append(str(ROOT))

    def answer(**fields):
        answers.write(json.dumps(fields) + "\n")

    try:
        peer = getattr(importlib.import_module("bench.peers." + module), function)(json.loads(job))
    except Exception as error:
        text = str(error).strip().splitlines()
        answer(missing=f"{type(error).__name__}: {text[0] if text else 'no text'}")
        traceback.print_exc()
        answers.flush()
        os._exit(1)
    answer(output=peer.output, versions=peer.versions, reason=peer.reason, note=peer.note,
           has_fixed_box=peer.fixed_box is not None, parts=sorted(peer.parts or {}))
    for line in sys.stdin:
        order = json.loads(line)
        try:
            if order["order"] == "slice":
                answer(**timed_slice(peer, order))
            elif order["order"] == "fixed_box":
                answer(**fixed_box(peer, order))
            elif order["order"] == "peak_memory":
                answer(**peak_memory(peer))
            else:
                break
        except Exception as error:
            traceback.print_exc()
            answer(error=f"{type(error).__name__}: {error}")
    # Some peers' threads never end; nothing of theirs is worth waiting for.
    answers.flush()
    for pid in children(os.getpid()):
        try:
            os.kill(pid, 15)
        except OSError:
            found.append(memory(os.getpid()))
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:4])
