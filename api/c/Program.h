// SPDX-License-Identifier: Apache-2.0
//
// Implementation of pst_program.
#pragma once

#include "api/c/penstock.h"
#include "runtime/core/KernelTable.h"
#include "runtime/core/Plan.h"
#include "runtime/device/Device.h"
#include "runtime/sched/Options.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::api {

/// Options of a compilation, owned.
struct CompileRequest {
  std::string text;
  std::string fileName;
  std::string pipeline;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::vector<std::string> disabledPasses;
  std::string target; ///< empty: this machine
  std::string from;   ///< empty: a .pipe file
  std::vector<std::string>
      gpus;             ///< "sm_90": kernels run on such GPUs where they can; empty: on the host
  std::string transfer; ///< where values cross to a GPU; empty: as decoded
  std::string machine;  ///< JSON: the machine's rates; empty: the defaults
};

/// One parameter, as check prints it and as the cache keeps it.
struct Parameter {
  std::string name, type, doc;
  bool isStatic = false;
  std::optional<std::string> defaultValue;
  /// What a static one was compiled with, where that is not in the request; only in a Compiled.
  std::optional<std::string> value = std::nullopt;
};

/// The first stage and the first output that stand `on gpu`, with their places, for messages;
/// empty: none.
struct GpuPlaces {
  std::string stage, output;
};

/// Messages of a compilation.
struct Messages {
  std::string text;
  std::string json = "[]";
};

/// The result of a compilation, as the cache stores it: data and code, without LLVM's types.
struct Compiled {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<uint8_t> plan;
  std::vector<uint8_t> image;
  GpuPlaces gpuPlaces;
  std::vector<runtime::DeviceImage> device; ///< code for GPUs; empty: there are no kernels for one
  std::string transfer;                     ///< the level at which values cross to one
  Messages messages;                        ///< warnings; not in a bundle
};

} // namespace penstock::api

struct pst_program {
  penstock::api::CompileRequest request;
  penstock::api::Messages messages;
  std::string name;
  std::vector<penstock::api::Parameter> parameters;
  std::vector<pst_parameter_info> parameterInfos; ///< views of `parameters`
  bool fromCache = false;
  bool isBundle = false;              ///< there is no text
  penstock::api::GpuPlaces gpuPlaces; ///< as Compiled's
  /// The code, for each level of transfers; sessions begin with the first. Empty after an error and
  /// for check_only.
  std::vector<penstock::runtime::TransferLevel> transfers;

  std::string emitted; ///< text that the last emit or explain returned
};

namespace penstock::api {

/// Stores the message; the status is that of an error.
pst_status failWith(pst_program &program, const std::string &message);
void setParameters(pst_program &program, std::vector<Parameter> parameters);
/// Loads compiled programs, for one or several levels of transfers. They may come from a file, so
/// nothing is trusted. Returns an error message, or an empty string.
std::string adopt(pst_program &program, std::vector<Compiled> levels);

} // namespace penstock::api
