#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random pipelines that the language has words for, run by whole sessions on a simulated GPU: the samples are those of the host.

Usage: gpu_sessions.py DIFFERENTIAL PENSTOCK FAKES [--seed S] [--count N]
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile


def hashes(penstock, case, environment, *gpu):
    """What a run of the case delivers, or how it ends."""
    folder = os.path.dirname(case)
    path = os.path.join(folder, "hashes")
    if os.path.exists(path):
        os.remove(path)
    with open(case) as file:
        columns = re.search(r"pipeline found\((.*?)\)", file.read()).group(1)
    settings = [word for name in re.findall(r"(\w+): path", columns)
                for word in ("--set", f"{name}={os.path.join(folder, name + '.raw')}")]
    done = subprocess.run([penstock, "run", case, *settings, "--no-cache", "--hashes", path, *gpu], capture_output=True,
                          text=True, env=environment, timeout=300)
    if "simulated GPU" in done.stderr:
        return done.stderr
    if done.returncode:
        return done.stderr.replace(f"{case}:", "")
    with open(path) as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("differential")
    parser.add_argument("penstock")
    parser.add_argument("fakes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    environment = {**os.environ, "LD_LIBRARY_PATH": options.fakes,
                   "PENSTOCK_NVRTC": os.path.join(options.fakes, "libnvrtc.so"),
                   "PENSTOCK_FAKE_GPU": f"seed={options.seed}"}
    compared = different = 0
    with tempfile.TemporaryDirectory() as folder:
        # The language has words for one in forty.
        for turn in range(100):
            if compared >= options.count:
                break
            part = os.path.join(folder, str(turn))
            subprocess.run([options.differential, "--write", part, "--seed", str(options.seed * 100 + turn), "--count", "400"],
                           check=True)
            for case in sorted(glob.glob(os.path.join(part, "*", "case.pipe")))[:options.count - compared]:
                compared += 1
                expected = hashes(options.penstock, case, environment)
                found = hashes(options.penstock, case, environment, "--gpu", "sm_90")
                if found != expected:
                    different += 1
                    with open(case) as file:
                        print(f"{os.path.basename(os.path.dirname(case))} differs:\n{file.read()}\n{expected}\n{found}")
    print(f"{compared} random pipelines, {different} differ on the GPU")
    return 1 if different or compared < options.count else 0


if __name__ == "__main__":
    sys.exit(main())
