#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants faults: writes a copy of the tree whose sources contain mutants.

    plant.py FOLDER [CHOICE]  makes or updates the copy; unchanged files are links
    plant.py --check          only looks whether every mutant still has its place
    plant.py --targets CHOICE prints what run.py and shrink.py need of the copy: what to build

CHOICE is names, or `--some 8 --by TEXT`: eight, chosen by the text (a commit); else
all. What shrink.py repeats is planted with every choice.

A mutant is told by its name in the environment variable PENSTOCK_MUTANT; without
one, the copy is the program as it is. The sources themselves know nothing of it.
"""
import argparse
import hashlib
import os
import re
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHRUNK = "weight-center-at-the-edge"  # the one that shrink.py repeats

# The programs that a test of parity takes.
PARITY = {"formats": ["test/parity/decode-image"], "joined": ["test/parity/decode-video", "test/parity/remux-video"],
          "damage": ["test/parity/decode-video", "test/parity/remux-video"], "starts": ["test/parity/decode-video", "test/parity/remux-video"],
          "library": ["test/parity/reference-sample"], "packets": ["test/parity/decode-sound"], "sound": ["test/parity/decode-sound"],
          "exhausted": ["test/parity/decode-video", "test/parity/decode-sound", "test/parity/decode-image", "test/parity/librefuse.so",
                        "tools/penstock/penstock"],
          "unseen": ["tools/penstock/penstock", "test/parity/reference-sample"], "video": ["test/parity/decode-video"]}

# Ninja's targets for the programs that tests of a kind start; shrink.py starts the first, too.
ALWAYS = ["tools/all", "api/all", "runtime/all", "penstock-differential"]
NEEDED = {"e2e": ["test/e2e/all", "test/fakes/all"], "parity": ["test/parity/all"]}

PRELUDE = """#include <cstdlib>
#include <cstring>
[[maybe_unused]] static bool %s(const char *name) {
  const char *chosen = std::getenv("PENSTOCK_MUTANT");
  return chosen && std::strcmp(chosen, name) == 0;
}
#line 1 "%s"
"""


class Mutant:
    def __init__(self, name, tests, path, old, new):
        self.name, self.tests, self.path, self.old, self.new = name, tests, path, old, new


def read_mutants():
    """All of *.mutants, in the order of the files."""
    mutants = []
    for file in sorted(os.listdir(HERE)):
        if not file.endswith(".mutants"):
            continue
        with open(os.path.join(HERE, file)) as stream:
            blocks = re.split(r"^\[", stream.read(), flags=re.MULTILINE)[1:]
        for block in blocks:
            head, path, *lines = [line for line in block.splitlines() if line]
            name, tests = head.split("]")
            old, new = (" ".join(line[2:] for line in lines if line.startswith(sign)) for sign in "-+")
            mutants.append(Mutant(name, [test.strip() for test in tests.split(";")], path, old, new))
    names = [mutant.name for mutant in mutants]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"two mutants are called {name}")
    return mutants


def demand_test(mutant, test):
    """Ends with a message where what a mutant names is no test."""
    kind, *rest = shlex.split(test)
    file = {"lit": "test/lit/{}", "e2e": "test/e2e/{}.py", "parity": "test/parity/{}.py", "python": "test/python/{}.py"}.get(kind)
    name = rest[0] if rest else "library" if kind == "parity" else None
    if kind == "parity" and name not in PARITY:
        sys.exit(f"mutant {mutant.name}: nothing says which programs `{test}` takes; say it in plant.py")
    if file and not (name and os.path.exists(os.path.join(ROOT, file.format(name)))):
        sys.exit(f"mutant {mutant.name}: there is no test `{test}`")
    if not file and kind not in ("code", "passes", "unit"):
        sys.exit(f"mutant {mutant.name}: there is no kind of test `{kind}`")


def add_choice(parser):
    parser.add_argument("names", nargs="*")
    parser.add_argument("--some", type=int)
    parser.add_argument("--by", default="")


def choose(arguments):
    mutants = read_mutants()
    if arguments.names:
        chosen = [mutant for mutant in mutants if mutant.name in arguments.names]
        if len(chosen) != len(arguments.names):
            sys.exit("there is no mutant of one of these names")
        return chosen
    if arguments.some:
        rank = lambda mutant: hashlib.sha256((arguments.by + mutant.name).encode()).digest()
        return sorted(mutants, key=rank)[:arguments.some]
    return mutants


def targets_of(mutants):
    """Ninja's targets that these mutants need."""
    kinds = [shlex.split(test) for mutant in mutants for test in mutant.tests]
    return sorted({*ALWAYS, *(words[1] for words in kinds if words[0] == "unit"),
                   *(target for words in kinds for target in NEEDED.get(words[0], []))})


