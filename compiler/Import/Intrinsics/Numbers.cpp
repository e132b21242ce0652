// SPDX-License-Identifier: Apache-2.0
//
// Bytes as numbers.
//
// The smallest medium. Its type says all there is to know: elements stand in the
// order of the axes, the last one fastest, and the file's size gives the extent of
// the axis that has none.
#include "compiler/Import/Intrinsics/Intrinsics.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

Val Intrinsics::decodeNumbers(Args args, dsl::SourceRange range) {
  const Val &type = args[1].value;
  auto given = [&](size_t i) { return !args[i].value.is(Kind::Poison); };
  for (size_t i : {2, 3, 4, 5, 8})
    if (given(i))
      fail(args[i].range,
           quote(args[i].name.empty() ? "orient" : args[i].name) +
               " is for images and videos, and these are numbers",
           i == 2 || i == 8 ? "" : "a slice of them: `[k = a .. b]`");
  const std::string order = given(6) ? demandWord(args[6], {"little", "big"}) : "little";
  mlir::Value skip =
      given(7) ? demandIndex(args[7].value, args[7].range, "a number of bytes") : intConstant(0);
  if (const auto known = constantInt(skip); known && *known < 0)
    fail(args[7].range, "a skip of " + std::to_string(*known) + " bytes");

  const unsigned bits = type.element.getIntOrFloatBitWidth();
  mlir::Value bytes = intConstant(bits < 8 ? 1 : bits / 8); // of a step along the free axis
  std::vector<Dim> axes;
  int free = -1;
  for (auto [i, name] : llvm::enumerate(type.names)) {
    const Val &extent = type.parts[i];
    const dsl::AxisSetting &spelled = args[1].expr->cast<dsl::IndexExpr>().settings[i];
    if (extent.is(Kind::Poison)) {
      if (free >= 0)
        fail(spelled.range,
             "the size of a file gives one extent, and that is `" +
                 type.names[static_cast<size_t>(free)] + "`'s",
             quote(name + " = 4"));
      free = static_cast<int>(i);
      axes.push_back({{name, -1, -1, ""}, {}});
      continue;
    }
    Dim axis;
    if (extent.is(Kind::Word))
      axis = {{name, formatExtent(extent.word, spelled.value->range), -1, extent.word}, {}};
    else
      axis = dim(name, demandIndex(extent, spelled.value->range, "an extent"), "", spelled.range);
    constexpr int64_t mostElements = int64_t{1} << 40; // along an axis; more is a fault of the row
    if (mlir::Value count = this->extent(axis); !constantInt(count))
      check(binary(BinaryKind::bit_and, compare(pipe::Predicate::ge, count, intConstant(0)),
                   compare(pipe::Predicate::le, count, intConstant(mostElements))),
            "axis `" + name + "` cannot have {0} elements", count, count);
    bytes = binary(BinaryKind::mul, bytes, this->extent(axis));
    axes.push_back(axis);
  }
  mlir::Value size = headerNumber("numbers", "size", args[0].value.ir);
  mlir::Value rest = binary(BinaryKind::sub, size, skip);
  const std::string behind = given(7) ? " behind what is skipped" : "";
  mlir::Value wanted = bytes;
  if (free >= 0) {
    Dim &axis = axes[static_cast<size_t>(free)];
    axis = dim(axis.axis.name, binary(BinaryKind::div, rest, bytes), "", range);
    wanted = binary(BinaryKind::mul, this->extent(axis), bytes);
  }
  // A rest below 0 is a multiple, too.
  mlir::Value fits = binary(BinaryKind::bit_and, compare(pipe::Predicate::eq, rest, wanted),
                            compare(pipe::Predicate::ge, rest, intConstant(0)));
  check(fits,
        free < 0
            ? "the file has {0} bytes" + behind + ", and the type takes {1}"
            : "the file has {0} bytes" + behind + ", no multiple of the {1} that one step along `" +
                  type.names[static_cast<size_t>(free)] + "` takes",
        rest, bytes);
  return tensor(base.create<pipe::DecodeOp>(here, tensorOf(type.element, axes), "numbers", order,
                                            args[0].value.ir, mlir::ValueRange(skip), sizesOf(axes),
                                            mlir::ArrayAttr(), mlir::ValueRange(), false,
                                            mlir::FlatSymbolRefAttr()));
}
