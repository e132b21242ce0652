# SPDX-License-Identifier: Apache-2.0
"""Every command once, as a new user would try it."""
import os
import re
import resource
import signal
import stat
import subprocess
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

    def test_a_parameter_has_one_value(self):
        done = self.run_tool("check", IMAGENET, "--set", "size=3", "--set", "per_rank=2", "--set", "size=4", expect=2)
        self.assertEqual(done.stderr, "penstock: error: --set gives `size` two values, `3` and `4`\n")
        self.run_tool("check", IMAGENET, "--set", "size=3", "--set", "size=3")

    def test_numbers_below_zero_are_usage_errors(self):
        """Whatever command has an option that takes a number without a sign."""
        commands = re.findall(r"(?m)^  ([a-z]+) {2,}", self.run_tool("--help").stdout)
        self.assertIn("pack", commands)
        found = []
        for command in commands:
            for name in re.findall(r"(?m)^ .*?(--[a-z-]+) (?:UINT|BYTES)\b", self.run_tool(command, "--help").stdout):
                found.append(f"{command} {name}")
                done = self.run_tool(command, f"{name}=-5", "x", "y", expect=2)
                self.assertRegex((done.stdout + done.stderr).splitlines()[0], f"^{name}: expected .*, found `-5`$")
        self.assertIn("pack --shard-size", found)
        self.assertIn("run --epochs", found)

    def test_a_list_of_targets_has_names(self):
        path = self.rows()
        bundle = os.path.join(self.folder, "out.pstk")
        for targets in (",", "x86-64-v2,", ",x86-64-v2", "x86-64-v2,,x86-64-v3"):
            done = self.run_tool("compile", path, "-o", bundle, "--target", targets, expect=1)
            self.assertIn("error: unknown target ``; known are ", done.stderr)
            self.assertFalse(os.path.exists(bundle))

    def test_a_missing_file(self):
        done = self.run_tool("check", "nowhere.pipe", expect=1)
        self.assertIn("cannot read nowhere.pipe", done.stderr)

    def test_a_working_folder_that_is_gone(self):
        """Relative paths name nothing, and above all not what has the name from the root on."""
        rows, folder = self.rows(), os.path.join(self.folder, "gone")
        bundle = os.path.join(self.folder, "rows.pstk")
        self.run_tool("compile", rows, "-o", bundle)
        make_folder(self.data, per_class=1)
        images = os.path.join(self.folder, "images.pipe")
        with open(images, "w", encoding="utf-8") as file:
            file.write("pipe 1\nuse vision\npipeline p(root: path) {\n  for row in image_folder(root)\n"
                       "  batch 1 per rank last keep { output y: i64[n] = row.label }\n}\n")
        below = self.data.lstrip("/")  # from / on, there it is
        for arguments, said in [
                (["compile", rows, "-o", "new.pstk"], "cannot write new.pstk: cannot open folder /proc/self/cwd: No such file or directory"),
                (["compile", rows, "-o", f"{below}/new.pstk"], "cannot open folder .*: No such file or directory"),
                (["run", images, "--set", f"root={below}"], "cannot open .*: No such file or directory"),
                (["run", images, "--set", f"root=../../../../..{self.data}"], "cannot open .*: No such file or directory"),
                (["run", images, "--set", "root=."], "cannot open folder \\.: No such file or directory"),
                (["index", below], "No such file or directory"),
                (["index", self.data, "--out", f"{below}/x"], "No such file or directory"),
                (["pack", below, bundle + "d"], "is not a folder"),
                (["pack", self.data, "packed"], "cannot make folder .*: No such file or directory")]:
            with self.subTest(arguments=arguments):
                os.mkdir(folder)
                done = subprocess.run(["bash", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', folder, *self.command(*arguments)],
                                      capture_output=True, text=True, timeout=300, env=self.environment())
                self.assertEqual(done.returncode, 1, done)
                self.assertRegex(done.stderr, f"^penstock: error: .*{said}")
        self.assertFalse(os.path.exists("/packed"))

    def test_usage_errors_have_their_own_code(self):
        self.run_tool("run", expect=2)
        unknown = self.run_tool("unheard-of", expect=2)
        self.assertIn("no command `unheard-of`; the commands are: check run", unknown.stderr)
        self.run_tool("compile", IMAGENET, "--emit", "nonsense", expect=2)

    def test_numbers_of_options_are_refused_where_they_are_none(self):
        for command, option, value, said in [
                ("run", "--seed", "99999999999999999999", "expected a whole number of 64 bits"),
                ("run", "--seed", "1.5", "expected a whole number of 64 bits"),
                ("run", "--batches", "-1", "expected a whole number of at least 0"),
                ("run", "--epochs", "-1", "expected a whole number from 0 to 4294967295"),
                ("run", "--epoch", "4294967296", "expected a whole number from 0 to 4294967295"),
                ("run", "--rank", "-1", "expected a whole number from 0 to 4294967295"),
                ("run", "--world", "0", "expected a whole number from 1 to 1048576"),
                ("run", "--threads", "1e3", "expected a whole number from 0 to 4096"),
                ("run", "--memory", "99999999999999999", "expected a whole number from 0 to 8796093022207"),
                ("sample", "--position", "-1", "expected a whole number of at least 0"),
                ("view", "--columns", "0", "expected a whole number from 1 to 64"),
                ("index", "--threads", "-1", "expected a whole number from 0 to 4096"),
                ("pack", "--shard-size", "-5", "expected a number of bytes such as 256M"),
                ("pack", "--shard-size", "-1G", "expected a number of bytes such as 256M"),
                ("pack", "--shard-size", "G", "expected a number of bytes such as 256M"),
                ("pack", "--shard-size", "1.5G", "expected a number of bytes such as 256M"),
                ("pack", "--shard-size", "18446744073709551616", "expected a number of bytes such as 256M"),
                ("pack", "--shard-size", "16E", "expected a number of bytes such as 256M"),
                ("run", "--remote-cache-size", "0x10", "expected a number of bytes such as 256M"),
                ("run", "--remote-cache-size", "5bb", "expected a number of bytes such as 256M"),
                ("run", "--remote-cache-size", "1Q", "expected a number of bytes such as 256M"),
                ("run", "--remote-cache-size", "1 G", "expected a number of bytes such as 256M"),
                ("bench", "--warmup", "-1", "expected a whole number of at least 0"),
                ("bench", "--seconds", "nan", "expected a number above 0"),
                ("bench", "--seconds", "inf", "expected a number above 0"),
                ("bench", "--seconds", "0", "expected a number above 0")]:
            with self.subTest(option=option, value=value):
                done = self.run_tool(command, IMAGENET, option, value, expect=2)
                self.assertEqual((done.stdout + done.stderr).splitlines()[0], f"{option}: {said}, found `{value}`")
        done = self.run_tool("run", self.rows(), "--on-error", "nan", expect=2)
        self.assertIn("--on-error wants `fail` or a fraction such as 1%, but found `nan`", done.stderr)

    def test_sizes(self):
        for size in ("0", "010", "1b", "1K", "2kb", "3MiB", "4Gi", "15E", "18446744073709551615"):
            self.run_tool("run", self.rows(), "--remote-cache-size", size)
        for device in (" 1", "+1", "-1", "x"):
            done = self.run_tool("run", self.rows(), f"--device={device}", expect=2)
            self.assertEqual(done.stderr, f"penstock: error: --device wants the number of a GPU, or `cpu`, but found `{device}`\n")

    def test_two_options_do_not_write_one_file(self):
        path, one = self.rows(), os.path.join(self.folder, "one")
        for exists in (False, True):
            for options in (["--profile", one, "--hashes", one], ["--state", os.path.join(self.folder, ".", "one"), "--hashes", one]):
                done = self.run_tool("run", path, *options, expect=2)
                self.assertEqual(done.stderr, f"penstock: error: {' and '.join(sorted(options[::2], reverse=options[0] == '--profile'))} both write "
                                 f"{options[1 if options[0] == '--state' else 3]}; give each its own name\n")
            self.assertEqual(os.path.exists(one), exists)
            open(one, "w").close()
        self.run_tool("run", path, "--profile", "/dev/null", "--hashes", "/dev/null")

    def test_epochs_end(self):
        done = self.run_tool("run", self.rows(), "--epoch", "4294967295", "--epochs", "2", expect=2)
        self.assertIn("--epoch 4294967295 and --epochs 2 go beyond the last epoch, 4294967295", done.stderr)
        self.run_tool("run", self.rows(), "--epoch", "4294967295")

    def test_values_of_options_are_not_empty(self):
        for option in ("--on-error", "--state", "--gpu", "--target", "--pipeline", "--allow", "--hashes", "--device"):
            done = self.run_tool("run", self.rows(), option, "", expect=2)
            self.assertIn(f"{option}: the value is empty", done.stdout + done.stderr)

    def rows(self):
        path = os.path.join(self.folder, "rows.pipe")
        with open(path, "w", encoding="utf-8") as file:
            file.write("pipe 1\npipeline p() {\n  for row in synthetic(9, label = 0 .. 3)\n"
                       "  batch 4 per rank last keep { output y: i64[n] = row.label }\n}\n")
        return path

    def test_results_that_cannot_be_written_are_an_error(self):
        path = self.rows()
        for arguments in (["check", path], ["ops"], ["explain", path], ["run", path], ["compile", path, "--emit", "ast"],
                          ["--help"]):
            for where, said in [(">/dev/full", ": No space left on device"), (">&-", ": Bad file descriptor"), ("| true", "")]:
                with self.subTest(arguments=arguments, where=where):
                    # A pipe has no reader when the writing begins: the shell waits for it.
                    script = 'sleep 0.05; "$0" "$@"; echo "code $?" >&2'
                    done = subprocess.run(["bash", "-c", f"({script}) {where}", self.tool, *arguments], text=True,
                                          capture_output=True, check=False)
                    if said:
                        self.assertIn(f"penstock: error: cannot write to stdout{said}", done.stderr)
                        self.assertIn("code 1\n", done.stderr)
                    else: # the reader has left, as `head` does: as other programs end there
                        self.assertNotIn("penstock: error", done.stderr)
                        self.assertIn("code 141\n", done.stderr)

    def test_a_text_comes_through_a_pipe_and_from_no_device(self):
        path = self.rows()
        for script in ('"$0" check <(cat "$1")', 'cat "$1" | "$0" check /dev/stdin', '"$0" check /dev/stdin < "$1"',
                       '"$0" fmt - < "$1"'):
            self.run_command(["bash", "-c", script, self.tool, path])
        for device in ("/dev/zero", "/dev/full", "/dev/null"):
            done = self.run_tool("check", device, expect=1)
            self.assertEqual(done.stderr, f"penstock: error: cannot read {device}: it is not a regular file\n")
        endless = self.run_command(["bash", "-c", '"$0" check <(cat /dev/zero)', self.tool], expect=1)
        self.assertRegex(endless.stderr, r"error: cannot read /dev/fd/\d+: it has more than 64 MiB\n")
        self.assertRegex(self.run_tool("check", self.folder, expect=1).stderr, "error: cannot read .*: Is a directory\n")

    def test_a_link_in_a_circle_is_no_file_of_a_folder(self):
        loop = os.path.join(self.folder, "pipes", "a.pipe")
        os.mkdir(os.path.dirname(loop))
        os.symlink("a.pipe", loop)
        self.run_tool("fmt", "--check", os.path.dirname(loop))

    def test_a_pipe_is_written_to_and_stays(self):
        pipe = os.path.join(self.folder, "pipe")
        os.mkfifo(pipe)
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE)
        self.run_tool("explain", self.rows(), "--svg", pipe)
        self.assertIn(b"</svg>", reader.communicate(timeout=60)[0])
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))

    def test_the_table_of_a_run_says_what_is_counted(self):
        make_folder(self.data)
        text = self.run_tool("run", IMAGENET, "--set", f"root={self.data}", "--set", "per_rank=4").stdout
        for stage, unit in [("select", "row"), ("fetch", "file"), ("probe", "header"), ("setup", "sample"),
                            ("decode", "image or clip"), ("kernels", "kernel run"), ("wait", "batch")]:
            self.assertRegex(text, rf"(?m)^  {stage} +[0-9.]+ ms +[0-9.]+ us per {unit}$")

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
        self.assertIn("fuse", self.run_tool("explain", IMAGENET, "--all").stdout)

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

    def test_hashes_go_to_stdout(self):
        path = os.path.join(self.folder, "test.pipe")
        with open(path, "w") as text:
            text.write("""pipe 1
pipeline test() {
  for row in synthetic(9, x = u8[h = 8, w = 8, c = 3])
  batch 4 { output y: u8[n, h, w, c] = row.x }
}
""")
        file = os.path.join(self.folder, "hashes")
        self.run_tool("run", path, "--hashes", file)
        with open(file) as written:
            expected = written.read()
        self.assertEqual(expected.count("\n"), 8)
        with open(os.path.join(self.folder, "report"), "w+") as report: # whose lines come behind
            subprocess.run(self.command("run", path, "--hashes", "-"), cwd=self.folder, stdout=report, check=True)
            report.seek(0)
            told = report.read()
        self.assertEqual(told[:len(expected)], expected)
        self.assertIn("8 samples in", told[len(expected):])
        self.assertFalse(os.path.exists(os.path.join(self.folder, "-")))

    def test_pictures_and_samples_that_cannot_be_written(self):
        make_folder(self.data)
        settings = ["--set", f"root={self.data}", "--set", "size=64"]
        done = self.run_tool("view", IMAGENET, *settings, "-o", os.path.join(self.folder, "sheet.jpg"), expect=2)
        self.assertIn("the sheet is a PNG file, and", done.stderr)
        nowhere = os.path.join(self.folder, "nowhere", "sheet.png")
        for output, why in (("/dev/full", "No space left on device"), (nowhere, "No such file or directory")):
            done = self.run_tool("view", IMAGENET, *settings, "-o", output, expect=1)
            self.assertEqual(done.stderr, f"penstock: error: cannot write {output}: {why}\n")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

        def on_a_small_disk():
            resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        part = os.path.join(self.folder, "part.png")
        done = subprocess.run(self.command("view", IMAGENET, *settings, "--no-cache", "-o", part), capture_output=True, text=True,
                              env=self.environment(), preexec_fn=on_a_small_disk)
        self.assertEqual((done.returncode, done.stderr), (1, f"penstock: error: cannot write {part}: File too large\n"))
        self.assertFalse(os.path.exists(part))
        # What draws is opened by this command alone, and may be missing.
        with open(os.path.join(self.folder, "libgd.so.3"), "w"):
            pass
        before, self.environment = self.environment, lambda: {**before(), "LD_LIBRARY_PATH": self.folder}
        sheet = os.path.join(self.folder, "sheet.png")
        done = self.run_tool("view", IMAGENET, *settings, "-o", sheet, expect=1)
        self.assertIn(f"penstock: error: cannot write {sheet}: pictures are drawn by libgd, which cannot be opened; install libgd3 (", done.stderr)
        self.assertFalse(os.path.exists(sheet))
        self.environment = before
        done = self.run_tool("sample", IMAGENET, *settings, "--position", 0, "-o", "/dev/full", expect=1)
        self.assertEqual(done.stderr, "penstock: error: cannot write to /dev/full: Not a directory\n")

    def test_what_is_read_is_not_written(self):
        path = self.rows()
        with open(path) as file:
            text = file.read()
        link = os.path.join(self.folder, "link.pipe")
        os.link(path, link)
        for arguments in (["compile", "--emit", "asm", "-o"], ["explain", "--svg"], ["run", "--profile"], ["run", "--hashes"],
                          ["run", "--state"], ["view", "-o"], ["index", "--out"]):
            for output in (path, link):
                with self.subTest(arguments=arguments):
                    done = self.run_tool(arguments[0], path, *arguments[1:], output, expect=2)
                    self.assertEqual(done.stderr, f"penstock: error: {arguments[-1]} {output} would overwrite a file that is read; "
                                     "give it another name\n")
                    with open(path) as file:
                        self.assertEqual(file.read(), text)
        profile = os.path.join(self.folder, "profile.json")
        self.run_tool("run", path, "--profile", profile)
        self.run_tool("explain", path, "--profile", profile, "--svg", profile, expect=2)
        self.run_tool("explain", path, "--profile", profile)

    def test_a_dash_is_stdout_or_refused(self):
        path = self.rows()
        self.assertTrue(self.run_tool("explain", path, "--svg", "-").stdout.rstrip().endswith("</svg>"))
        self.assertIn("pipe.pipeline", self.run_tool("compile", path, "--emit", "pipe", "-o", "-").stdout)
        for arguments in (["run", "--profile"], ["run", "--state"], ["view", "-o"], ["index", "--out"], ["sample", "--position", "0", "-o"]):
            done = self.run_tool(arguments[0], path, *arguments[1:], "-", expect=2)
            self.assertEqual(done.stderr, f"penstock: error: {arguments[-1]} wants a name, and not `-`: stdout has the report\n")
        self.assertFalse(os.path.exists("-"))

    def test_an_empty_path_is_named(self):
        for source, what in (("csv(list, root, label = column(1, i64))", "csv: no file"), ("image_folder(list)", "image_folder: no folder")):
            path = os.path.join(self.folder, "empty.pipe")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"pipe 1\npipeline p(list: path, root: path) {{\n  for row in {source}\n"
                           "  batch 2 per rank last keep { output y: i64[n] = row.label }\n}\n")
            done = self.run_tool("run", path, "--set", "list=", "--set", f"root={self.folder}", expect=1)
            self.assertIn(f"error: {what} is given: parameter `list` is empty\n", done.stderr)

    def test_a_sample_for_a_folder_that_cannot_be_made(self):
        closed, path = os.path.join(self.folder, "closed"), self.rows()
        os.mkdir(closed, 0o555)
        os.chmod(self.folder, 0o755)

        def as_nobody():
            if os.geteuid() == 0:
                os.setuid(65534)
        done = subprocess.run(self.command("sample", path, "--position", 0, "-o", os.path.join(closed, "x")), capture_output=True,
                              text=True, env=self.environment(), preexec_fn=as_nobody)
        self.assertEqual((done.returncode, done.stderr),
                         (1, f"penstock: error: cannot write to {closed}/x: Permission denied\n"))

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

    def test_warnings_come_from_the_cache_too(self):
        path = os.path.join(self.folder, "warned.pipe")
        with open(path, "w", encoding="utf-8") as file:
            file.write("pipe 1\npipeline warned() {\n  for row in synthetic(9, label = 0 .. 3)\n"
                       "  batch 4 per rank last keep {\n    output y: f32[n] = row.label / 2\n  }\n}\n")
        done = [self.run_tool("run", path) for _ in range(3)]
        self.assertIn("warned.pipe:5:34: warning: `/` of whole numbers", done[0].stderr)
        self.assertEqual({run.stderr for run in done}, {done[0].stderr})
        bundle = [self.run_tool("compile", path, "-o", os.path.join(self.folder, "warned.pstk")) for _ in range(2)]
        self.assertEqual({run.stderr for run in bundle}, {done[0].stderr})

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
