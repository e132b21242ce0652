# SPDX-License-Identifier: Apache-2.0
"""Every function of penstock.h that was not there in 0.1 says since when it is, and no other does.

    since.py PENSTOCK_H EXPORTS EXPORTS_OF_0.1
"""
import re
import sys

header, exports, first = (open(path).read() for path in sys.argv[1:])
wrong = []
comment = ""
for text, name in re.findall(r"/\*(.*?)\*/|PST_API [^;]*?\b(pst_\w+)\(", header, re.S):
    if not name:
        comment = text
    elif (re.search(r"\b[Ss]ince \d+\.\d+\.", comment) is None) != (name in first.split()):
        wrong.append(f"{name}: " + ("was there in 0.1" if name in first.split() else "does not say since when it is there"))
wrong += [f"{name}: is not in the header" for name in exports.split() if f"{name}(" not in header]
print("\n".join(wrong) or "all functions say what they should")
sys.exit(bool(wrong))
