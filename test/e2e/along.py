"""Ops that read whole axes, through the compiler and the JIT, against NumPy."""
import numpy

from pipelines import LanguageTest
from support import main


class AlongTest(LanguageTest):
    def along(self, outputs, lets="", top="", position=0):
        """The outputs of a pipeline over a row with x: f32[h, w], k: i32[t, xyz], v: u8[h, w] and points: f32[p, xyz]."""
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        return self.sample(f"""{top}
pipeline test() {{
  for row in synthetic(20, x = f32[h = 5, w = 33], v = u8[h = 5, w = 33], wave = f32[t = 400],
                       points = f32[p = 0 ..= 40, xyz = 3], label = 0 .. 7) order sequential
  {lets}
  batch 5 per rank last drop {{
  {lines}
  }}
}}""", position)


class Sorting(AlongTest):
    def test_sort_is_a_stable_argsort_along_any_axis(self):
        found = self.along({"v": ("u8[n, h, w]", "row.v"), "a": ("i64[n, h, w]", "sort(row.v / 32, w)"),
                            "b": ("i64[n, h, w]", "sort(row.v / 32, h)"), "c": ("i64[n, h, w]", "sort(-row.x, w)"),
                            "x": ("f32[n, h, w]", "row.x"), "d": ("bool[n, h, w]", "row.v > 99"),
                            "e": ("i64[n, h, w]", "sort(row.v > 99, w)")})
        coarse = found["v"] // 32
        numpy.testing.assert_array_equal(found["a"], numpy.argsort(coarse, axis=1, kind="stable"))
        numpy.testing.assert_array_equal(found["b"], numpy.argsort(coarse, axis=0, kind="stable"))
        numpy.testing.assert_array_equal(found["c"], numpy.argsort(-found["x"], axis=1, kind="stable"))
        numpy.testing.assert_array_equal(found["e"], numpy.argsort(found["d"], axis=1, kind="stable"))

    def test_an_index_by_what_sort_gives_puts_in_order(self):
        found = self.along({"x": ("f32[n, h, w]", "row.x"), "a": ("f32[n, h, w]", "row.x[w = sort(row.x, w)]")})
        numpy.testing.assert_array_equal(found["a"], numpy.sort(found["x"], axis=1))


class Scans(AlongTest):
    def test_sums_maxima_and_recurrences_go_in_order(self):
        found = self.along({"x": ("f32[n, h, w]", "row.x"), "a": ("f32[n, h, w]", "scan_sum(row.x, w)"),
                            "b": ("f32[n, h, w]", "scan_max(row.x, h)"),
                            "c": ("f32[n, h, w]", "scan_linear(row.x, w, -0.97)")})
        x = found["x"]
        numpy.testing.assert_array_equal(found["a"], numpy.add.accumulate(x, axis=1, dtype=numpy.float32))
        numpy.testing.assert_array_equal(found["b"], numpy.maximum.accumulate(x, axis=0))
        expected, factor = numpy.zeros_like(x), numpy.float32(-0.97)
        for i in range(x.shape[1]):
            expected[:, i] = x[:, i] + (factor * expected[:, i - 1] if i else numpy.float32(0))
        numpy.testing.assert_array_equal(found["c"], expected)

    def test_a_recurrence_is_over_floats_with_a_factor_that_is_known(self):
        def text(value):
            return ("pipeline p() {\n  for row in synthetic(9, v = u8[t = 9], s = 0.0 .. 1.0)\n"
                    f"  batch 2 {{\n    output y: f32[n, t] = {value}\n  }}\n}}")
        self.refused(text("scan_linear(row.v, t, 0.5)"), "test.pipe:5:39: error: `scan_linear` takes floats, and this is "
                     "u8[t=9]", "hint: `f32(...)` converts")
        self.refused(text("scan_linear(f32(row.v), t, row.s)"), "test.pipe:5:54: error: the factor of a recurrence must be "
                     "known when compiling, and this differs from sample to sample")
        self.refused(text("f32(scan_sum(row.v > 2, t))"), "`scan_sum` takes numbers, and this is bool[t=9]")


if __name__ == "__main__":
    main()
