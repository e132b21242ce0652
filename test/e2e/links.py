# SPDX-License-Identifier: Apache-2.0
"""Links in data: random trees beside a model of torchvision's rules, and folders that the caller opens."""
import json
import os
import random
import subprocess

from pipelines import LanguageTest
from support import jpeg_bytes, main

import numpy
from PIL import Image

TREES = int(os.environ.get("PENSTOCK_TREES", "12"))
# As torchvision.datasets.folder has them.
EXTENSIONS = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
# Of bytes that are no UTF-8 Python makes code points that lie between those of others.
MARKS = ["é", "日", "\ue000", "\U0001f600", *map(os.fsdecode, (b"\xc4", b"\xe6\x97", b"\xe6\x97z", b"\xff", b"\xed\xb2\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80"))]
TEXT = """
pipeline p(root: path) {
  for row in image_folder(root)
  batch 1 per rank last keep { output label: i64[n] = row.label }
}"""


class Refused(Exception):
    """The path of a link that may not, or cannot, be followed."""


class Model:
    """torchvision's make_dataset, but that links out of `opened` are refused and none is left out."""

    def __init__(self, root, opened):
        self.root, self.opened = root, [os.path.realpath(folder) for folder in [root, *opened]]

    def check(self, path, is_image):
        if not os.path.islink(path):
            return
        if not os.path.exists(path):
            if not is_image:
                raise Refused(path)
            return
        target = os.path.realpath(path)
        inside = any(target == folder or target.startswith(folder.rstrip("/") + "/") for folder in self.opened)
        if not inside and (is_image or os.path.isdir(path)):
            raise Refused(path)

    def samples(self):
        classes = []
        for name in sorted(os.listdir(self.root)):
            self.check(os.path.join(self.root, name), False)
            if os.path.isdir(os.path.join(self.root, name)):
                classes.append(name)
        result = []
        for label, name in enumerate(classes):
            for folder, inner, files in sorted(os.walk(os.path.join(self.root, name), followlinks=True)):
                for entry in sorted([*inner, *files]):
                    self.check(os.path.join(folder, entry), entry.lower().endswith(EXTENSIONS))
                for entry in sorted(files):
                    if entry.lower().endswith(EXTENSIONS):
                        result.append((os.path.relpath(os.path.join(folder, entry), self.root), label))
        return result


