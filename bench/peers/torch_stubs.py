# SPDX-License-Identifier: Apache-2.0
"""Lets the CUDA build of torch import on a machine without CUDA.

The registry's default torch is the CUDA build and links a dozen NVIDIA
libraries (several GB). Peers here run on the CPU only, so each such library is
replaced by a stand-in whose functions all return 100 (cudaErrorNoDevice):
torch.cuda.is_available() is then False and nothing else changes.

    torch_stubs.py SITE_PACKAGES
"""

import pathlib
import re
import subprocess
import sys
import tempfile

# Libraries that every Debian has; these are never replaced.
SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|libgomp|ld-linux.*"
                    r"|libz|libutil|libgfortran|libquadmath)\.so")
CUDA_NAME = re.compile(r"(cu|nccl|nvrtc|nvshmem|nvtx|nvJit|__cuda|nvjit|nvml|__nv)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(library):
    return re.findall(r"NEEDED\s+(\S+)", output("objdump", "-p", library))


def required_versions(library):
    """Library name -> the symbol versions asked of it."""
    versions, current = {}, None
    _, _, text = output("objdump", "-p", library).partition("Version References:")
    for line in text.splitlines():
        match = re.match(r"\s+required from (\S+):", line)
        if match:
            current = match.group(1)
        elif current and line.strip():
            versions.setdefault(current, set()).add(line.split()[-1])
    return versions


def symbols(library):
    """Undefined names with their version ("" for none), and defined names."""
    undefined, defined = {}, set()
    for line in output("nm", "-D", library).splitlines():
        words = line.split()
        name, _, version = words[-1].partition("@")
        if len(words) == 2 and words[0] == "U":
            undefined.setdefault(name, version.lstrip("@"))
        elif len(words) == 3:
            defined.add(name)
    return undefined, defined


def write_stub(path, functions, versions):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "stub.c"
        source.write_text("\n".join(f"int {f}(void) {{ return 100; }}" for f in functions)
                          or "int stub_without_functions(void) { return 100; }")
        command = ["cc", "-shared", "-fPIC", "-O1", "-fno-builtin", "-w", "-o", str(path),
                   f"-Wl,-soname,{path.name}", str(source)]
        if versions:
            script = pathlib.Path(folder) / "stub.map"
            script.write_text("\n".join(
                f"{version} {{ global: {' '.join(f'{f};' for f in functions if functions[f] == version)} }};"
                for version in sorted(versions)))
            command.append(f"-Wl,--version-script={script}")
        subprocess.run(command, check=True)


def main(site_packages):
    folder = pathlib.Path(site_packages) / "torch/lib"
    marker = folder / "penstock-stubs.txt"
    if marker.exists():
        return
    libraries = [str(p) for p in sorted(folder.glob("*.so*")) + sorted(folder.parent.glob("*.so"))
                 if p.read_bytes()[:4] == b"\x7fELF"]
    own = {pathlib.Path(p).name for p in libraries}
    wanted, versions, undefined, defined = {}, {}, {}, set()
    for library in libraries:
        for name in needed(library):
            if name not in own and not SYSTEM.match(name):
                wanted[name] = None
        for name, asked in required_versions(library).items():
            versions.setdefault(name, set()).update(asked)
        names, present = symbols(library)
        for name, version in names.items():
            undefined.setdefault(name, version)
        defined |= present
    cuda = {n: v for n, v in undefined.items() if n not in defined and CUDA_NAME.match(n)}
    for index, name in enumerate(wanted):
        mine = {n: v for n, v in cuda.items() if v and v in versions.get(name, ())}
        if index == 0:  # unversioned names may come from any library
            mine.update({n: v for n, v in cuda.items() if not v})
        write_stub(folder / name, mine, versions.get(name))
    marker.write_text("\n".join(wanted) + "\n")
    print(f"torch_stubs: {len(wanted)} stand-ins with {len(cuda)} functions")


if __name__ == "__main__":
    main(sys.argv[1])
