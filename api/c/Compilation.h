// SPDX-License-Identifier: Apache-2.0
//
// The interface between libpenstock and the compiler's library.
#pragma once

#include "api/c/Program.h"
#include <string_view>

namespace penstock::api {

/// The stages, in order; the names are those of `--emit`. The stages of GPUs
/// follows from `kernels`.
enum class Stage {
  ast,
  pipe,
  pipeOpt,
  kernels,
  schedule,
  loops,
  llvm,
  assembly,
  object,
  cuda,
  ptx,
  cubin
};

inline constexpr std::string_view stageNames[] = {"ast",      "pipe",  "pipe-opt", "kernels",
                                                  "schedule", "loops", "llvm",     "asm",
                                                  "obj",      "cuda",  "ptx",      "cubin"};

inline std::optional<Stage> stageNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(stageNames); ++i)
    if (stageNames[i] == name)
      return static_cast<Stage>(i);
  return std::nullopt;
}

/// One compilation. The request must outlive it.
class Compilation {
public:
  virtual ~Compilation() = default;

  /// Parses, checks and imports (or reads MLIR). False after errors.
  virtual bool load() = 0;
  /// Brings the module to a stage, of the CPU's at most to `llvm`. False after errors.
  virtual bool advance(Stage stage) = 0;
  /// Text (or an object file) of a stage that has been reached.
  /// `architecture`: of a GPU, for `ptx` and `cubin`.
  virtual std::optional<std::string> print(Stage stage, const std::string &architecture) = 0;
  /// The remarks of the passes, in words, in the order of the pipeline.
  virtual std::string explain() = 0;
  /// The JSON of pst_program_overview().
  virtual std::string overview() = 0;
  /// The JSON of pst_program_transfers(), before the module is at `kernels`; nothing after errors.
  virtual std::optional<std::string> transfers() = 0;
  /// The plan, once the module is at `llvm`: the result of finish(), without code.
  virtual const std::vector<uint8_t> &plan() const = 0;
  /// Plan and code; the module must be at `llvm`.
  virtual std::optional<Compiled> finish() = 0;

  /// The name of the pipeline, once loaded.
  virtual const std::string &pipelineName() const = 0;
  virtual Messages messages() const = 0;
  virtual const std::vector<Parameter> &parameters() const = 0;
};

/// Text that needs no compilation, or why there is none.
struct Written {
  std::optional<std::string> text;
  Messages messages;
};

} // namespace penstock::api

/// Entry points of the compiler's library; the caller deletes the results.
extern "C" __attribute__((visibility("default"))) penstock::api::Compilation *
penstock_start_compilation(const penstock::api::CompileRequest &request);
/// As pst_format(); of the request, only text and file name count.
extern "C" __attribute__((visibility("default"))) penstock::api::Written *
penstock_write_formatted(const penstock::api::CompileRequest &request);
/// As pst_operators().
extern "C" __attribute__((visibility("default"))) penstock::api::Written *
penstock_write_operators();
