# SPDX-License-Identifier: Apache-2.0
"""penstock ops: every operator is there, described and found; the words of its pages are those of the language."""
import json
import os
import re

from support import ROOT, ToolTest, main


def read(*names):
    with open(os.path.join(ROOT, *names)) as file:
        return file.read()


class Ops(ToolTest):
    def ops(self, *words):
        return json.loads(self.run_tool("ops", *words, "--json").stdout)

    def test_an_operator_is_shown_whole(self):
        text = self.run_tool("ops", "flip").stdout
        self.assertTrue(text.startswith("flip (function, use vision)\n  flip("), text)
        self.assertIn("flip(x: E[a], a: axis) -> E[a], E: u8 ", text)
        self.assertIn("\n  Boxes move with their image: x and width - x change places.\n  Reverses the order along an axis.\n", text)
        self.assertRegex(text, r"\n  examples/\w+\.pipe:\d+: \|> flip\(w\) if chance\(0.5\)\n")
        self.assertIn("\n  x |> flip(a)\n", text)
        text = self.run_tool("ops", "reverse").stdout
        self.assertTrue(text.startswith("reverse (intrinsic, always there)\n  reverse(x, a)\n\n  the elements along `a`"), text)

    def test_words_are_searched_in_names_and_comments(self):
        text = self.run_tool("ops", "blur").stdout
        self.assertIn("\n  box_blur", "\n" + text)
        lines = self.run_tool("ops", "Torchvision", "crop").stdout.splitlines()
        self.assertEqual(lines[0], "vision")
        self.assertTrue(any(line.startswith("  random_resized_crop ") for line in lines))
        self.assertFalse(any("flip" in line for line in lines))
        self.assertEqual({entry["module"] for entry in self.ops("signal")}, {"signal"})

    def test_a_search_without_an_answer(self):
        done = self.run_tool("ops", "frobnicate", expect=1)
        self.assertEqual((done.stdout, done.stderr),
                         ("", "penstock: no operator has `frobnicate` in its name or description\nhint: `penstock ops` lists all\n"))

    def test_what_a_module_offers_is_listed_and_nothing_else(self):
        wanted, kept = set(), set()
        for name in os.listdir(os.path.join(ROOT, "stdlib")):
            if name.endswith(".pipe"):
                text = read("stdlib", name)
                wanted |= {(name[:-5], found) for found in re.findall(r"^pub (?:fn|const) (\w+)", text, re.M)}
                private = re.findall(r"^(?:fn|const) (\w+)", text, re.M)
                kept |= {(name[:-5], found) for found in private}
                unused = [found for found in private if len(re.findall(rf"\b{found}\b", text)) < 2]
                self.assertEqual(unused, [], f"{name}: kept to itself, and never used")
        self.assertLessEqual({("vision", "in_steps"), ("vision", "round15"), ("vision", "hue_of")}, kept)
        listed = [(entry["module"], entry["name"]) for entry in self.ops()]
        self.assertEqual({entry for entry in listed if entry[0] != "intrinsics"}, wanted)
        self.assertEqual(len(listed), len(set(listed)))
        plain = self.run_tool("ops").stdout
        for module, name in listed:
            self.assertIn(f"\n  {name} ", plain)

    def test_every_operator_has_a_description_and_a_signature(self):
        bare = [f'{entry["module"]}: {entry["name"]}' for entry in self.ops()
                if not entry["doc"] or not entry["signatures"] or not entry["usage"]]
        self.assertEqual(bare, [])

    def test_the_signature_says_what_the_text_says(self):
        found = {entry["name"]: entry for entry in self.ops()}
        self.assertEqual(found["box_blur"]["signatures"], ["box_blur(x: u8[h, w], radius: int = 1) -> u8[h, w]"])
        self.assertEqual(found["box_blur"]["usage"], "x |> box_blur")
        self.assertEqual(found["center_crop"]["usage"], "x |> center_crop(height, width)")
        self.assertEqual((found["normal"]["kind"], found["normal"]["usage"]), ("draw", "draw normal"))
        self.assertRegex(found["imagenet"]["signatures"][0], r"^imagenet: { mean: f32\[c\], std: f32\[c\]")


if __name__ == "__main__":
    main()
