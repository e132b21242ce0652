// SPDX-License-Identifier: Apache-2.0
//
// Coverage of the generated pipelines.
#include "test/differential/Coverage.h"
#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "stdlib/reference/Value.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

static size_t typeIndex(Type element) {
  for (int i = 0; i <= static_cast<int>(reference::DType::boolean); ++i)
    if (scalarName(element) == llvm::StringRef(reference::nameOf(static_cast<reference::DType>(i))))
      return static_cast<size_t>(i);
  return 0;
}

static size_t extentClass(NamedTensorType type) {
  if (!type.isStatic())
    return 5;
  const auto axes = type.getAxes();
  if (llvm::any_of(axes, [](const Axis &axis) { return axis.extent == 0; }))
    return 7;
  if (llvm::all_of(axes, [](const Axis &axis) { return axis.extent == 1; }))
    return 0;
  if (llvm::any_of(axes, [](const Axis &axis) { return axis.extent > 4096; }))
    return 4;
  if (axes.front().extent == 1)
    return 1;
  const int64_t last = axes.back().extent;
  if (last > 6 && (last % 8 == 1 || last % 8 == 7))
    return 3;
  return last % 2 == 1 ? 2 : 6;
}

static constexpr const char *extentNames[] = {"1x1",   "1xN", "odd",   "vec",
                                              ">4096", "?",   "other", "0"};

static std::string typeName(size_t type) {
  return std::string(reference::nameOf(static_cast<reference::DType>(type)));
}

//===--- what must be covered ----------------------------------------------===//

namespace {
struct Required {
  const char *op, *types, *extents;
};
} // namespace

static constexpr const char *everyType = "u8 i8 u16 i16 i32 i64 f16 bf16 f32 f64 bool";
static constexpr const char *everyNumber = "u8 i8 u16 i16 i32 i64 f16 bf16 f32 f64";

/// By op, as the pipeline was made: what a thousand cases fill several times.
static constexpr Required required[] = {
    {"view", everyType, "0 1x1 1xN odd vec >4096 ? other"},
    {"pad", everyType, "1x1 1xN odd vec >4096 ? other"},
    {"concat", everyType, "1xN odd vec ? other"},
    {"stack", "u8 i8 u16 i16 i32 i64 bf16 f32 f64 bool", "odd vec ? other"},
    {"place", "u8 i8 u16 i16 i32 i64 f16 f32 f64 bool", "1xN odd vec ? other"},
    {"map", everyType, "0 1x1 1xN odd vec >4096 ? other"},
    {"cast", everyType, "1x1 1xN odd vec ? other"},
    {"window", everyType, "0 1x1 1xN odd vec >4096 ? other"},
    {"resample", everyNumber, "1xN odd vec ? other"},
    {"gather", everyNumber, "odd vec ? other"},
    {"reduce", everyType, "1x1 odd vec ? other"},
    {"scan", everyNumber, "1x1 1xN odd vec >4096 ? other"},
    {"histogram", "i32", "vec ? other"},
    {"contract", "i32 i64 f32 f64", "odd vec ? other"},
    {"fft", "f32 f64", "? other"},
    {"sort", "i64", "1xN odd vec >4096 ? other"},
    {"compact", everyType, "odd vec ? other"},
    {"group", "i64", "1x1 odd vec ? other"},
    {"reduce_by", "u8 i32 i64", "odd vec ? other"},
    {"rank_by", "i64", "odd vec ? other"},
    {"scatter", "u8 i32 i64 f32", "odd vec ? other"},
    {"filter", "f32 f64", "odd vec ? other"},
    {"encode", "u8 i64", "odd vec other"},
    {"recompress", "u8", "1xN odd ? other"},
    {"choose", everyType, "1x1 1xN odd vec >4096 ? other"},
    {"repeat", everyType, "1x1 1xN odd vec ? other"},
    {"each", "u8 i8 i32 i64 f16 bf16 f32 f64 bool", "odd vec other"},
    {"peer", everyType, "1x1 1xN odd vec other"},
    {"peers", "u8 i64 f32", "? other"},
};

