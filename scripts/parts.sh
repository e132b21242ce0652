# Parts shared by scripts/test and scripts/soak. Sourced, in the root of the tree.
jobs=$(nproc)

# Vectors cross between parts that are instrumented and those that are not (LLVM,
# and by default the compiler), and so does the memory of LLVM's allocators: what one
# marks as free, the other may have filled.
export ASAN_OPTIONS=detect_container_overflow=0:allow_user_poisoning=0:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1

build_part() { # folder below build/, preset, configure arguments; of it all, or $targets
  local folder=$1 preset=$2
  shift 2
  mkdir -p build
  cmake --preset "$preset" -B "build/$folder" "$@" >"build/configure-$folder.log" 2>&1 ||
    { cat "build/configure-$folder.log"; return 1; }
  cmake --build "build/$folder" -j "$jobs" ${targets:+--target $targets} 2>&1 | grep -vE '^\[[0-9]+/[0-9]+\]' || [ "${PIPESTATUS[0]}" -eq 0 ]
}

test_part() { # folder below build/, tests (a regular expression), arguments of ctest
  local folder=$1 tests=$2
  shift 2
  ctest --test-dir "build/$folder" --output-on-failure -j "$jobs" --no-tests=error -R "$tests" "$@"
}

# Everything but the passes of MLIR itself; the objects of compiler/ are those of the
# release build, from its cache.
everything=(-DPENSTOCK_COMPILER=ON "-DPENSTOCK_PARTS=dsl;runtime;compiler;codegen;stdlib;api;tools;test"
  "-DPENSTOCK_UNIT_TESTS=abi;dsl;compiler;codegen;runtime;sched;stdlib")

# The tree with planted faults (test/mutants), in build/mutants/tree. Both take what
# plant.py calls a choice: what is planted has to be compiled again, and only what the tests of
# the choice start is.
build_mutants() {
  local targets
  /usr/bin/python3 test/mutants/plant.py build/mutants/tree "$@"
  targets=$(/usr/bin/python3 test/mutants/plant.py --targets "$@")
  (cd build/mutants/tree && build_part release release "-DPENSTOCK_TESTS=fakes;unit;lit;differential;e2e;parity")
}
run_mutants() {
  /usr/bin/python3 test/mutants/run.py build/mutants/tree/build/release "$@" &&
    /usr/bin/python3 test/mutants/shrink.py build/mutants/tree/build/release
}

# The C API without a compiler of its own: what is compiled, the release build compiles.
with_release_compiler=(-DPENSTOCK_COMPILER=OFF "-DPENSTOCK_PARTS=dsl;runtime;codegen;stdlib;api;test"
  "-DPENSTOCK_COMPILER_FILE=$PWD/build/release/api/c/libpenstock-compiler.so")

# The threads: all are the runtime's, and those of the C API's callers.
threads() {
  build_part tsan tsan "${with_release_compiler[@]}" \
    "-DPENSTOCK_TESTS=unit;api" "-DPENSTOCK_UNIT_TESTS=abi;runtime;sched"
  test_part tsan '^(unit\.|api\..*_run$)'
}
