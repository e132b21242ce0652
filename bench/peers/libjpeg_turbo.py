# SPDX-License-Identifier: Apache-2.0
"""libjpeg-turbo alone: full RGB decode, and nothing else."""

import pathlib
import subprocess
import tempfile

from bench.peers.peer import Missing, Peer

ROOT = pathlib.Path(__file__).resolve().parents[2]


def build():
    source = ROOT / "bench/peers/turbo/turbo.cpp"
    binary = ROOT / "build/bench/turbo"
    if not binary.exists() or binary.stat().st_mtime < source.stat().st_mtime:
        binary.parent.mkdir(parents=True, exist_ok=True)
        result = subprocess.run(["clang++-19", "-O2", "-std=c++20", "-o", str(binary), str(source), "-ljpeg"],
                                capture_output=True, text=True)
        if result.returncode != 0:
            raise Missing(f"turbo.cpp does not build: {result.stderr.splitlines()[:1]}")
    return binary


def imagenet(job):
    binary = build()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("\n".join(f"{job['root']}/{path}" for path in job["paths"]) + "\n")
        listing.flush()
        program = subprocess.Popen([str(binary), listing.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   text=True, bufsize=1)

        def slice():
            program.stdin.write("go\n")
            samples, cpu, _ = program.stdout.readline().split()
            return int(samples), float(cpu)

        slice()
    version = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "libjpeg62-turbo"], capture_output=True,
                             text=True).stdout
    return Peer(slice, "u8 HWC, decoded only", f"libjpeg-turbo {version}",
                note="the whole image, files already in memory; no crop, resize or normalise")