/// Pairs of ops in one kernel.
static constexpr std::pair<const char *, const char *> requiredPairs[] = {
    {"sort", "view"},         {"group", "map"},       {"compact", "map"},  {"compact", "view"},
    {"map", "map"},           {"map", "view"},        {"map", "pad"},      {"map", "window"},
    {"map", "resample"},      {"gather", "map"},      {"map", "reduce"},   {"map", "scan"},
    {"concat", "map"},        {"map", "stack"},       {"map", "place"},    {"choose", "map"},
    {"resample", "view"},     {"resample", "window"}, {"view", "window"},  {"pad", "window"},
    {"resample", "resample"}, {"gather", "view"},     {"reduce", "view"},  {"pad", "resample"},
    {"window", "window"},     {"scan", "view"},       {"reduce", "window"}};

std::vector<std::string> Coverage::missing() const {
  std::vector<std::string> empty;
  for (const Required &wanted : required) {
    const auto found = rows.find(wanted.op);
    const Row row = found == rows.end() ? Row() : found->second;
    auto need = [&](StringRef words, llvm::StringRef name, int64_t count) {
      SmallVector<StringRef> list;
      words.split(list, ' ');
      if (count == 0 && llvm::is_contained(list, name))
        empty.push_back(wanted.op + std::string(" ") + name.str());
    };
    for (size_t i = 0; i < types; ++i)
      need(wanted.types, typeName(i), row.byType[i]);
    for (size_t i = 0; i < classes; ++i)
      need(wanted.extents, extentNames[i], row.byExtent[i]);
  }
  for (const auto &[a, b] : requiredPairs)
    if (!pairs.count({a, b}))
      empty.push_back(std::string(a) + " + " + b);
  return empty;
}

//===--- what was ----------------------------------------------------------===//

void Coverage::count(ModuleOp module) {
  module.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      auto type = llvm::dyn_cast<NamedTensorType>(result.getType());
      if (!type)
        continue;
      Row &row = rows[op->getName().stripDialect().str()];
      ++row.byType[typeIndex(type.getElementType())];
      ++row.byExtent[extentClass(type)];
    }
  });
  OwningOpRef<ModuleOp> fused(module.clone());
  PassManager passes(module.getContext());
  pipelines::buildOptPipeline(passes, {});
  pipelines::buildKernelsPipeline(passes, {});
  if (failed(passes.run(*fused)))
    return;
  fused->walk([&](KernelOp kernel) {
    std::vector<std::string> ops;
    for (Operation &op : kernel.getBody().front())
      if (llvm::any_of(op.getResultTypes(), llvm::IsaPred<NamedTensorType>) &&
          !llvm::isa<ConstantOp>(op))
        ops.push_back(op.getName().stripDialect().str());
    llvm::sort(ops);
    for (size_t i = 0; i < ops.size(); ++i)
      for (size_t k = i + 1; k < ops.size(); ++k)
        ++pairs[{ops[i], ops[k]}];
  });
}

void Coverage::print(llvm::raw_ostream &stream) const {
  stream << llvm::left_justify("op", 12);
  for (size_t i = 0; i < types; ++i)
    stream << llvm::right_justify(typeName(i), 5);
  stream << " |";
  for (const char *name : extentNames)
    stream << llvm::right_justify(name, 6);
  stream << "\n";
  for (const auto &[name, row] : rows) {
    stream << llvm::left_justify(name, 12);
    for (const int64_t count : row.byType)
      stream << llvm::format("%5lld", static_cast<long long>(count));
    stream << " |";
    for (const int64_t count : row.byExtent)
      stream << llvm::format("%6lld", static_cast<long long>(count));
    stream << "\n";
  }
  stream << "pairs in one kernel:";
  for (const auto &[pair, count] : pairs)
    stream << " " << pair.first << "+" << pair.second << " " << count << ";";
  stream << "\n";
}

} // namespace penstock::differential
