// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics along one axis: sort, scans, filters.
#include "compiler/Dialect/ScheduleDialect.h"
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "mlir/IR/Matchers.h"

using namespace penstock::importer;
using penstock::pipe::ScanKind;

mlir::Value Intrinsics::largest(mlir::Type type) {
  mlir::TypedAttr value;
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    value = base.getFloatAttr(type, llvm::APFloat::getNaN(real.getFloatSemantics()));
  } else {
    const unsigned width = type.getIntOrFloatBitWidth();
    const bool isSigned = !type.isUnsignedInteger() && width > 1;
    value = base.getIntegerAttr(type, isSigned ? llvm::APInt::getSignedMaxValue(width)
                                               : llvm::APInt::getMaxValue(width));
  }
  return base.create<pipe::ConstantOp>(here, type, value);
}

Val Intrinsics::sort(Args args) {
  const Val &x = demandTensor(args[0], "sort");
  const std::string axis = demandAxis(args[1], &x, "sort");
  std::vector<Dim> all = dims(x.ir);
  mlir::Value value = x.ir;
  if (anyCounted(value, {axis})) // absent elements come last: equals keep their order
    value = onlyExisting(value, {axis}, largest(elementType(x)));
  return tensor(
      base.create<pipe::SortOp>(here, tensorOf(base.getI64Type(), all), value, axis, sizesOf(all)));
}

/// Elements of the longest transform: its tables of sines are part of the code.
static constexpr int64_t longestTransform = 1 << 20;

Val Intrinsics::fft(Args args) {
  Val x = demandTensor(args[0], "fft");
  const std::string axis = demandAxis(args[1], &x, "fft");
  mlir::Type element = elementType(x);
  if (element.isF16() || element.isBF16())
    x = castTo(pipe::CastMode::value, x, element = base.getF32Type(), args[0].range);
  if (!element.isF32() && !element.isF64())
    fail(args[0].range, "`fft` takes floats, and this is " + show(x), "`f32(...)` converts");
  std::vector<Dim> all = dims(x.ir);
  Dim &along = *const_cast<Dim *>(find(all, axis));
  if (!along.axis.isStatic())
    fail(args[1].range,
         "the length of a transform is known when compiling, and axis " + quote(axis) +
             " differs from sample to sample",
         "`frames` cuts pieces of one length");
  if (along.axis.extent < 1)
    fail(args[1].range, "axis " + quote(axis) + " has no elements");
  if (along.axis.extent > longestTransform)
    fail(args[1].range,
         "axis " + quote(axis) + " has " + std::to_string(along.axis.extent) +
             " elements, and a transform takes at most " + std::to_string(longestTransform),
         "`frames` cuts pieces");
  for (const char *name : {"freq", "part"})
    if (axis != name && find(all, name))
      fail(args[0].range, "`fft` adds axis " + quote(name) + ", which its input has: " + show(x));
  along.axis = {"freq", along.axis.extent / 2 + 1, -1, ""};
  all.push_back({{"part", 2, -1, ""}, {}});
  return tensor(base.create<pipe::FftOp>(here, tensorOf(element, all), x.ir, axis, sizesOf(all)));
}

/// The factors of a recurrence of `x`: over its axes, in the type that it accumulates in.
mlir::Value Intrinsics::factorsOf(const Val &x, const Argument &arg) {
  const std::vector<Dim> all = dims(x.ir);
  for (const Dim &dim : dims(arg.value.ir))
    if (!find(all, dim.axis.name))
      fail(arg.range, "the factors of a recurrence have axes of what it accumulates, and not " +
                          quote(dim.axis.name) + ": " + show(x) + " and " + show(arg.value));
  if (elementType(arg.value).isSignlessInteger(1))
    fail(arg.range, "the factors of a recurrence are numbers, and this is " + show(arg.value),
         "`f32(...)` makes 0 and 1 of truth values");
  const mlir::Type type = pipe::computedIn(elementType(x));
  const Val own = castTo(CastMode::value, arg.value, type, arg.range);
  return lift({x, own}, type, [&](auto v) { return v[1]; }, arg.range).ir;
}

