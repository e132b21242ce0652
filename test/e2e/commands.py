"""Every command once, as a new user would try it."""
import os
import time

from support import EXAMPLES, ToolTest, make_folder, main

IMAGENET = os.path.join(EXAMPLES, "imagenet_train.pipe")


class Commands(ToolTest):
    def test_check_lists_parameters(self):
        text = self.run_tool("check", IMAGENET).stdout
        self.assertIn("imagenet_train: no errors", text)
        self.assertRegex(text, r"root +path +run-time +\(must be given\)")
        self.assertRegex(text, r"size +int +static +224")

    def test_a_missing_parameter_is_named(self):
        done = self.run_tool("run", IMAGENET, expect=1)
        self.assertIn("error: parameter `root` needs a value\nhint: `--set root=...`\n", done.stderr)

    def test_an_unknown_parameter_is_refused(self):
        done = self.run_tool("check", IMAGENET, "--set", "sise=3", expect=1)
        self.assertIn("no parameter `sise`", done.stderr)
        self.assertIn("hint: its parameters are `root` `size` `per_rank`", done.stderr)

    def test_a_missing_file(self):
        done = self.run_tool("check", "nowhere.pipe", expect=1)
        self.assertIn("cannot read nowhere.pipe", done.stderr)

    def test_usage_errors_have_their_own_code(self):
        self.run_tool("run", expect=2)
        unknown = self.run_tool("unheard-of", expect=2)
        self.assertIn("no command `unheard-of`; the commands are: check run", unknown.stderr)
        self.run_tool("compile", IMAGENET, "--emit", "nonsense", expect=2)

    def test_every_stage_prints(self):
        for stage in ["ast", "pipe", "pipe-opt", "kernels", "schedule", "loops", "llvm", "asm"]:
            with self.subTest(stage=stage):
                self.assertGreater(len(self.run_tool("compile", IMAGENET, "--emit", stage).stdout), 200)

    def test_every_printed_stage_is_read_back_to_the_same_code(self):
        wanted = self.run_tool("compile", IMAGENET, "--emit", "asm", "--no-cache").stdout
        for stage in ["pipe", "pipe-opt", "kernels", "schedule", "loops", "llvm"]:
            with self.subTest(stage=stage):
                path = os.path.join(self.folder, "stage.mlir")
                self.run_tool("compile", IMAGENET, "--emit", stage, "-o", path)
                text = self.run_tool("compile", path, "--from", stage, "--emit", "asm").stdout
                self.assertEqual(text, wanted)

    def test_explain_speaks_of_fusion(self):
        self.assertIn("fuse", self.run_tool("explain", IMAGENET).stdout)

    def test_sample_is_the_same_every_time(self):
        make_folder(self.data, per_class=10)
        arguments = ["sample", IMAGENET, "--set", f"root={self.data}", "--set", "size=32",
                     "--position", "7", "--epoch", "3"]
        first = self.run_tool(*arguments).stdout
        self.assertIn("epoch 3, position 7: row", first)
        self.assertIn("draw", first)
        self.assertEqual(first, self.run_tool(*arguments, "--threads", "1", "--no-cache").stdout)

    def test_view_writes_a_picture(self):
        make_folder(self.data, per_class=10)
        sheet = os.path.join(self.folder, "sheet.png")
        self.run_tool("view", IMAGENET, "--set", f"root={self.data}", "--set", "size=64", "--count",
                      "6", "-o", sheet)
        self.assertEqual(open(sheet, "rb").read(8), b"\x89PNG\r\n\x1a\n")

    def test_bench_reports(self):
        make_folder(self.data)
        report = self.run_json("bench", IMAGENET, "--set", f"root={self.data}", *self.settings,
                               "--seconds", "0.5")
        self.assertGreater(report["samples_per_second"], 0)

    def test_the_cache_is_used_and_survives_damage(self):
        text = self.run_tool("compile", IMAGENET, "--set", "size=40").stdout
        self.assertNotIn("cache", text)
        self.assertIn("cache", self.run_tool("compile", IMAGENET, "--set", "size=40").stdout)
        folder = os.path.join(self.shared_cache, "penstock")
        for name in os.listdir(folder):
            if name.endswith(".program"):
                with open(os.path.join(folder, name), "r+b") as file:
                    file.seek(100)
                    file.write(b"\xff" * 64)
        self.assertNotIn("cache", self.run_tool("compile", IMAGENET, "--set", "size=40").stdout)

    def test_what_was_not_used_for_long_leaves_the_cache(self):
        self.shared_cache = self.folder
        folder = os.path.join(self.folder, "penstock")

        def compile(size):
            return "cache" in self.run_tool("compile", IMAGENET, "--set", f"size={size}").stdout

        def age(days, *names):
            for name in names:
                os.utime(os.path.join(folder, name), (time.time() - days * 86400,) * 2)

        def programs():
            return {name for name in os.listdir(folder) if name.endswith(".program")}

        compile(40)
        old = programs()
        compile(41)
        used = programs() - old
        with open(os.path.join(folder, "notes.txt"), "w") as file:
            file.write("not ours")
        age(100, *os.listdir(folder))
        self.assertTrue(compile(41))  # which is a use
        compile(42)
        self.assertEqual(len(programs()), 2)
        self.assertLess(used, programs())
        self.assertTrue(os.path.exists(os.path.join(folder, "notes.txt")))
        age(100, *programs())
        compile(43)  # within a day of the last time
        self.assertEqual(len(programs()), 3)
        self.assertFalse(compile(40))


if __name__ == "__main__":
    main()
