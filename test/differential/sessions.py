#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random pipelines that the language has words for, run by whole sessions: the samples are those of the reference, one by one
and in batches, or elsewhere those of this machine.

Usage: sessions.py DIFFERENTIAL PENSTOCK [--seed S] [--count N]
                                                     --gpu FAKES         on a simulated GPU
                                                     --runner PROGRAM    as bundles for 64-bit ARM, by a penstock-run
"""
import argparse
import filecmp
import glob
import os
import re
import subprocess
import sys
import tempfile


class Case:
    """A case.pipe with its columns beside it."""

    def __init__(self, path):
        self.path, self.folder = path, os.path.dirname(path)
        with open(path) as file:
            self.text = file.read()
        columns = re.search(r"pipeline found\((.*?)\)", self.text).group(1)
        self.settings = [word for name in re.findall(r"(\w+): path", columns)
                         for word in ("--set", f"{name}={os.path.join(self.folder, name + '.raw')}")]

    def run(self, *commands, environment=None):
        """The hashes of what the last of some commands delivers, or the errors of the first one that fails."""
        path = os.path.join(self.folder, "hashes")
        if os.path.exists(path):
            os.remove(path)
        for command in (*commands[:-1], [*commands[-1], "--hashes", path]):
            done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
            if "simulated GPU" in done.stderr:
                return done.stderr
            if done.returncode:
                return done.stderr.replace(f"{self.path}:", "")
        with open(path) as file:
            return file.read()


def against_reference(case, hashes, command):
    """How a session's sample is not the reference's, by what it said of each and `right` beside the case, which has the first batch."""
    lines = [line.split() for line in hashes.splitlines()]
    if any(len(words) != 3 for words in lines):
        return hashes
    known = [words[1] for words in lines if os.path.exists(os.path.join(case.folder, "right", words[1]))]
    if not known:
        return f"no sample of the first batch came:\n{hashes}"
    position = known[-1]  # another place in the batch than alone
    right, found = (os.path.join(case.folder, name, position) for name in ("right", "found"))
    done = subprocess.run([*command, "--position", position, "-o", found], capture_output=True, text=True, timeout=300)
    if done.returncode:
        return done.stdout + done.stderr
    wrong = [name for name in os.listdir(right) if not filecmp.cmp(os.path.join(right, name), os.path.join(found, name), shallow=False)]
    alone = re.search(r"hash ([0-9a-f]{16})", done.stdout).group(1)
    batched = next(words[2] for words in lines if words[1] == position)
    return "".join([f"sample {position}: {name} is not the reference's\n" for name in wrong] +
                   [f"sample {position} is {alone} alone, and {batched} in its batch\n"] * (alone != batched))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("differential")
    parser.add_argument("penstock")
    parser.add_argument("--gpu")
    parser.add_argument("--runner")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    environment = dict(os.environ)
    if options.gpu:
        environment |= {"LD_LIBRARY_PATH": options.gpu, "PENSTOCK_NVRTC": os.path.join(options.gpu, "libnvrtc.so"),
                        "PENSTOCK_FAKE_GPU": f"seed={options.seed}"}

    def here(case, *more):
        return case.run([options.penstock, "run", case.path, *case.settings, "--no-cache", *more], environment=environment)

    def there(case):
        if options.gpu:
            return here(case, "--gpu", "sm_90")
        bundle = os.path.join(case.folder, "case.pstk")
        return case.run([options.penstock, "compile", case.path, *case.settings, "--no-cache", "--target", "armv8-a", "-o", bundle],
                        [options.runner, bundle])

    compared = different = 0
    with tempfile.TemporaryDirectory() as folder:
        # The language has words for one in forty.
        for turn in range(100):
            if compared >= options.count:
                break
            part = os.path.join(folder, str(turn))
            subprocess.run([options.differential, "--write", part, "--seed", str(options.seed * 100 + turn), "--count", "400"],
                           check=True)
            for path in sorted(glob.glob(os.path.join(part, "*", "case.pipe")))[:options.count - compared]:
                case = Case(path)
                expected, found = here(case), ""
                if options.gpu or options.runner:
                    found = there(case)
                elif re.search(r"^\s*(penstock|\d+:\d+): error: ", expected, re.M):
                    continue  # of columns without elements, say, there are no files
                else:
                    found = against_reference(case, expected, [options.penstock, "sample", case.path, *case.settings])
                    expected = ""
                compared += 1
                if found != expected:
                    different += 1
                    print(f"{os.path.basename(case.folder)} differs:\n{case.text}\n{expected}\n{found}")
    print(f"{compared} random pipelines, {different} differ")
    return 1 if different or compared < options.count else 0


if __name__ == "__main__":
    sys.exit(main())
