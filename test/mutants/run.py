#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests against mutants: every one must make some test fail.

    run.py BUILD [CHOICE]   all of them, or those that plant.py chooses by the same words

BUILD is the build folder of the tree that plant.py wrote. A mutant names its
tests, the likeliest first; they run until one fails. The test that killed it
must pass without it. A survivor means that a test is missing.
"""
import argparse
import concurrent.futures
import glob
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

from plant import PARITY, add_choice, choose

TREE = None  # set by main
CPU_SECONDS, SECONDS = 400, 3600  # a test that takes longer has been caught in a loop, or waits for ever
BYTES = 16 << 30  # of addresses of a process
PIPELINES = {"code": 400, "passes": 600}


def command_of(test, build):
    """The command of a test line of a .mutants file."""
    kind, *rest = shlex.split(test)
    python = sys.executable
    if kind in PIPELINES:
        return [f"{build}/test/differential/penstock-differential", "--candidate", kind, "--seed", "1",
                "--count", str(PIPELINES[kind]), "--failures", "1", "--no-shrink"]
    if kind == "unit":
        program, = glob.glob(f"{build}/test/unit/*/{rest[0]}")
        return [program, "--gtest_fail_fast", "--gtest_brief=1"] + [f"--gtest_filter={name}" for name in rest[1:]]
    if kind == "lit":
        llvm = "/usr/lib/llvm-19"
        return [python, f"{llvm}/build/utils/lit/lit.py", "-s", "--param", f"build={build}", "--param",
                f"llvm={llvm}", f"{TREE}/test/lit/{rest[0]}"]
    if kind == "e2e":
        fakes = [f"{build}/test/fakes/cuda"] if rest[0] in ("gpu", "held") else []
        return [python, f"{TREE}/test/e2e/{rest[0]}.py", f"{build}/tools/penstock/penstock", *fakes, "-f", *rest[1:]]
    if kind == "python":
        return [python, f"{TREE}/test/python/{rest[0]}.py", *rest[1:]]
    if kind == "parity":
        name = rest[0] if rest else "library"
        return [python, f"{TREE}/test/parity/{name}.py", *(f"{build}/{program}" for program in PARITY[name])]
    sys.exit(f"there is no kind of test `{kind}`")


def passes(test, build, name=None):
    """True if the test passes with the mutant of that name."""
    # A mutant's code must not be found by another one.
    cache = tempfile.mkdtemp(prefix="penstock-mutant-")
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "PENSTOCK_VIDEO_MODULE": f"{build}/api/c/libpenstock_video.so",
                   "PENSTOCK_LIBRARY": f"{build}/api/c/libpenstock.so", "PYTHONPATH": f"{TREE}/api/python", "PENSTOCK_ALL_IN_TURN": "1"}  # what kills it may not be what this commit chooses
    environment.pop("PENSTOCK_MUTANT", None)
    if name:
        environment["PENSTOCK_MUTANT"] = name
    try:
        def limits():
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
            resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))

        done = subprocess.run(command_of(test, build), env=environment, cwd=cache, timeout=SECONDS,
                              preexec_fn=limits, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode == 0 and (b"PASSED  ] 0 tests" in done.stdout or b"Running 0 tests" in done.stdout
                                     or b"Unsupported:" in done.stdout):
            sys.exit(f"`{test}` chooses no test")
        return done.returncode == 0, done.stdout
    except subprocess.TimeoutExpired:
        return False, b"it does not end"
    finally:
        shutil.rmtree(cache, ignore_errors=True)


def try_mutant(mutant, build):
    """The test that killed it, or none; and the seconds."""
    begin = time.monotonic()
    for test in mutant.tests:
        if not passes(test, build, mutant.name)[0]:
            return test, time.monotonic() - begin
    return None, time.monotonic() - begin


def main():
    global TREE
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    add_choice(parser)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    with open(f"{build}/CMakeCache.txt") as cache:
        TREE = next(line.split("=")[1].strip() for line in cache if line.startswith("CMAKE_HOME_DIRECTORY"))
    mutants = choose(arguments)
    survivors, killers = [], set()
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        tried = [(mutant, pool.submit(try_mutant, mutant, build)) for mutant in mutants]
        for mutant, future in tried:
            killer, seconds = future.result()
            print(f"{mutant.name:32} {'killed by ' + killer if killer else 'SURVIVED':40} {seconds:6.1f} s", flush=True)
            (killers.add(killer) if killer else survivors.append(mutant.name))
        for killer, (good, output) in zip(killers, pool.map(lambda test: passes(test, build), killers)):
            if not good:
                print(output.decode(errors="replace"))
                sys.exit(f"`{killer}` fails without a mutant, too")
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} mutants killed")
    if survivors:
        sys.exit("survivors, for which a test is missing: " + ", ".join(survivors))


if __name__ == "__main__":
    main()
