# SPDX-License-Identifier: Apache-2.0
"""api/python/penstock/_c.py has what penstock.h has: sizes and offsets of structs, functions and their arguments."""
import ctypes
import pathlib
import re
import subprocess
import tempfile
import unittest

from penstock import _c

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = re.sub(r"/\*.*?\*/", "", (ROOT / "api/c/penstock.h").read_text(), flags=re.S)
# Structs that the package does not use: of the command line, and of programs that draw pictures.
UNUSED_STRUCTS = {"pst_prepare_options", "pst_kernel_statistics"}


def told_by_c(expressions):
    lines = "".join(f'printf("%zu\\n", (size_t)({expression}));' for expression in expressions)
    program = f'#include "api/c/penstock.h"\n#include <stdio.h>\nint main(void) {{ {lines} return 0; }}'
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["cc", "-x", "c", "-std=c99", "-I", ROOT, "-o", f"{folder}/layout", "-"], input=program, text=True,
                       check=True)
        return [int(line) for line in subprocess.run([f"{folder}/layout"], capture_output=True, text=True,
                                                     check=True).stdout.split()]


class Layout(unittest.TestCase):
    def test_structs_have_the_layout_of_the_header(self):
        expressions, expected = [], []
        for name, struct in _c.STRUCTS.items():
            expressions.append(f"sizeof({name})")
            expected.append(ctypes.sizeof(struct))
            for field, *_ in struct._fields_:
                expressions.append(f"offsetof({name}, {field.rstrip('_')})")
                expected.append(getattr(struct, field).offset)
                expressions.append(f"sizeof((({name} *)0)->{field.rstrip('_')})")
                expected.append(getattr(struct, field).size)
        for expression, told, ours in zip(expressions, told_by_c(expressions), expected):
            self.assertEqual(told, ours, expression)

    def test_no_struct_and_no_field_is_missing(self):
        bodies = dict((name, body) for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", HEADER, re.S))
        self.assertEqual(set(bodies) - UNUSED_STRUCTS, set(_c.STRUCTS))
        for name, struct in _c.STRUCTS.items():
            fields = re.findall(r"(\w+)(?:\[\w+\])?;", bodies[name])
            self.assertEqual([field.rstrip("_") for field, *_ in struct._fields_], fields, name)

    def test_functions_have_the_arguments_of_the_header(self):
        declared = dict(re.findall(r"PST_API [\w *]*?\bpst_(\w+)\(([^)]*)\)", HEADER))
        self.assertLess(set(_c.FUNCTIONS), set(declared))
        for name, (_, arguments) in _c.FUNCTIONS.items():
            text = declared[name].strip()
            self.assertEqual(len(arguments), 0 if text == "void" else text.count(",") + 1, name)

    def test_constants_are_those_of_the_header(self):
        names = ["OK", "ERROR", "END_OF_EPOCH", "CANCELLED", "TIMEOUT", "NO_ROWS", "HELD_ERROR", "HELD_GROW", "LAST_PIPELINE",
                 "LAST_DROP", "LAST_KEEP", "LAST_PAD", "VALUES", "OFFSETS"]
        self.assertEqual(told_by_c([f"PST_{name}" for name in names]), [getattr(_c, name) for name in names])
        from penstock.outputs import DTYPES
        self.assertEqual(told_by_c([f"PST_{name.upper()}" for name in DTYPES.values()]), list(DTYPES))


if __name__ == "__main__":
    unittest.main()
