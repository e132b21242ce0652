# SPDX-License-Identifier: Apache-2.0
"""The convention that all benches share.

A bench prepares its data once, compares outputs for the same boxes, then lets
contestants take turns: each runs in a process of its own, does one slice of
work, and is idle while the others run. Ratios are taken within a round and
their median is reported, since a shared machine changes its speed between
rounds more than within one.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
DATA = pathlib.Path(os.environ.get("PENSTOCK_DATA", ROOT / "data"))
VENV_PYTHON = DATA / "peers-venv/bin/python"


# --- numbers ---

def median(values):
    ordered = sorted(values)
    if not ordered:
        raise ValueError("median of no values")
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def quantile(values, q):
    """Linear between neighbours; q in [0, 1]."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("quantile of no values")
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def spread(values):
    """Half the distance between the quartiles, as a share of the median."""
    middle = median(values)
    return (quantile(values, 0.75) - quantile(values, 0.25)) / 2 / middle if middle else 0.0


# --- measures ---

def kind_of(name):
    """"time" (smaller is better), "count" (smaller is better) or "speed"."""
    if name.startswith("operators_slower_") or "_accesses_" in name:
        return "count"
    if (name.startswith(("time_", "cpu_seconds_")) or "_time_" in name or name.endswith(("_ms", "_cost", "_sectors", "_global_bytes"))):
        return "time"
    return "speed"


def units_of(name):
    if kind_of(name) == "count":
        return ("count",)
    if name.endswith("_ms"):
        return ("ms",)
    if name.startswith("cpu_seconds_"):
        return ("s", "ratio")
    return ("ratio",)


def measure(value, n, unit="ratio", note=""):
    entry = {"value": value, "unit": unit, "n": n}
    if note:
        entry["note"] = note
    return entry


def check_measures(measures):
    """The faults of a set of measures, as text; none when it may be written."""
    faults = []
    for name, entry in measures.items():
        if not name or not all(c.islower() or c.isdigit() or c == "_" for c in name):
            faults.append(f"{name!r}: a name has lower-case letters, digits and underscores")
        extra = set(entry) - {"value", "unit", "n", "note"}
        missing = {"value", "unit", "n"} - set(entry)
        if extra or missing:
            faults.append(f"{name}: fields {sorted(extra | missing)} are unknown or missing")
            continue
        value = entry["value"]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
            faults.append(f"{name}: the value {value!r} is no finite number from 0 on")
        if entry["unit"] not in units_of(name):
            faults.append(f"{name}: the unit is {entry['unit']!r}, not {' or '.join(units_of(name))}")
        if isinstance(entry["n"], bool) or not isinstance(entry["n"], int) or entry["n"] < 1:
            faults.append(f"{name}: n is {entry['n']!r}, not a count")
        if not isinstance(entry.get("note", ""), str):
            faults.append(f"{name}: the note is no text")
    return faults


def write_json(path, measures):
    faults = check_measures(measures)
    if faults:
        raise ValueError("; ".join(faults))
    pathlib.Path(path).write_text(json.dumps({"measures": measures}, indent=1) + "\n")


# --- the machine ---

def calibrate():
    """Seconds of wall clock that a fixed amount of work takes now."""
    start = time.perf_counter()
    value = 1
    for _ in range(60_000):
        value = (value * 1103515245 + 12345) & 0xffffffff
    return time.perf_counter() - start


def machine():
    model, threads = "unknown CPU", os.cpu_count()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    flags = pathlib.Path("/proc/cpuinfo").read_text()
    level = "AVX-512" if " avx512bw" in flags else "AVX2" if " avx2" in flags else "SSE"
    return f"{model}, {level}, {threads} CPUs, load {os.getloadavg()[0]:.1f}"


# --- contestants ---

@dataclasses.dataclass
class Entry:
    """A contestant as a bench names it: function `function` of bench/peers/`module`.py."""
    label: str
    module: str
    function: str
    job: dict
    # Debian's Python for what Debian packages; else the peers' environment.
    debian: bool = False
    # Runs the worker under this module of our package: `python -m MODULE -m bench.peers.worker`.
    under: str = ""
    # Only in the full table, not in --quick.
    slow: bool = False


