// SPDX-License-Identifier: Apache-2.0
//
// Rates of a machine and typical sizes of its data, parsed from JSON.
#include "api/c/Machine.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <nlohmann/json.hpp>

using namespace penstock;
using namespace penstock::api;
using nlohmann::ordered_json;

Machine::Machine() {
  // A photograph of ImageNet, a clip of Kinetics, an utterance, a scan of KITTI.
  for (auto [name, value] :
       std::initializer_list<std::pair<llvm::StringRef, double>>{{"image.height", 375},
                                                                 {"image.width", 500},
                                                                 {"image.orientation", 1},
                                                                 {"image.depth", 8},
                                                                 {"video.height", 240},
                                                                 {"video.width", 320},
                                                                 {"video.frames", 300},
                                                                 {"video.orientation", 1},
                                                                 {"wave.rate", 16'000},
                                                                 {"wave.channels", 1},
                                                                 {"wave.samples", 160'000},
                                                                 {"wave.bits", 16},
                                                                 {"wave.duration", 10},
                                                                 {"numbers.size", 1'920'000}})
    typical.header[name] = value;
}

static llvm::Error wrong(const std::string &text) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "the profile of the machine: " + text);
}

/// The numbers of a group, by name.
using Group = llvm::SmallVector<std::pair<llvm::StringRef, double *>>;

static std::string namesOf(const Group &group) {
  std::string names;
  for (const auto &[name, place] : group)
    names += (names.empty() ? "`" : ", `") + name.str() + "`";
  return names;
}

/// Reads `value` into the number of `group` that `key` names; `path` is where that stands.
static llvm::Error read(const Group &group, const std::string &path, const std::string &key,
                        const ordered_json &value) {
  const auto found = llvm::find_if(group, [&](const auto &entry) { return entry.first == key; });
  if (found == group.end())
    return wrong("there is no `" + path + key + "`; known are " + namesOf(group));
  if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() <= 0)
    return wrong("`" + path + key + "` is a number above 0, and not " + value.dump());
  *found->second = value.get<double>();
  return llvm::Error::success();
}

llvm::Expected<Machine> Machine::parse(llvm::StringRef json) {
  Machine machine;
  ordered_json given;
  try {
    given = ordered_json::parse(json.begin(), json.end());
  } catch (const ordered_json::exception &error) { // also a number that is too large
    const std::string_view what = error.what(), name = "] ";
    const size_t end = what.find(name); // of the exception's own name
    return wrong("it is no JSON: " +
                 std::string(end == what.npos ? what : what.substr(end + name.size())));
  }
  if (!given.is_object())
    return wrong("it is no JSON object");
  analysis::MachineRates &rates = machine.rates;
  Group typical = {{"rows", &machine.typical.rows},
                   {"extent", &machine.typical.extent},
                   {"batch", &machine.typical.batch}};
  for (auto &entry : machine.typical.header)
    typical.emplace_back(entry.first(), &entry.second);
  const std::pair<llvm::StringRef, Group> groups[] = {{"host",
                                                       {{"threads", &rates.threads},
                                                        {"operations", &rates.hostOperations},
                                                        {"decoded", &rates.decoded}}},
                                                      {"bus", {{"bytes", &rates.busBytes}}},
                                                      {"gpu",
                                                       {{"operations", &rates.gpuOperations},
                                                        {"bytes", &rates.gpuBytes},
                                                        {"launch", &rates.launch},
                                                        {"share", &rates.gpuShare}}},
                                                      {"typical", typical}};
  for (const auto &[key, value] : given.items()) {
    if (key == "name" && value.is_string()) {
      machine.name = value.get<std::string>();
      continue;
    }
    const auto group = llvm::find_if(groups, [&](const auto &entry) { return entry.first == key; });
    if (group == std::end(groups))
      return wrong("there is no `" + key + "`; known are `name`, `host`, `bus`, `gpu`, `typical`");
    if (!value.is_object())
      return wrong("`" + key + "` is an object with some of " + namesOf(group->second));
    for (const auto &[name, number] : value.items())
      if (llvm::Error error = read(group->second, key + ".", name, number))
        return error;
  }
  if (rates.gpuShare > 1)
    return wrong("`gpu.share` is at most 1, all of the GPU's time");
  return machine;
}
