# SPDX-License-Identifier: Apache-2.0
"""Prints a kernel of pads, one behind the other: many-pads.py COUNT AXIS BORDER."""
import sys

count, axis, border = int(sys.argv[1]), sys.argv[2], sys.argv[3]


def extents(number):
    rows, columns = (9 + 2 * number, 200) if axis == "h" else (9, 200 + 2 * number)
    return f"<u8[h={rows}, w={columns}]>"


fill = " fill(%zero : ui8)" if border == "constant" else ""
print(f'pipe.kernel @k "pixels" {{\n^bb0(%x0: !pipe.tensor{extents(0)}, %low: i64):\n  %zero = pipe.constant 0 : ui8 -> ui8')
for k in range(count):
    print(f'  %x{k + 1} = pipe.pad {border} %x{k} over ["{axis}"] low(%low){fill} : {extents(k)} -> {extents(k + 1)}')
print(f"  pipe.return %x{count} : !pipe.tensor{extents(count)}\n}}")