class Contestant:
    """A running worker; see peers/worker.py for the protocol."""

    def __init__(self, entry):
        self.entry, self.label = entry, entry.label
        self.slices, self.missing, self.facts = [], None, {}
        self.differences = ""
        python = "/usr/bin/python3" if entry.debian else str(VENV_PYTHON)
        if not entry.debian and not VENV_PYTHON.exists():
            python = "/usr/bin/python3"
        environment = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1",
                           TF_CPP_MIN_LOG_LEVEL="3", NO_ALBUMENTATIONS_UPDATE="1", PYTHONWARNINGS="ignore",
                           CUDA_VISIBLE_DEVICES="", TF_ENABLE_ONEDNN_OPTS="0",
                           NUMBA_CACHE_DIR=str(DATA / "numba-cache"))
        worker = [str(BENCH / "peers/worker.py")]
        if entry.under:  # which puts a script's folder on the path, and peers have the names of what they measure
            worker = ["-m", entry.under, "-m", "bench.peers.worker"]
            environment["PYTHONPATH"] = str(ROOT / "api/python")
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [python, "-P", *worker, entry.module, entry.function, json.dumps(entry.job)], cwd=ROOT,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, bufsize=1, env=environment)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            return {"missing": f"ended with status {self.process.wait()}: {self.last_words()}"}
        return json.loads(line)

    def last_words(self):
        self.log.seek(0)
        lines = [line.strip() for line in self.log.read().splitlines() if line.strip()]
        return lines[-1] if lines else "no output"

    def await_setup(self):
        self.facts = self.answer()
        self.missing = self.facts.get("missing")

    def order(self, **order):
        self.process.stdin.write(json.dumps(order) + "\n")
        answer = self.answer()
        self.missing = answer.get("missing") or answer.get("error")
        return answer

    def slice(self):
        answer = self.order(order="slice")
        if not self.missing:
            self.slices.append(answer)
        return answer

    def fixed_box(self, path, box, flip):
        import numpy
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            self.order(order="fixed_box", path=str(path), box=list(box), flip=flip, to=file.name)
            return None if self.missing else numpy.load(file.name)

    def wall(self):
        return [s["wall"] / s["samples"] for s in self.slices]

    def cpu(self):
        return [s["cpu"] / s["samples"] for s in self.slices]

    def close(self):
        try:
            self.process.stdin.write('{"order": "end"}\n')
            self.process.stdin.close()
            self.process.wait(timeout=5)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.log.close()


def slice_together(contestants):
    """All at the same time; samples per second of wall clock of all together."""
    for contestant in contestants:
        contestant.process.stdin.write('{"order": "slice"}\n')
    answers = [contestant.answer() for contestant in contestants]
    for contestant, answer in zip(contestants, answers):
        contestant.missing = answer.get("missing") or answer.get("error")
        if contestant.missing:
            return None
    return sum(a["samples"] for a in answers) / max(a["wall"] for a in answers)


def paired(contestant, other, clock):
    """Ratios contestant / other of time per sample, round by round."""
    ours, theirs = getattr(contestant, clock)(), getattr(other, clock)()
    return [a / b for a, b in zip(ours, theirs) if b > 0]


