// SPDX-License-Identifier: Apache-2.0
//
// Margins that windows want of what they read.
#include "compiler/Analysis/WindowMargins.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::Margin;

/// Bytes of a copy, at most: it stays in a core's own cache.
static constexpr int64_t mostBytes = int64_t{1} << 20;
/// Neighbours along the lanes from which on a copy pays; of pixels it also keeps channels together.
static constexpr int64_t enoughNeighbours = 4, enoughOfPixels = 2;

Value penstock::analysis::rootOf(WindowOp op) {
  Value root = op.getInput();
  const auto scratch = StringAttr::get(op.getContext(), "scratch");
  auto cast = root.getDefiningOp<CastOp>();
  while (cast && op.getBorder() != Border::constant && cast->getAttr("schedule") != scratch) {
    root = cast.getValue();
    cast = root.getDefiningOp<CastOp>();
  }
  return root;
}

bool penstock::analysis::isWide(WindowOp op) {
  constexpr int64_t mostUnrolled = 49;
  const auto rank = static_cast<size_t>(tensorOf(op.getResult()).getRank());
  return llvm::count_if(op.getBody().front().getArguments().drop_back(rank),
                        [](Value neighbour) { return !neighbour.use_empty(); }) > mostUnrolled;
}

bool penstock::analysis::isPlain(WindowOp op) {
  if (op.getBorder() != Border::constant)
    return true;
  auto fill = op.getFill().getDefiningOp<ConstantOp>();
  if (!fill)
    return false;
  if (auto real = llvm::dyn_cast<FloatAttr>(fill.getValue()))
    return real.getValue().isPosZero();
  auto integer = llvm::dyn_cast<IntegerAttr>(fill.getValue());
  return integer && integer.getValue().isZero();
}

/// The windows that read `tensor`, or conversions of it.
static void windowsOf(Value tensor, Value root, SmallVectorImpl<WindowOp> &found) {
  for (Operation *user : tensor.getUsers()) {
    auto window = llvm::dyn_cast<WindowOp>(user);
    if (window && window.getInput() == tensor && penstock::analysis::rootOf(window) == root &&
        penstock::analysis::isPlain(window))
      found.push_back(window);
    if (auto cast = llvm::dyn_cast<CastOp>(user);
        cast && llvm::isa<NamedTensorType>(cast.getType()))
      windowsOf(cast.getResult(), root, found);
  }
}

/// Neighbours of a window that the body uses and that lie elsewhere along `axis`.
static int64_t neighboursAlong(WindowOp op, StringRef axis) {
  const auto names = llvm::to_vector(op.getOver().getAsValueRange<StringAttr>());
  const auto found = llvm::find(names, axis);
  if (found == names.end())
    return 0;
  const auto place = static_cast<size_t>(found - names.begin());
  int64_t inside = 1, count = 1, used = 0;
  for (size_t k = 0; k < names.size(); ++k) {
    const int64_t reach = op.getHigh()[k] - op.getLow()[k] + 1;
    count *= reach;
    inside *= k > place ? reach : 1;
  }
  for (int64_t number = 0; number < count; ++number) {
    const int64_t reach = op.getHigh()[place] - op.getLow()[place] + 1;
    used += number / inside % reach != -op.getLow()[place] &&
            !op.getBody().front().getArgument(static_cast<unsigned>(number)).use_empty();
  }
  return used;
}

int64_t penstock::analysis::usualLaneAxis(NamedTensorType type) {
  const int64_t rank = type.getRank();
  const bool ofChannels =
      rank > 1 && type.getAxes().back().isStatic() && type.getAxes().back().extent <= mostChannels;
  return rank - (ofChannels ? 2 : 1);
}

std::optional<Margin> penstock::analysis::marginOf(KernelOp kernel, Value tensor, bool asCopy) {
  NamedTensorType type = tensorOf(tensor);
  SmallVector<WindowOp> windows;
  windowsOf(tensor, tensor, windows);
  if (windows.empty() || !type.isStatic() || type.getRank() == 0)
    return std::nullopt;
  const StringRef lanes = type.getAxes()[usualLaneAxis(type)].name;
  Margin margin{windows.front().getBorder(), SmallVector<int64_t>(type.getRank(), 0),
                SmallVector<int64_t>(type.getRank(), 0)};
  int64_t neighbours = 0;
  for (WindowOp window : windows) {
    if (window.getBorder() != margin.border ||
        (asCopy && window->getBlock() != &kernel.getBody().front()))
      continue;
    neighbours += neighboursAlong(window, lanes);
    for (auto [k, name] : llvm::enumerate(window.getOver().getAsRange<StringAttr>())) {
      const int64_t axis = type.axisIndex(name);
      margin.low[axis] = std::max(margin.low[axis], -window.getLow()[k]);
      margin.high[axis] = std::max(margin.high[axis], window.getHigh()[k]);
    }
  }
  int64_t bytes = scalarBytes(type.getElementType());
  for (auto [axis, a] : llvm::enumerate(type.getAxes())) {
    if (a.extent == 0)
      return std::nullopt;
    bytes *= a.extent + margin.low[axis] + margin.high[axis];
    if (bytes > mostBytes)
      return std::nullopt;
  }
  const bool ofPixels = usualLaneAxis(type) + 1 < type.getRank();
  if (neighbours < (asCopy ? ofPixels ? enoughOfPixels : enoughNeighbours : 1))
    return std::nullopt;
  return margin;
}

bool penstock::analysis::holds(const Margin &margin, WindowOp op) {
  if (!isPlain(op) || margin.border != op.getBorder())
    return false;
  NamedTensorType type = tensorOf(rootOf(op));
  for (auto [k, name] : llvm::enumerate(op.getOver().getAsRange<StringAttr>())) {
    const int64_t axis = type.axisIndex(name);
    if (-op.getLow()[k] > margin.low[axis] || op.getHigh()[k] > margin.high[axis])
      return false;
  }
  return true;
}
