// SPDX-License-Identifier: Apache-2.0
//
// A checked plan, and the properties that the runtime may rely on.
#pragma once

#include "runtime/abi/plan_generated.h"
#include "runtime/core/DType.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock::runtime {

/// A verified plan. Immutable, so that any number of sessions and threads may
/// share it.
///
/// Bytes come from caches and bundles and are not trusted: load() refuses
/// whatever the rest of the runtime could trip over, and never crashes. What it
/// promises of contents():
///
/// * no pointer in it is null, every index lies in its table, every slot in
///   the parameter block, and -1 stands where -1 may stand;
/// * ranks are at most PST_MAX_RANK, extents and bounds are not negative, and
///   the bytes of every static tensor fit into 2^40;
/// * outputs have one axis `n`, `stored` is a permutation of `axes`, and the
///   buffer of an output has the same axes without `n`;
/// * aliases name buffers before their own; stages are at most maxStages.
class Plan {
public:
  static constexpr int maxStages = 64;

  /// Loads and checks a copy of `bytes`. Errors: Corrupt, with the finding; Unsupported for
  /// another ABI version.
  static Result<std::shared_ptr<const Plan>> load(std::span<const uint8_t> bytes);
  /// Checks and loads a plan that was just made. Errors as load()'s.
  static Result<std::shared_ptr<const Plan>> make(const plan::PlanT &contents);
  /// The bytes that load() reads.
  static std::vector<uint8_t> serialize(const plan::PlanT &contents);

  const plan::PlanT &contents() const { return tree; }

  /// The number of an entry point or parameter by name, or -1.
  int kernelNumber(const std::string &name) const;
  int paramNumber(const std::string &name) const;

private:
  Plan() = default;
  plan::PlanT tree;
};

} // namespace penstock::runtime