class Bench:
    """One run: start, compare, take turns, report."""

    def __init__(self, title, arguments=None):
        parser = argparse.ArgumentParser(description=title)
        parser.add_argument("--quick", action="store_true", help="under 50 s: the measured peers, fewer samples")
        parser.add_argument("--json", metavar="FILE", help="write the measures there")
        parser.add_argument("--rounds", type=int, help="turns per contestant")
        parser.add_argument("--only", metavar="TEXT", action="append", default=[],
                            help="only contestants whose label contains TEXT")
        self.options = parser.parse_args(arguments)
        self.title = title
        self.measures, self.noise, self.contestants, self.not_run = {}, [], [], []
        self.failed = []
        self.began = time.monotonic()

    @property
    def quick(self):
        return self.options.quick

    def start(self, entries):
        for entry in entries:
            if self.options.only and not any(text in entry.label for text in self.options.only):
                continue
            if self.quick and entry.slow:
                self.not_run.append(entry.label)
                continue
            # One after the other: imports and compilation would disturb no
            # slice, but two at once swap each other out of two cores.
            contestant = Contestant(entry)
            contestant.await_setup()
            if contestant.missing and entry.module == "penstock":  # a peer may be missing, our side may not
                self.failed.append(f"{entry.label}: {contestant.missing}")
            self.contestants.append(contestant)

    def running(self):
        return [c for c in self.contestants if not c.missing]

    def get(self, label):
        """The contestant if it has run at least once."""
        return next((c for c in self.contestants if c.label == label and c.slices), None)

    def take_turns(self, rounds, until=None):
        """Rounds in random order, the first being a warm-up that does not count; at
        least three, but no further one `until` seconds after the bench began."""
        shuffle = random.Random(1)
        rounds = self.options.rounds or rounds
        for turn in range(rounds + 1):
            order = self.running()
            shuffle.shuffle(order)
            for contestant in order:
                self.noise.append(calibrate())
                contestant.slice()
            if turn == 0:
                for contestant in self.contestants:
                    contestant.slices.clear()
            elif until and turn >= 3 and time.monotonic() - self.began > until:
                break

    def compare(self, reference, boxes):
        """Prints how each contestant's output differs from `reference`'s."""
        import numpy
        truth = next((c for c in self.running() if c.label == reference), None)
        if truth is None:
            print(f"outputs not compared: {reference} does not run")
            return
        expected = [truth.fixed_box(*box) for box in boxes]
        for contestant in self.running():
            if contestant is truth or not contestant.facts["has_fixed_box"]:
                continue
            worst, different, total = 0.0, 0, 0
            for box, want in zip(boxes, expected):
                got = contestant.fixed_box(*box)
                if got is None:
                    break
                want_as = want.astype(got.dtype)
                worst = max(worst, float(numpy.abs(want_as.astype(numpy.float32) - got.astype(numpy.float32)).max()))
                different += int((want_as != got).sum())
                total += got.size
            if contestant.missing:
                continue
            if different == 0:
                contestant.differences = "equal bits"
            else:
                # One step of a u8 value is about 0.017 after normalisation.
                contestant.differences = (f"{different / total:.3f} of values differ, by up to "
                                          f"{worst * 0.226 * 255:.2g} of 255: {contestant.facts['reason'] or 'UNEXPLAINED'}")
                if not contestant.facts["reason"]:
                    self.failed.append(f"{contestant.label}: {contestant.differences}")

    def record(self, name, values, note="", unit=""):
        """A measure whose value is the median of `values`, in the first unit that its name allows where none is given."""
        if values:
            self.measures[name] = measure(round(median(values), 4), len(values), unit or units_of(name)[0], note)

    def report(self, base):
        print(f"\n{self.title}\n{machine()}; noise of a fixed loop {spread(self.noise):.3f} "
              f"(slowest {max(self.noise) / median(self.noise):.2f} of median)" if self.noise else self.title)
        reference = self.get(base)
        header = ("contestant", "wall us", "spread", "cpu us", "spread", "speed", "output", "versions")
        rows = []
        for c in self.contestants:
            if not c.slices:
                continue
            wall, cpu = c.wall(), c.cpu()
            speed = f"{1 / median(paired(c, reference, 'cpu')):.3f}" if reference else "-"
            rows.append((c.label, f"{median(wall) * 1e6:.1f}", f"{spread(wall):.3f}", f"{median(cpu) * 1e6:.1f}",
                         f"{spread(cpu):.3f}", speed, c.facts["output"], c.facts["versions"]))
        print_table(header, rows)
        print(f"speed: CPU time per sample, {base} over the contestant; spread: half the quartile distance")
        for c in self.contestants:
            if c.facts.get("note"):
                print(f"  {c.label}: {c.facts['note']}")
        if any(c.differences for c in self.contestants):
            print("outputs for the same boxes, against Pillow + torchvision:")
            for c in self.contestants:
                if c.differences:
                    print(f"  {c.label}: {c.differences}")
        failed_setup = {row["peer"]: row["error"] for row in peers_status() if "error" in row}
        for c in self.contestants:
            if c.missing:
                print(f"  MISSING {c.label}: {c.missing}")
                if c.entry.module in failed_setup:
                    print(f"    bench/setup-peers: {failed_setup[c.entry.module]}")
        if self.not_run:
            print("not run with --quick: " + ", ".join(self.not_run))

    def finish(self):
        for contestant in self.contestants:
            contestant.close()
        if self.measures:
            print("\nmeasures")
            print_table(("name", "value", "unit", "n", "better", "note"),
                        [(name, f"{m['value']:.3f}", m["unit"], str(m["n"]),
                          "larger" if kind_of(name) == "speed" else "smaller", m.get("note", ""))
                         for name, m in self.measures.items()])
        if self.options.json:
            write_json(self.options.json, self.measures)
        for failure in self.failed:
            print(f"FAILED {failure}", file=sys.stderr)
        return 1 if self.failed else 0


def print_table(header, rows):
    widths = [max(len(str(row[column])) for row in [header] + rows) for column in range(len(header))]
    for row in [header] + rows:
        print("  " + "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())


def peers_status():
    """The status of each peer as bench/setup-peers wrote it: installed, or the reason it is not."""
    try:
        return json.loads((DATA / "peers-status.json").read_text())["peers"]
    except (OSError, ValueError, KeyError):
        return []

