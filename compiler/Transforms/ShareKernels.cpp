// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-share-kernels.
//
// Views of an `each` are kernels of the same text, but for the places that they read. Code is made
// once for all of them, and a launch says where.
#include "compiler/Transforms/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <map>

namespace penstock::transforms {
#define GEN_PASS_DEF_SHAREKERNELS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;

/// Kernels of one text from which on their code is made once: with places that are known, fewer
/// have code as short as it gets.
static constexpr size_t fewest = 8;

/// A place as what moves along, and a number.
static std::pair<AffineExpr, int64_t> apart(AffineExpr place) {
  if (auto number = llvm::dyn_cast<AffineConstantExpr>(place))
    return {getAffineConstantExpr(0, place.getContext()), number.getValue()};
  if (auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(place);
      sum && sum.getKind() == AffineExprKind::Add)
    if (auto number = llvm::dyn_cast<AffineConstantExpr>(sum.getRHS()))
      return {sum.getLHS(), number.getValue()};
  return {place, 0};
}

/// The numbers in the places that a kernel's views read, in the order of the ops.
static SmallVector<int64_t> numbersOf(KernelOp kernel) {
  SmallVector<int64_t> numbers;
  kernel.walk([&](ViewOp view) {
    for (AffineExpr place : view.getMap().getResults())
      numbers.push_back(apart(place).second);
  });
  return numbers;
}

/// What a kernel is but for those numbers. Remarks speak of one place in the source.
static std::string textOf(KernelOp kernel) {
  KernelOp plain = kernel.clone();
  plain.setSymName("");
  plain.walk([](Operation *op) { op->removeAttr("pipe.remarks"); });
  plain.walk([](ViewOp view) {
    AffineMap map = view.getMap();
    SmallVector<AffineExpr> places;
    for (AffineExpr place : map.getResults())
      places.push_back(apart(place).first);
    view.setMap(AffineMap::get(map.getNumDims(), map.getNumSymbols(), places, map.getContext()));
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  plain.print(stream, OpPrintingFlags().useLocalScope());
  plain.erase();
  return text;
}

namespace {

class Sharing {
public:
  explicit Sharing(ArrayRef<KernelOp> kernels) : kernels(kernels) {
    for (KernelOp kernel : kernels)
      numbers.push_back(numbersOf(kernel));
  }
  /// Makes the first kernel one for all, and erases the others.
  void run(ModuleOp module);

private:
  void takePlaces(KernelOp kernel);

  ArrayRef<KernelOp> kernels;
  SmallVector<SmallVector<int64_t>> numbers; ///< by kernel
  /// Numbers that differ, as the kernels have them, with the arguments that stand for them.
  llvm::MapVector<ArrayRef<int64_t>, Value> arguments;
  std::vector<SmallVector<int64_t>> columns;
};

} // namespace

/// Reads at arguments in place of numbers that differ.
void Sharing::takePlaces(KernelOp kernel) {
  Block &body = kernel.getBody().front();
  size_t number = 0;
  columns.reserve(numbers.front().size()); // whose elements are keys
  SmallVector<ViewOp> views;
  kernel.walk([&](ViewOp view) { views.push_back(view); });
  for (ViewOp view : views) {
    AffineMap map = view.getMap();
    SmallVector<Value> symbols(view.getSymbols());
    SmallVector<AffineExpr> places;
    for (AffineExpr place : map.getResults()) {
      SmallVector<int64_t> column;
      for (const auto &mine : numbers)
        column.push_back(mine[number]);
      ++number;
      if (llvm::all_equal(column)) {
        places.push_back(place);
        continue;
      }
      columns.push_back(std::move(column));
      Value &argument = arguments[columns.back()];
      if (!argument)
        argument = body.addArgument(IntegerType::get(kernel.getContext(), 64), view.getLoc());
      places.push_back(
          apart(place).first +
          getAffineSymbolExpr(static_cast<unsigned>(symbols.size()), map.getContext()));
      symbols.push_back(argument);
    }
    if (symbols.size() == view.getSymbols().size())
      continue;
    OpBuilder builder(view);
    auto moved = builder.create<ViewOp>(view.getLoc(), view.getType(), view.getInput(),
                                        AffineMap::get(map.getNumDims(),
                                                       static_cast<unsigned>(symbols.size()),
                                                       places, map.getContext()),
                                        symbols, view.getSizes());
    moved->setDiscardableAttrs(view->getDiscardableAttrDictionary());
    view.replaceAllUsesWith(moved.getResult());
    view.erase();
  }
}

void Sharing::run(ModuleOp module) {
  KernelOp shared = kernels.front();
  takePlaces(shared);
  llvm::StringMap<size_t> places;
  for (size_t place = 0; place < kernels.size(); ++place)
    places[KernelOp(kernels[place]).getSymName()] = place;
  module.walk([&](LaunchOp launch) {
    auto mine = places.find(launch.getKernel());
    if (mine == places.end())
      return;
    OpBuilder builder(launch);
    SmallVector<Value> values;
    for (const auto &[column, argument] : arguments)
      values.push_back(builder.create<ConstantOp>(launch.getLoc(), builder.getI64Type(),
                                                  builder.getI64IntegerAttr(column[mine->second])));
    launch.getScalarsMutable().append(values);
    launch.setKernel(shared.getSymName());
  });
  for (KernelOp kernel : kernels.drop_front())
    kernel.erase();
}

namespace {
struct ShareKernelsPass : penstock::transforms::impl::ShareKernelsBase<ShareKernelsPass> {
  void runOnOperation() override {
    std::map<std::string, SmallVector<KernelOp>> byText;
    for (auto kernel : getOperation().getOps<KernelOp>())
      if (kernel.getKind() == "pixels" && !kernel->hasAttr("weights"))
        byText[textOf(kernel)].push_back(kernel);
    for (auto &[text, kernels] : byText)
      if (kernels.size() >= fewest)
        Sharing(kernels).run(getOperation());
  }
};
} // namespace
