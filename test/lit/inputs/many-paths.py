# SPDX-License-Identifier: Apache-2.0
"""Prints a kernel whose steps read the channels of the pixel that the step before made:
many-paths.py STEPS TOP. There are 3^STEPS paths through it. TOP stands above the last step."""
import sys

steps, top = int(sys.argv[1]), sys.argv[2]
element, scalar = ("u8", "ui8") if top == "bytes" else ("f32", "f32")
pixels, channel = f"!pipe.tensor<{element}[w=64, c=3]>", f"!pipe.tensor<{element}[w=64]>"

print(f'pipe.kernel @k "pixels" {{\n^bb0(%x0: {pixels}, %step: i64, %start: i64):')
for k in range(steps):
    x = f"%x{k}"
    for c in (0, 2):
        print(f"  %c{k}_{c} = pipe.view {x} by affine_map<(d0) -> (d0, {c})> [] : {pixels} -> {channel}")
    print(f"""  %x{k + 1} = pipe.map ({x}, %c{k}_0, %c{k}_2) : ({pixels}, {channel}, {channel}) -> {pixels} {{
  ^bb0(%p: {scalar}, %q: {scalar}, %r: {scalar}, %w: i64, %c: i64):
    %s = pipe.binary add %p, %q : {scalar}
    %t = pipe.binary sub %s, %r : {scalar}
    pipe.yield %t : {scalar}
  }}""")
last, result = f"%x{steps}", pixels
if top == "flip":  # one way or the other: decided when running
    print(f"  %y = pipe.view {last} by affine_map<(d0, d1)[s0, s1] -> (d0 * s0 + s1, d1)> [%step, %start]"
          f" : {pixels} -> {pixels}")
elif top == "pad":
    result = pixels.replace("64", "80")
    print("  %zero = pipe.constant 0.0 : f32 -> f32")
    print(f'  %y = pipe.pad constant {last} over ["w"] low(%start) fill(%zero : f32) : {pixels} -> {result}')
elif top.startswith("sum-"):
    axis = top.split("-")[1]
    result = f"!pipe.tensor<f32[{'c=3' if axis == 'w' else 'w=64'}]>"
    print(f'  %y = pipe.reduce sum {last} over ["{axis}"] : {pixels} -> {result}')
else:
    result, last = pixels, last
print(f"  pipe.return {'%y' if top in ('flip', 'pad') or top.startswith('sum-') else last} : {result}\n}}")