def place_of(mutant, text):
    """The span of the old text, whatever its layout."""
    pattern = r"\s*".join(map(re.escape, re.findall(r"\w+|[^\w\s]", mutant.old)))
    found = list(re.finditer(pattern, text))
    if len(found) != 1:
        sys.exit(f"mutant {mutant.name}: its text occurs {len(found)} times in {mutant.path}, not once:\n"
                 f"  {mutant.old}\nadapt it in test/mutants, to the text as it is now")
    return found[0].span()


def planted(path, mutants):
    with open(os.path.join(ROOT, path)) as stream:
        text = stream.read()
    places = sorted((place_of(mutant, text), mutant) for mutant in mutants)
    for (before, after) in zip(places, places[1:]):
        if before[0][1] > after[0][0]:
            sys.exit(f"mutants {before[1].name} and {after[1].name} change the same text")
    chosen = "chosen_in_" + re.sub(r"\W", "_", path) # several files may be compiled together
    for (begin, end), mutant in reversed(places):
        lines = text[begin:end].count("\n")  # so that places in messages stay right
        new = re.sub(r"\bMUTANT\b", f'{chosen}("{mutant.name}")', mutant.new)
        text = text[:begin] + new + "\n" * lines + text[end:]
    return PRELUDE % (chosen, path) + text


def put(path, text):
    """Leaves a file alone that has this text already: it need not be compiled again."""
    if os.path.islink(path):
        os.remove(path)
    if os.path.exists(path):
        with open(path) as stream:
            if stream.read() == text:
                return
    with open(path, "w") as stream:
        stream.write(text)


def link(source, path):
    if os.path.islink(path) and os.readlink(path) == source:
        return
    if os.path.lexists(path):
        os.remove(path)
    os.symlink(source, path)


def plant(folder, mutants):
    by_path = {}
    for mutant in mutants:
        by_path.setdefault(mutant.path, []).append(mutant)
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            check=True, capture_output=True, text=True).stdout.splitlines()
    for path in listed:
        source, target = os.path.join(ROOT, path), os.path.join(folder, path)
        if not os.path.isfile(source):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if path in by_path:
            put(target, planted(path, by_path[path]))
        else:
            link(source, target)


def main():
    mutants = read_mutants()
    if sys.argv[1:] == ["--check"]:
        for path in sorted({mutant.path for mutant in mutants}):
            planted(path, [mutant for mutant in mutants if mutant.path == path])
        for mutant in mutants:
            for test in mutant.tests:
                demand_test(mutant, test)
        print(f"{len(mutants)} mutants have their places and tests")
        return
    parser = argparse.ArgumentParser(usage=__doc__)
    if "--targets" in sys.argv:
        parser.add_argument("--targets", action="store_true")
        add_choice(parser)
        print(*targets_of(choose(parser.parse_args())))
        return
    parser.add_argument("folder")
    add_choice(parser)
    arguments = parser.parse_args()
    chosen = {mutant.name for mutant in choose(arguments)} | {SHRUNK}
    plant(os.path.abspath(arguments.folder), [mutant for mutant in mutants if mutant.name in chosen])


if __name__ == "__main__":
    main()
