# SPDX-License-Identifier: Apache-2.0
"""The random recipes of chained.py, whole sessions of them: on a simulated GPU they have the bits of the CPU.

A few, chosen by the commit; PENSTOCK_CHAINS says how many, PENSTOCK_CHAINS_SEED from where. Some pictures are large enough to
be made much smaller. What differs is printed with as few of its steps as show it.
"""
import os
import random
import subprocess
import sys
import tempfile
import unittest

TOOL, REFERENCE, FAKES = sys.argv[1:4]
import chained  # noqa: E402

COUNT = int(os.environ.get("PENSTOCK_CHAINS", 12))
ARCHITECTURES = ("sm_75", "sm_86", "sm_90")


def recipe_of(seed):
    r = random.Random(seed)
    if r.random() < 0.5:
        return chained.Recipe(seed)
    small, large = chained.SOURCES, (lambda r: (f"u8[h = {r.randint(40, 200)}, w = {r.randint(40, 260)}, c = rgb]", True),)
    chained.SOURCES = large
    try:
        return chained.Recipe(seed)
    finally:
        chained.SOURCES = small


def difference(recipe, seed):
    """What is not as it should be, in words."""
    r = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, data = os.path.join(folder, "recipe.pipe"), os.path.join(folder, "x")
        with open(path, "w") as file:
            file.write(recipe.text())
        chained.rows(recipe.column, seed).tofile(data)
        found = []
        for gpu in (None, r.choice(ARCHITECTURES)):
            environment = dict(os.environ)
            hashes = os.path.join(folder, gpu or "cpu")
            command = [TOOL, "run", path, "--no-cache", "--set", f"x={data}", "--hashes", hashes]
            if gpu:
                environment |= {"LD_LIBRARY_PATH": FAKES, "PENSTOCK_NVRTC": os.path.join(FAKES, "libnvrtc.so"), "PENSTOCK_FAKE_GPU": f"seed={seed}"}
                command += ["--gpu", gpu]
            try:
                done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
            except subprocess.TimeoutExpired:
                return f"{gpu or 'the CPU'} takes more than five minutes"
            if done.returncode == 1 and not gpu:
                return chained.REFUSED
            if done.returncode or "simulated GPU" in done.stderr:
                return f"{gpu or 'the CPU'} ends with {done.returncode}: {done.stderr[-2000:]}"
            with open(hashes) as file:
                found.append(file.read())
        return "" if found[0] == found[1] else f"{gpu}: samples differ"


def check(seed):
    recipe = recipe_of(seed)
    found = difference(recipe, seed)
    if found in ("", chained.REFUSED):
        return found
    number = len(recipe.steps) - 1
    while number >= 0:
        shorter = recipe.without_step(number)
        if shorter and (shown := difference(shorter, seed)) not in ("", chained.REFUSED):
            recipe, found = shorter, shown
        number -= 1
    return f"recipe {seed}: {found}\n{recipe.text()}"


class ChainedOnGpu(unittest.TestCase):
    def test_sessions_have_the_samples_of_the_cpu(self):
        first = chained.first_seed()
        results = [check(seed) for seed in range(first, first + COUNT)]
        found, refused = [result for result in results if result not in ("", chained.REFUSED)], results.count(chained.REFUSED)
        print(f"{COUNT - len(found) - refused} recipes from {first} equal, {refused} refused, {len(found)} differ")
        self.assertEqual("\n".join(found), "")
        self.assertLessEqual(refused, max(2, COUNT // 4))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
