#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A fault ends in a small .pipe file with which the command line repeats it.

    shrink.py BUILD     plants one fault, lets penstock-differential find and shrink it,
                        and runs what it says: wrong with the fault, right without
"""
import os
import re
import subprocess
import sys
import tempfile

from plant import SHRUNK


def main():
    build = os.path.abspath(sys.argv[1])
    mutant = sys.argv[2] if len(sys.argv) > 2 else SHRUNK
    folder = tempfile.mkdtemp(prefix="penstock-shrink-")
    tools = f"{build}/tools/penstock:{build}/test/differential"
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "XDG_CACHE_HOME": f"{folder}/cache"}
    faulty = {**environment, "PENSTOCK_MUTANT": mutant, "XDG_CACHE_HOME": f"{folder}/faulty"}
    found = subprocess.run(["penstock-differential", "--candidate", "code", "--seed", "1", "--count", "400",
                            "--failures", "8"], cwd=folder, env=faulty, capture_output=True, text=True, errors="replace")
    # The language has no words for some of what is found.
    cases = re.split(r"^(?=case \d+, candidate )", found.stderr, flags=re.MULTILINE)
    commands_of = lambda case: re.findall(r"^(?:penstock sample|diff) .*$", case, flags=re.MULTILINE)
    said = next(filter(commands_of, cases), None)
    if said is None:
        sys.exit(f"no .pipe file:\n{found.stderr}")
    commands = commands_of(said)
    print(said[said.index("\npipe 1\n") + 1:].split("\n\n")[0])
    script = "\n".join(["set -e", *commands])
    for name, variables, expected in (("with", faulty, 1), ("without", environment, 0)):
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=variables, capture_output=True, text=True, errors="replace")
        if done.returncode != expected:
            sys.exit(f"{name} the fault: exit {done.returncode}\n{script}\n{done.stdout}{done.stderr}")
    print(f"{mutant}: wrong with the fault, right without")


if __name__ == "__main__":
    main()
