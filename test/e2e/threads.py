# SPDX-License-Identifier: Apache-2.0
"""Systems that give no more threads: whichever is the first that cannot be started, there is an error or a result."""
import json
import os
import subprocess
import sys

from support import EXAMPLES, ToolTest, make_folder, main, read_hashes

STARVE = os.path.abspath(sys.argv.pop(2)) if len(sys.argv) > 2 and sys.argv[2].endswith(".so") else None


class Threads(ToolTest):
    def setUp(self):
        super().setUp()
        make_folder(self.data, per_class=12)
        for folder, _, _ in os.walk(self.data):
            os.utime(folder, (1e9, 1e9))  # so that its index is kept, and listing takes no threads

    def starved(self, threads, *arguments):
        environment = {**self.environment(), "LD_PRELOAD": STARVE, "PENSTOCK_TEST_THREADS": str(threads)}
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=300, env=environment)

    def test_sessions(self):
        example = [os.path.join(EXAMPLES, "imagenet_train.pipe"), "--set", f"root={self.data}", *self.settings,
                   "--threads", 3]
        hashes = os.path.join(self.folder, "hashes")
        self.run_tool("run", *example, "--hashes", hashes)
        expected = read_hashes(hashes)
        for command in ("run", "bench", "sample", "view"):
            more = {"run": ["--hashes", hashes], "bench": ["--seconds", 0.01], "sample": ["--position", 1],
                    "view": ["-o", os.path.join(self.folder, "sheet.png")]}[command]
            outcomes = []
            # Eight threads wait for files, three compute; `run` and `bench` have one for interrupts before all others.
            before = 1 if command in ("run", "bench") else 0
            for threads in range(13):
                done = self.starved(threads, command, *example, *more)
                with self.subTest(command=command, threads=threads):
                    self.assertIn(done.returncode, (0, 1), done.stderr)
                    if done.returncode:
                        left = max(threads - before, 0)
                        first, of = (left + 1, 8) if left < 8 else (left - 7, 3)
                        self.assertEqual(done.stderr, f"penstock: error: cannot start thread {first} of {of}: Resource "
                                                      "temporarily unavailable; `ulimit -u`, a cgroup or memory (`ulimit -v`) may limit them\n")
                outcomes.append(done.returncode)
            self.assertEqual(outcomes, [1] * (11 + before) + [0] * (2 - before), command)
        self.assertEqual(read_hashes(hashes), expected)  # also those of starved runs, which are appended

    def test_work_before_training_makes_do_with_fewer(self):
        right = json.loads(self.run_tool("index", self.data, "--json").stdout)
        for threads in range(3):
            os.remove(right["file"])
            done = self.starved(threads, "index", self.data, "--threads", 4, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), right)
            out = os.path.join(self.folder, f"out{threads}")
            done = self.starved(threads, "pack", self.data, out, "--threads", 4, "--verify", "--json")
            self.assertEqual(json.loads(done.stdout)["images"], 24, done.stderr)


if __name__ == "__main__":
    if not STARVE:
        sys.exit("the library that takes the threads is missing")
    main()
