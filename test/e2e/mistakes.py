# SPDX-License-Identifier: Apache-2.0
"""How many different mistakes have their messages pinned whole, by class.

A mistake is one message, whatever names and numbers stand in it. They are pinned in test/dsl/mistakes/CLASS (text
beside the file), test/lit/Import/errors/CLASS and test/lit/Run/errors/CLASS (in the file itself).
"""
import collections
import os
import re
import unittest

from support import ROOT, main

CLASSES = ("lexical", "syntax", "names", "types", "extents", "draws", "sources", "outputs")
MESSAGE = re.compile(r"^(?:\S+:\d+:\d+|penstock): (error|warning|note): (.*)$")


def pinned_lines(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if path.endswith(".txt"):
        return text.splitlines()
    pins = re.findall(r"^// CHECK(?:-NEXT|-EMPTY|-SAME)?:(.*)$", text, re.M)
    return [re.sub(r":\{\{[^}]*\}\}:", ":1:1:", pin) for pin in pins]


def messages(path):
    """Each message with the number of its notes; names and numbers are left out."""
    found = []
    for line in pinned_lines(path):
        match = MESSAGE.match(line)
        if match and match[1] == "note":
            found[-1][1] += 1
        elif match:
            found.append([re.sub(r"`[^`]*`|\d+", "_", match[2]), 0])
    return found


class Mistakes(unittest.TestCase):
    def test_every_class_has_enough_of_them(self):
        kinds, noted = collections.defaultdict(set), set()
        for folder in ("test/dsl/mistakes", "test/lit/Import/errors", "test/lit/Run/errors"):
            for where, _, files in os.walk(os.path.join(ROOT, folder)):
                cls = os.path.basename(where)
                for name in files:
                    if not name.endswith(".txt" if "dsl" in folder else ".pipe"):
                        continue
                    self.assertIn(cls, CLASSES, f"{where}/{name}")
                    found = messages(os.path.join(where, name))
                    self.assertTrue(found, f"no message in {where}/{name}")
                    for message, notes in found:
                        kinds[cls].add(message)
                        if notes:
                            noted.add(message)
        for cls in CLASSES:
            print(f"{cls:8} {len(kinds[cls]):3}")
            self.assertGreaterEqual(len(kinds[cls]), 8, cls)
        every = set().union(*kinds.values())
        print(f"{'all':8} {len(every):3}, with a note at another place {len(noted)}")
        self.assertGreaterEqual(len(every), 60)
        self.assertGreaterEqual(len(noted), 15)


if __name__ == "__main__":
    main()
