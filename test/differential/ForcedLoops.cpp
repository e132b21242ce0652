// SPDX-License-Identifier: Apache-2.0
//
// Schedules that nobody chose.
#include "test/differential/ForcedLoops.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "test/differential/Rng.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

static LoopsAttr forced(NamedTensorType type, Rng &rng) {
  Builder builder(type.getContext());
  const auto rank = static_cast<int64_t>(type.getRank());
  const int64_t along = rng.chance(0.7) ? rank - 1 : rng.below(rank), other = rng.below(rank);
  auto name = [&](int64_t axis) { return builder.getStringAttr(type.getAxes()[axis].name); };
  const Axis &unrolled = type.getAxes()[other];
  const bool unrolls =
      other != along && unrolled.isStatic() && unrolled.extent <= mostSideBySide && rng.chance(0.7);
  SmallVector<StringRef> versions;
  for (StringRef version : {"bounded", "strides", "rows"})
    if (rng.chance(0.5))
      versions.push_back(version);
  return LoopsAttr::get(type.getContext(), name(along), int64_t{1} << rng.below(7),
                        unrolls ? name(other) : StringAttr(), rng.between(1, 6),
                        builder.getStrArrayAttr(versions),
                        rng.pick<Tail>({Tail::overlap, Tail::single, Tail::narrow}));
}

static void force(Operation *op, StringRef attribute, ValueRange values, Rng &rng) {
  Attribute stated = op->getAttr(attribute);
  if (!stated)
    return;
  SmallVector<Attribute> loops(values.size());
  for (auto [number, value] : llvm::enumerate(values)) {
    auto several = llvm::dyn_cast<ArrayAttr>(stated);
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    if (type && type.getRank() > 0 && llvm::isa<LoopsAttr>(several ? several[number] : stated))
      loops[number] = forced(type, rng);
  }
  setLoops(op, attribute, loops);
}

void forceLoops(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream(text) << module;
  Rng rng(llvm::xxh3_64bits(StringRef(text)));
  for (auto kernel : module.getOps<KernelOp>())
    kernel.walk([&](Operation *op) {
      force(op, "loops", op->getResults(), rng);
      force(op, "copies", op->getOperands(), rng);
      if (op->getAttr("schedule") == StringAttr::get(op->getContext(), "ring") && rng.chance(0.5))
        op->setAttr("schedule", StringAttr::get(op->getContext(), "scratch"));
    });
}

} // namespace penstock::differential