class Links(LanguageTest):
    def picture(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(self.jpeg)

    def link(self, target, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)

    def setUp(self):
        super().setUp()
        self.jpeg = jpeg_bytes(numpy.random.default_rng(1), 20, 30)
        self.root = os.path.join(self.folder, "root")

    def tool_samples(self, opened=(), root=None):
        """[(name, label)], or the message; from `pack`, which has the table of `image_folder`."""
        out = os.path.join(self.folder, "packed")
        subprocess.run(["rm", "-rf", out])
        allow = [word for folder in opened for word in ("--allow", folder)]
        done = subprocess.run(self.command("pack", *allow, root or self.root, out, "--json"), capture_output=True,
                              encoding="utf-8", errors="surrogateescape", env=self.environment())
        if done.returncode:
            self.assertEqual(done.returncode, 1, done.stderr)
            return done.stderr
        left_out = {entry["name"] for entry in json.loads(done.stdout)["left_out"]}
        listed = subprocess.run(["tar", "--quoting-style=literal", "-tf", os.path.join(out, "000000.tar")], capture_output=True)
        names = [name for name in os.fsdecode(listed.stdout).splitlines() if not name.startswith("__")]
        labels = {}
        for name in names:
            if name.endswith(".cls"):
                done = subprocess.run(["tar", "-xOf", os.path.join(out, "000000.tar"), name], capture_output=True)
                labels[name[:-4]] = int(done.stdout)
        return [(name, labels[name.rsplit(".", 1)[0]]) for name in names if not name.endswith(".cls")], left_out

    def random_tree(self, rng, base):
        """Class folders with links of every kind; returns the folders that are opened."""
        root, pool, shut = (os.path.join(base, name) for name in ("root", "pool", "pool2"))
        for folder in (pool, shut):
            for name in ("a", "b/c"):
                for i in range(rng.randrange(1, 3)):
                    self.picture(os.path.join(folder, name, f"p{i}.jpg"))
        os.makedirs(root)
        count = iter(range(1000))
        mark = lambda: rng.choice(["", "", "", *MARKS])
        for label in range(rng.randrange(2, 6)):
            path = os.path.join(root, rng.choice(["", "x", "Y"]) + mark() + f"c{label}")
            kind = rng.choice(["folder"] * 4 + ["pool", "relative", "shut"] if rng.random() < 0.3 else ["folder", "pool"])
            if kind == "pool":
                self.link(os.path.join(pool, rng.choice(["a", "b"])), path)
                continue
            if kind == "relative":
                self.link(os.path.relpath(os.path.join(pool, "b"), root), path)
                continue
            if kind == "shut":
                self.link(os.path.join(shut, "a"), path)
                continue
            self.picture(os.path.join(path, f"{mark()}i{next(count)}.jpg"))
            for _ in range(rng.randrange(5)):
                inner = os.path.join(path, rng.choice(["", "deep", "deep er", "deep/er", mark()]), f"{mark()}e{next(count)}")
                choice = rng.randrange(9)
                if choice < 2:
                    self.picture(inner + rng.choice([".JPG", ".png", ".tif or", ".jpeg"]))
                elif choice == 2:
                    self.picture(inner + ".txt")
                elif choice == 3:
                    self.link(os.path.join(pool, rng.choice(["a", "b", "b/c"])), inner)
                elif choice == 4:
                    self.link(os.path.join(pool, "a", "p0.jpg"), inner + rng.choice([".jpg", ".txt"]))
                elif choice == 5:
                    self.link(rng.choice(["nowhere", os.path.join(base, "gone", "x")]), inner + ".jpg")
                elif choice == 6 and rng.random() < 0.3:
                    self.link(rng.choice(["nowhere", f"e{next(count)}", os.path.join(shut, "b")]), inner)
                elif choice == 7 and rng.random() < 0.3:
                    self.link(os.path.join(shut, "a", "p0.jpg"), inner + rng.choice([".jpg", ".md"]))
                elif choice == 8:  # by way of another link, within the root
                    self.link(os.path.join(path, "chain"), inner)
                    if not os.path.lexists(os.path.join(path, "chain")):
                        self.link(os.path.join(pool, "a"), os.path.join(path, "chain"))
        if rng.random() < 0.2:
            self.link(os.path.join(shut, "a", "p0.jpg"), os.path.join(root, "readme"))
        alias = os.path.join(base, "alias")
        os.symlink("pool", alias)
        return root, rng.choice([[pool], [alias], [pool, os.path.join(base, "root")], []])

    def test_names_in_other_encodings(self):
        names = [mark + end for mark in MARKS for end in ("", "a")]
        for name in names:
            for inner in names:
                self.picture(os.path.join(self.root, name, inner + ".jpg"))
        samples, _ = self.tool_samples()
        self.assertEqual(samples, [(f"{name}/{inner}", label) for label, name in enumerate(sorted(names))
                                   for inner in sorted(inner + ".jpg" for inner in names)])

    def test_random_trees(self):
        outcomes = {True: 0, False: 0}
        for seed in range(TREES):
            rng = random.Random(seed)
            root, opened = self.random_tree(rng, os.path.join(self.folder, f"tree{seed}"))
            found = self.tool_samples(opened, root)
            try:
                wanted = Model(root, opened).samples()
            except Refused:
                wanted = None
            outcomes[wanted is not None] += 1
            with self.subTest(seed=seed, opened=opened):
                if wanted is None:
                    # Which of several is met first is not said; the one that is named is a fault.
                    self.assertRegex(found, "(is a link to .*, outside of the opened folders; `--allow .*` opens it|"
                                            "cannot follow the link .*)")
                    continue
                self.assertNotIsInstance(found, str, found)
                samples, left_out = found
                shown = lambda name: os.fsencode(name).decode("utf-8", "replace") # JSON is UTF-8
                self.assertEqual([entry for entry in wanted if shown(entry[0]) not in left_out], samples)
                self.assertEqual({shown(name) for name, _ in wanted if not os.path.exists(os.path.join(root, name))}, left_out)
        self.assertGreater(min(outcomes.values()), 1, outcomes)

    def test_the_model_is_torchvisions(self):
        try:
            from torchvision.datasets import ImageFolder
        except ImportError:
            self.skipTest("without torchvision")
        for seed in range(20):
            base = os.path.join(self.folder, f"peer{seed}")
            root, _ = self.random_tree(random.Random(seed), base)
            try:
                wanted = Model(root, [base]).samples()
            except Refused:
                continue  # torchvision leaves out what leads nowhere
            theirs = [(os.path.relpath(path, root), label) for path, label in ImageFolder(root).samples]
            self.assertEqual(theirs, wanted)

    def test_every_command_takes_the_folders_that_are_opened(self):
        pool = os.path.join(self.folder, "pool")
        for name in ("ant", "bee"):
            self.picture(os.path.join(pool, name, "1.jpg"))
        self.picture(os.path.join(self.root, "cat", "1.jpg"))
        self.link(os.path.join(pool, "bee"), os.path.join(self.root, "bee"))
        self.link("../../pool/ant", os.path.join(self.root, "cat", "more"))
        path = self.write(TEXT)
        run = [path, "--set", f"root={self.root}"]
        out = os.path.join(self.folder, "out")
        message = (f"{self.root}/bee is a link to {pool}/bee, outside of the opened folders; `--allow {pool}/bee` "
                   "opens it\n")
        commands = {"run": run, "sample": [*run, "--position", 0], "bench": [*run, "--seconds", 0.01],
                    "pack": [self.root, out], "index": [self.root]}
        for command, arguments in commands.items():
            with self.subTest(command):
                refused = self.run_tool(command, *arguments, expect=1).stderr
                self.assertIn(message, refused)
                self.assertIn("--allow", self.run_tool(command, "--help").stdout)
                self.run_tool(command, "--allow", pool, *arguments)
        self.assertIn(f"cannot open folder {pool}x: No such file or directory",
                      self.run_tool("run", *run, "--allow", pool + "x", expect=1).stderr)
        # An index that was kept with the folder opened is not used without.
        self.assertIn(message, self.run_tool("run", *run, expect=1).stderr)
        hint = self.run_tool("run", *run, "--allow", os.path.join(pool, "bee"), expect=1).stderr
        self.assertIn(f"{self.root}/cat/more is a link to {pool}/ant, outside", hint)
        self.run_tool("run", *run, "--allow", os.path.join(pool, "bee"), "--allow", os.path.join(pool, "ant"))

    def test_what_links_lead_to_changes_kinds(self):
        """An index is kept by the times of the folders that have the links, which then stay as they are."""
        for seed in range(4):
            rng = random.Random(seed)
            base = os.path.join(self.folder, f"kinds{seed}")
            root, pool = os.path.join(base, "root"), os.path.join(base, "pool")
            targets = []
            for label in range(4):
                self.picture(os.path.join(root, f"c{label}", "1.jpg"))
                for place in (f"b{label}", f"c{label}/more", f"c{label}/deep/more"):
                    if rng.random() < 0.4:
                        targets.append(os.path.join(pool, str(len(targets))))
                        self.link(targets[-1], os.path.join(root, place))

            def turn(target):
                was_folder = os.path.isdir(target)
                subprocess.run(["rm", "-rf", target])
                if was_folder or not os.path.basename(target) == "0" and rng.random() < 0.3:
                    self.picture(target)  # a file
                else:
                    self.picture(os.path.join(target, "2.jpg"))

            for target in targets:
                turn(target)
            path = self.write(TEXT)
            for folder, inner, _ in os.walk(root):
                os.utime(folder, (1e9, 1e9))  # long ago, or no index is kept
            for _ in range(3):
                count = len(Model(root, [pool]).samples())
                done = self.run_json("run", path, "--set", f"root={root}", "--allow", pool)
                self.assertEqual(done["samples"], count, seed)
                labels = self.sample(TEXT, count - 1, "--set", f"root={root}", "--allow", pool)
                self.assertEqual(labels["label"], Model(root, [pool]).samples()[-1][1], seed)
                for target in targets:
                    turn(target)

    def test_dots_behind_a_link_are_those_of_its_target(self):
        other = os.path.join(self.folder, "other")
        self.picture(os.path.join(self.root, "a", "1.jpg"))
        for i in range(3):
            self.picture(os.path.join(other, "a", f"{i}.jpg"))
        self.picture(os.path.join(other, "deep", "1.jpg"))
        self.link("../other/deep", os.path.join(self.root, "link"))
        path = self.write(TEXT)
        for root, count in ((self.root, 2), (f"{self.root}/link/..", 4), (f"{self.root}/link/../../root/./a/..", 2), (f"{self.root}/a/../link/..", 4)):
            self.assertEqual(self.run_json("run", path, "--set", f"root={root}", "--allow", other)["samples"], count, root)
        text = TEXT.replace("image_folder(root)", "file_list(root)").replace("row.label", "i64(max(row.data |> decode(gray) over [h, w, c]))")
        listed = os.path.join(self.folder, "list.txt")
        black = numpy.zeros((8, 8), numpy.uint8)
        for i, name in enumerate(("x.png", "sub/x.png", "sub/deep/y")):
            os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
            Image.fromarray(black + i).save(os.path.join(self.folder, name), "PNG")
        self.link("sub/deep", os.path.join(self.folder, "hop"))
        with open(listed, "w") as file:
            file.write("hop/../x.png\nsub/deep/../x.png\nsub/../x.png\nhop/y\n")
        found = [int(self.sample(text, i, "--set", f"root={listed}")["label"]) for i in range(4)]
        self.assertEqual(found, [1, 1, 0, 2])

    def test_shards(self):
        self.picture(os.path.join(self.root, "cat", "1.jpg"))
        packed = os.path.join(self.folder, "packed")
        self.run_tool("pack", self.root, packed)
        shards = os.path.join(self.folder, "shards")
        self.link(os.path.join(packed, "000000.tar"), os.path.join(shards, "0.tar"))
        text = TEXT.replace("image_folder(root)", 'tar_shards(root, label = column("cls", i64))')
        run = [self.write(text), "--set", f"root={shards}"]
        self.assertIn(f"{shards}/0.tar is a link to {packed}/000000.tar, outside of the opened folders; "
                      f"`--allow {packed}` opens it", self.run_tool("run", *run, expect=1).stderr)
        self.run_tool("run", *run, "--allow", packed)
        os.remove(os.path.join(packed, "000000.tar"))
        self.assertIn("0.tar: No such file or directory", self.run_tool("run", *run, "--allow", packed, expect=1).stderr)


if __name__ == "__main__":
    main()
