# SPDX-License-Identifier: Apache-2.0
"""Rows that are picked, some of which are bad: what goes together is replaced together, and says where it stands."""
import os

from pipelines import LanguageTest
from support import main

ROWS = 40


class Picks(LanguageTest):
    """Tables `v` of whole numbers, whose row i holds i; those in `bad` hold nothing."""

    def table(self, name, bad=(), rows=ROWS):
        path = os.path.join(self.folder, name + ".csv")
        with open(path, "w") as file:
            file.write("v,z\n" + "".join(f"{'' if i in bad else i},{i}\n" for i in range(rows)))
        return path

    def delivered(self, lets, outputs, positions=ROWS, batch="", size=1, **tables):
        """By sample {output: number}."""
        outputs = {"v": "row.v", **outputs}
        given = [word for name, path in tables.items() for word in ("--set", f"{name}_list={path}")]
        lines = "\n".join(f"output {name}: i64[n] = {value}" for name, value in outputs.items())
        text = f"""pipeline p({", ".join(f"{name}_list: path" for name in tables)}) with on_error = substitute(100%) {{
  {" ".join(f"let of_{name} = csv({name}_list, v = i64, z = i64)" for name in tables if name != "list")}
  for row in csv(list_list, v = i64, z = i64) order shuffled
  {lets}
  batch {size} per rank last keep {{ {batch}
  {lines} }}
}}"""
        path = self.write(text)
        self.report = self.run_json("run", path, *given)
        return [{name: int(value) for name, value in self.sample(text, position, *given).items()} for position in range(positions)]

    def test_pairs_stay_together(self):
        bad = {i for i in range(ROWS) if i % 4 == 0}
        found = self.delivered("let at = draw int(0 .. of_a.length) let a = pick(of_a, at) let b = pick(of_b, at) let c = pick(of_b, a.index)",
                               {"a": "a.v", "b": "b.v", "c": "c.v", "at": "at", "i": "a.index", "j": "b.index", "k": "c.index"},
                               list=self.table("list"), a=self.table("a", bad), b=self.table("b", {5}))
        for one in found:
            self.assertEqual({one[name] for name in "abcijk"}, {one["a"]}, one)
            self.assertNotIn(one["a"], bad | {5})
            if one["at"] not in bad | {5}:
                self.assertEqual(one["at"], one["a"])
        self.assertGreater(sum(one["at"] in bad for one in found), 3)

    def test_neighbours_stay_neighbours(self):
        found = self.delivered("let at = draw int(0 .. of_a.length) let a = pick(of_a, at) let b = pick(of_a, (at + 1) % of_a.length)",
                               {"a": "a.v", "b": "b.v", "at": "at"}, list=self.table("list"), a=self.table("a", set(range(0, ROWS, 5))))
        for one in found:
            self.assertEqual(one["b"], (one["a"] + 1) % ROWS, one)
        self.assertGreater(sum(one["at"] != one["a"] for one in found), 5)

    def test_numbers_that_double_are_made_once(self):
        """Of places of picked rows, which stand for what was asked for in the number of another pick."""
        lets = "".join(f"let d{i} = (d{i - 1} + d{i - 1}) % 1000\n" for i in range(1, 60))
        found = self.delivered(f"let a = pick(of_a, draw int(0 .. of_a.length))\nlet d0 = a.index\n{lets}let b = pick(of_a, d59 % of_a.length)",
                               {"a": "a.v", "b": "b.v"}, positions=8, list=self.table("list"), a=self.table("a"))
        for one in found:
            self.assertEqual(one["b"], one["a"] * 2 ** 59 % 1000 % ROWS)

    def test_what_is_drawn_apart_stays(self):
        def picks(bad):
            return self.delivered("let a = pick(of_a, draw int(0 .. of_a.length)) let b = pick(of_a, draw int(0 .. of_a.length))",
                                  {"a": "a.v", "b": "b.v"}, list=self.table("list"), a=self.table("a", bad))
        bad = {1, 2, 3, 30, 31}
        replaced = 0
        for whole, one in zip(picks(()), picks(bad)):
            self.assertEqual(whole["v"], one["v"])
            for name in "ab":
                self.assertEqual(whole[name] == one[name], whole[name] not in bad)
                replaced += whole[name] in bad
        self.assertGreater(replaced, 4)

    def test_none_comes_twice(self):
        """Four of five rows are bad: eight others are tried."""
        good = {3, 4, 10}
        found = self.delivered("let a = pick(of_a, draw int(0 .. of_a.length))", {"a": "a.v"}, list=self.table("list"),
                               a=self.table("a", set(range(11)) - good, rows=11))
        self.assertLessEqual({one["a"] for one in found}, good)
        tried = {}
        for bad in self.report["bad_samples"]:
            tried.setdefault(bad["position"], [bad["row"]]).append(bad["substitute"])
        for rows in tried.values():
            self.assertEqual(len(set(rows)), len(rows))

    def test_a_row_of_the_batch_is_replaced_for_all(self):
        tables = {"list": self.table("list"), "b": self.table("b", set(range(0, ROWS, 3)))}
        batch = "let q = pick(of_b, draw int(0 .. of_b.length)) let p = pick(of_b, 6)"
        found = self.delivered("", {"q": "q.v", "i": "q.index", "p": "p.v"}, batch=batch, size=5, **tables)
        for first in range(0, ROWS, 5):
            self.assertEqual(len({(one["q"], one["p"]) for one in found[first:first + 5]}), 1)
        for one in found:
            self.assertEqual(one["q"], one["i"])
            self.assertTrue(one["q"] % 3 and one["p"] % 3)
        self.assertGreater(len({one["q"] for one in found}), 3)
        # Each is told once for a batch, by its first sample.
        self.assertTrue(all(bad["position"] % 5 == 0 for bad in self.report["bad_samples"]))
        self.assertGreaterEqual(len(self.report["bad_samples"]), ROWS // 5)


if __name__ == "__main__":
    main()
