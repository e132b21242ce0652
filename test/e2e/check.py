# SPDX-License-Identifier: Apache-2.0
"""penstock check --json: the whole report, and its description in docs/check.md."""
import glob
import json
import os
import re

from support import EXAMPLES, ROOT, ToolTest, main


class CheckJson(ToolTest):
    maxDiff = None

    def check(self, *arguments, expect=0):
        done = self.run_tool("check", *arguments, "--json", expect=expect)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout)

    def write(self, text, name="train.pipe"):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def message(self, path, where, text, **more):
        place = dict(zip(("line", "column", "end_line", "end_column"), where))
        return {"severity": "error", "file": path, **place, "message": text, "notes": [], "hint": None, **more}

    def test_examples_have_no_warnings(self):
        paths = [path for path in glob.glob(os.path.join(EXAMPLES, "**", "*.pipe"), recursive=True)
                 if os.path.basename(path) != "mistake.pipe"]
        self.assertGreater(len(paths), 40)
        for path in paths:
            with self.subTest(path):
                self.assertEqual(self.check(path)["messages"], [])

    def test_parameters_of_a_good_file(self):
        path = os.path.join(EXAMPLES, "imagenet_train.pipe")
        parameters = [
            {"name": "root", "type": "path", "kind": "run-time", "default": None, "doc": ""},
            {"name": "size", "type": "int", "kind": "static", "default": "224", "doc": ""},
            {"name": "per_rank", "type": "int", "kind": "run-time", "default": "256", "doc": ""}]
        self.assertEqual(self.check(path, "--set", "size=96"),
                         {"version": 1, "file": path, "ok": True, "pipeline": "imagenet_train", "messages": [],
                          "parameters": parameters})

    def test_all_messages_with_notes_and_hints(self):
        path = self.write("""pipe 1
pipeline p(count: int = 4) {
  for row in synthetic(8, x = u8[h = 3]) order sequential
  let a = row.x
  let a = row.y
  batch 2 { output x: u8[n, h] = aa }
}
""")
        self.assertEqual(self.check(path, expect=1), {
            "version": 1, "file": path, "ok": False, "pipeline": None, "parameters": [], "messages": [
                self.message(path, (5, 7, 5, 8), "`a` is already defined, as a value",
                             notes=[{"file": path, "line": 4, "column": 7, "end_line": 4, "end_column": 8,
                                     "message": "it is defined here"}],
                             hint="another name: names never hide each other"),
                self.message(path, (6, 34, 6, 36), "unknown name `aa`", hint="`a`")]})

    def test_warnings_do_not_make_a_file_bad(self):
        path = self.write("""pipe 1
pipeline p() {
  for row in synthetic(8, x = u8[h = 3]) order sequential
  batch 2 { output x: u8[n, h] = row.x /// nothing
  }
}
""")
        report = self.check(path)
        self.assertEqual((report["ok"], report["pipeline"]), (True, "p"))
        self.assertEqual([entry["severity"] for entry in report["messages"]], ["warning"])

    def test_messages_without_a_place(self):
        missing = os.path.join(self.folder, "nowhere.pipe")
        report = self.check(missing, expect=1)
        self.assertEqual((report["file"], report["ok"], report["pipeline"], report["parameters"]), (missing, False, None, []))
        text = f"cannot read {missing}: No such file or directory"
        self.assertEqual(report["messages"], [self.message(None, (), text)])
        report = self.check(os.path.join(EXAMPLES, "imagenet_train.pipe"), "--target", "z80", expect=1)
        self.assertIn("unknown target `z80`", report["messages"][0]["message"])

    def test_any_bytes(self):
        path = self.write(b"pipe 1\nconst a = \xff\xc3( \x00\n")
        self.assertFalse(self.check(path, expect=1)["ok"])

    def test_the_description_is_true(self):
        with open(os.path.join(ROOT, "docs", "check.md")) as file:
            page = file.read()
        shown = json.loads(re.search(r"```json\n(.*?)```", page, re.S)[1])
        path = self.write("""pipe 1
use vision
pipeline train(root: path) {
  for row in image_folder(root) order shuffled
  let pixels = row.data |> decode(rgb)
    |> random_resized_crop(224)
    |> flip(ww) if chance(0.5)
  batch 64 per rank last drop { output image: u8[n, c, h, w] = pixels }
}
""")
        found = self.check(path, expect=1)
        self.assertEqual(json.loads(json.dumps(found).replace(path, "train.pipe")), shown)
        table = set(re.findall(r"`(?:\w+\[\]\.)?(\w+)`", "\n".join(line.split("|")[1] for line in page.splitlines()
                                                                   if line.startswith("| `"))))
        fields = set(shown) | set(shown["messages"][0]) | set(self.check(os.path.join(EXAMPLES, "cifar_train.pipe"))["parameters"][0])
        self.assertEqual(table, fields)


if __name__ == "__main__":
    main()
