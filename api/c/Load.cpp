// SPDX-License-Identifier: Apache-2.0
//
// The function pst_program_load().
#include "api/c/Arguments.h"
#include "api/c/Bundle.h"
#include "api/c/Entry.h"
#include "api/c/Values.h"
#include <algorithm>

using namespace penstock::api;

/// Returns the value of a parameter: of a static one for good, else unless a session gives another.
static std::optional<std::string> settle(pst_program &program, const Bundle &bundle,
                                         const pst_parameter *given, size_t count) {
  for (const auto &[name, value] : bundle.settings)
    program.request.parameters.emplace_back(name, value);
  for (size_t i = 0; i < count; ++i) {
    const std::string name = given[i].name, value = given[i].value;
    const auto known =
        std::find_if(program.parameters.begin(), program.parameters.end(),
                     [&](const Parameter &parameter) { return parameter.name == name; });
    if (known == program.parameters.end()) {
      std::string names;
      for (const Parameter &parameter : program.parameters)
        names += (names.empty() ? "`" : ", `") + parameter.name + "`";
      return "there is no parameter `" + name + "`; " +
             (names.empty() ? "this pipeline has none" : "those of this pipeline are " + names);
    }
    if (known->isStatic) {
      const std::string compiled = known->defaultValue.value_or("");
      if (!isSameValue(known->type, value, compiled))
        return "`" + name + "` was " + compiled +
               " when this was compiled, and is static: for another value, compile it again";
      continue;
    }
    std::erase_if(program.request.parameters,
                  [&](const auto &entry) { return entry.first == name; });
    program.request.parameters.emplace_back(name, value);
  }
  return std::nullopt;
}

static pst_status load(pst_program &program, const char *path, const pst_parameter *parameters,
                       size_t parameter_count) {
  program.isBundle = true;
  for (const penstock::runtime::Status &status :
       {checkPath(path, "path"), checkParameters(parameters, parameter_count)})
    if (!status)
      return failWith(program, status.error().message);
  program.request.fileName = path;
  auto bundle = Bundle::read(path);
  if (!bundle)
    return failWith(program, bundle.error().message);
  auto compiled = bundle->take();
  const std::string name = path;
  if (!compiled)
    return failWith(program, name + " " + compiled.error().message);
  if (std::string why = adopt(program, std::move(*compiled)); !why.empty())
    return failWith(program, name + ": " + why);
  if (auto why = settle(program, *bundle, parameters, parameter_count))
    return failWith(program, name + ": " + *why);
  return PST_OK;
}

pst_status pst_program_load(const char *path, const pst_parameter *parameters,
                            size_t parameter_count, pst_program **out_program) {
  return makeProgram(out_program, [&](pst_program &program) {
    return load(program, path, parameters, parameter_count);
  });
}