Val Intrinsics::scan(const std::string &name, Args args) {
  const Val &x = demandTensor(args[0], name);
  const std::string axis = demandAxis(args[1], &x, name);
  if (elementType(x).isSignlessInteger(1))
    fail(args[0].range, quote(name) + " takes numbers, and this is " + show(x),
         "`i32(...)` makes 0 and 1 of truth values");
  ScanKind kind = name == "scan_sum" ? ScanKind::sum : ScanKind::max;
  mlir::Value factor, factors;
  if (name == "scan_linear") {
    kind = ScanKind::recurrence;
    if (!llvm::isa<mlir::FloatType>(elementType(x)))
      fail(args[0].range, "`scan_linear` takes floats, and this is " + show(x),
           "`f32(...)` converts");
    if (args[2].value.is(Kind::Tensor)) {
      factors = factorsOf(x, args[2]);
    } else {
      factor = demandF64(args[2].value, args[2].range, "the factor of a recurrence");
      if (isElementLocal(factor))
        notYet(args[2].range, "a factor that differs from element to element");
    }
  }
  return tensor(base.create<pipe::ScanOp>(here, x.ir.getType(), kind, x.ir, axis, factor, factors,
                                          sizesOf(dims(x.ir))));
}

Val Intrinsics::contract(Args args, dsl::SourceRange range) {
  const Val &x = demandTensor(args[0], "contract");
  Val matrix = demandTensor(args[1], "contract");
  std::vector<Dim> all = dims(x.ir), two = dims(matrix.ir);
  if (two.size() == 2 && !find(all, two[0].axis.name) && find(all, two[1].axis.name)) {
    matrix = tensor(permute(matrix.ir, {two[1].axis.name, two[0].axis.name}));
    std::swap(two[0], two[1]);
  }
  mlir::Type element = elementType(x);
  if (two.size() != 2 || !find(all, two[0].axis.name) || elementType(matrix) != element ||
      !(element.isF32() || element.isF64() || element.isSignlessInteger(32) ||
        element.isSignlessInteger(64)))
    fail(
        args[1].range,
        "`contract` takes f32, f64, i32 or i64 and a matrix from an axis of it to a new one, not " +
            show(x) + " and " + show(matrix));
  Dim *axis = const_cast<Dim *>(find(all, two[0].axis.name));
  if (!sameExtent(*axis, two[0]))
    fail(args[1].range,
         "axis " + quote(two[0].axis.name) + " differs: " + show(x) + " and " + show(matrix));
  *axis = two[1];
  return tensor(
      base.create<pipe::ContractOp>(here, tensorOf(element, all), x.ir, matrix.ir, sizesOf(all)));
}

/// Returns whether a constant tensor of floats begins with 0.
static bool isFirstZero(mlir::Value value) {
  mlir::DenseFPElementsAttr elements;
  return mlir::matchPattern(value, mlir::m_Constant(&elements)) && elements.getNumElements() > 0 &&
         (*elements.value_begin<llvm::APFloat>()).isZero();
}

mlir::Value Intrinsics::coefficients(const Argument &arg, bool divides) {
  Val value = arg.value;
  const Val first = value.is(Kind::List) && !value.parts.empty() ? value.parts.front() : value;
  if (divides && first.ir &&
      (mlir::matchPattern(first.ir, mlir::m_AnyZeroFloat()) || isFirstZero(first.ir)))
    fail(arg.range,
         "the first number of a filter's denominator is not 0: all others are divided by it");
  if (value.is(Kind::List) && !value.parts.empty())
    value = stackNumbers(value.parts, "j", arg.range);
  if (!value.is(Kind::Tensor) || value.tensorType().getRank() != 1 ||
      !llvm::isa<mlir::FloatType>(elementType(value)))
    fail(arg.range, "the numbers of a filter are floats over one axis, and this is " + show(value));
  const Dim along = dims(value.ir)[0];
  if (!along.axis.isStatic())
    fail(arg.range, "the order of a filter is known when compiling, and axis " +
                        quote(along.axis.name) + " differs from sample to sample");
  if (along.axis.extent < 1 || along.axis.extent > 64)
    fail(arg.range, "a filter has 1 to 64 numbers on each side, and this is " + show(value));
  return castTo(pipe::CastMode::value, value, base.getF64Type(), arg.range).ir;
}

Val Intrinsics::filter(Args args) {
  Val x = demandTensor(args[0], "filter");
  const std::string axis = demandAxis(args[1], &x, "filter");
  mlir::Type element = elementType(x);
  if (element.isF16() || element.isBF16())
    x = castTo(pipe::CastMode::value, x, element = base.getF32Type(), args[0].range);
  if (!element.isF32() && !element.isF64())
    fail(args[0].range, "`filter` takes floats, and this is " + show(x), "`f32(...)` converts");
  mlir::Value above = coefficients(args[2], false), below = coefficients(args[3], true);
  return tensor(base.create<pipe::FilterOp>(here, x.ir.getType(), x.ir, axis, above, below,
                                            sizesOf(dims(x.ir))));
}
