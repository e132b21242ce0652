# SPDX-License-Identifier: Apache-2.0
"""Memory: stated beforehand, the same after one epoch and after many, and a limit."""
import os
import re
import resource
import struct
import subprocess

from PIL import Image

from support import ToolTest, make_folder, main

EPOCHS = int(os.environ.get("PENSTOCK_EPOCHS", 20))

# The whole of every picture is read, so that no draw decides what memory it takes.
SMALL = """pipe 1
use vision
pipeline small(root: path) with on_error = substitute(10%) {
  for row in image_folder(root) order shuffled
  let image = row.data |> decode(rgb) |> resize(64, 64)
  batch 8 per rank last drop { output image: u8[n, h, w, c] = image }
}"""


def with_size(jpeg, height, width):
    """The same file, with another size in its header."""
    at = jpeg.index(b"\xff\xc0")
    return jpeg[:at + 5] + struct.pack(">HH", height, width) + jpeg[at + 9:]


class Memory(ToolTest):
    def setUp(self):
        super().setUp()
        self.pipe = os.path.join(self.folder, "small.pipe")
        with open(self.pipe, "w") as file:
            file.write(SMALL)
        self.paths = make_folder(self.data, per_class=28)

    def run_small(self, *arguments):
        return self.command("run", self.pipe, "--set", f"root={self.data}", *arguments)

    def peak(self, epochs):
        """The most memory that the tool ever had, in KiB."""
        # AddressSanitizer keeps what was freed, 256 MiB of it unless told.
        asan = os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"
        process = subprocess.Popen(self.run_small("--epochs", epochs, "--threads", 2),
                                   env={**self.environment(), "ASAN_OPTIONS": asan},
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        with process.stderr:
            errors = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0, errors)
        return usage.ru_maxrss

    def test_more_epochs_take_no_more_memory(self):
        # Its file is small: those of two epochs may be in memory at once.
        Image.radial_gradient("L").resize((8000, 7500)).convert("RGB").save(self.paths[9], quality=30)
        self.run_tool("compile", self.pipe)  # compiling takes memory, too
        one, many = self.peak(1), self.peak(EPOCHS)
        self.assertGreater(one, 8000 * 7500 * 3 // 1024)
        self.assertLess(abs(many - one), 0.05 * one, f"{one} KiB after one epoch, {many} after {EPOCHS}")

    def test_a_picture_over_the_limit_is_a_bad_sample(self):
        with open(self.paths[9], "rb") as file:
            jpeg = file.read()
        with open(self.paths[9], "wb") as file:
            file.write(with_size(jpeg, 20000, 30000))
        report = self.run_json("run", self.pipe, "--set", f"root={self.data}")
        self.assertEqual([(bad["name"], bad["reason"]) for bad in report["bad_samples"]],
                         [(os.path.relpath(self.paths[9], self.data),
                           "JPEG of 30000 x 20000 pixels, the limit is 178956970 in all")])

    def test_the_plan_is_printed(self):
        report = self.run_json("run", self.pipe, "--set", f"root={self.data}")["memory"]
        self.assertGreater(report["fixed"], 8 * 64 * 64 * 3)
        self.assertEqual(report["most_per_sample"], 1 << 30)

    def test_a_budget_below_the_fixed_part_is_refused(self):
        path = os.path.join(self.folder, "large.pipe")
        with open(path, "w") as file:
            file.write(SMALL.replace("batch 8", "batch 56").replace("64, 64", "640, 640"))
        done = self.run_tool("run", path, "--set", f"root={self.data}", "--memory", 100, expect=1)
        self.assertTrue(re.search(r"memory|MiB", done.stderr), done.stderr)
        self.assertTrue(re.search(r"batch size|prefetch", done.stderr), done.stderr)

    def test_memory_that_is_not_there_is_no_fault_of_a_sample(self):
        """Under limits of the system a run ends well, or with an error that says so; no sample is given up for another."""
        picture = Image.radial_gradient("L").resize((3000, 2800)).convert("RGB")
        for i, (name, options) in enumerate((("a.jpg", {"progressive": True}), ("b.jpg", {}), ("c.png", {"compress_level": 1}),
                                             ("d.webp", {"quality": 20, "method": 0}), ("e.bmp", {}),
                                             ("f.jpg", {"progressive": True}), ("g.jpg", {}), ("h.png", {"compress_level": 1}))):
            picture.save(os.path.join(self.data, f"class{i % 2}", name), **options)
        for path in self.paths:
            os.remove(path)
        whole = self.run_tool(*self.run_small("--on-error", "90%", "--threads", 2)[1:]).stdout
        said = set()
        for limit in (*range(160, 400, 12), *range(400, 1201, 80)):
            done = subprocess.run(self.run_small("--on-error", "90%", "--threads", 2), capture_output=True, text=True, timeout=300,
                                  env=self.environment(), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit << 20,) * 2))
            if "Sanitizer" in done.stderr:
                self.skipTest("sanitizers reserve terabytes of addresses")
            if done.returncode == 0:
                self.assertNotIn("bad sample", done.stdout + done.stderr, limit)
                said.add("well")
            else:
                self.assertIn(done.returncode, (1, 127), f"{limit}: {done.stderr}")  # no signal; 127: not all libraries have room
                self.assertNotIn("more than a sample may take", done.stderr, limit)
                self.assertNotIn("bytes of working memory", done.stderr, limit)
                if re.search("cannot be made: no memory .*: `ulimit -v`, a cgroup or the machine gives no more", done.stderr):
                    self.assertNotIn("bad sample", done.stderr, limit)
                    said.add("no memory")
        self.assertEqual(said, {"well", "no memory"}, whole)


if __name__ == "__main__":
    main()
