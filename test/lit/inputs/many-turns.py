# SPDX-License-Identifier: Apache-2.0
"""Prints views of views, each of which turns and moves the picture by numbers of the sample: many-turns.py COUNT."""
import sys

count, pixels = int(sys.argv[1]), "!pipe.tensor<u8[h=9, w=9]>"
print("#turn = affine_map<(d0, d1)[s0, s1, s2, s3] -> (d0 * s0 + d1 * s1 + s2, d0 * s1 + d1 * s0 + s3)>")
print(f"func.func @turns(%x0: {pixels}, %a: i64, %b: i64, %c: i64, %d: i64) -> {pixels} {{")
for k in range(count):
    print(f"  %x{k + 1} = pipe.view %x{k} by #turn[%a, %b, %c, %d] : {pixels} -> {pixels}")
print(f"  return %x{count} : {pixels}\n}}")
