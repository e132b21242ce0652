// SPDX-License-Identifier: Apache-2.0
//
// Files as numbers of a type that `decode` is given.
//
// Elements stand in the order of the type's axes, the last one fastest, and the file's size gives
// the extent of the axis that has none. Where files have a header, it gives the extents of all that
// have none.
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "runtime/abi/media.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;

/// An extent that the type gives; no size or extent where it leaves it to the file.
std::vector<Dim> Intrinsics::givenAxes(const Argument &arg) {
  const Val &type = arg.value;
  std::vector<Dim> axes;
  for (auto [i, name] : llvm::enumerate(type.names)) {
    const Val &extent = type.parts[i];
    const dsl::AxisSetting &spelled = arg.expr->cast<dsl::IndexExpr>().settings[i];
    if (extent.is(Kind::Poison))
      axes.push_back({{name, -1, -1, ""}, {}});
    else if (extent.is(Kind::Word))
      axes.push_back(
          {{name, formatExtent(extent.word, spelled.value->range), -1, extent.word}, {}});
    else
      axes.push_back(
          dim(name, demandIndex(extent, spelled.value->range, "an extent"), "", spelled.range));
  }
  return axes;
}

static bool isLeftToFile(const Dim &axis) { return axis.axis.extent < 0 && !axis.size; }

Val Intrinsics::decodeNumbers(Args args, dsl::SourceRange range) {
  const Val &type = args[1].value;
  auto given = [&](size_t i) { return !args[i].value.is(Kind::Poison); };
  for (size_t i : {3, 4, 5, 8})
    if (given(i))
      fail(args[i].range, quote(args[i].name) + " is for images and videos, and these are numbers",
           i == 8 ? "" : "a slice of them: `[k = a .. b]`");
  if (given(9))
    return decodeArray(args, range);
  if (given(10))
    fail(args[10].range, "`fields` is for files whose header names them", "`header = ply`, or pcd");
  if (given(2))
    fail(args[2].range, "`orient` is for images, videos and volumes, and these are numbers");
  const std::string order = given(6) ? demandWord(args[6], {"little", "big"}) : "little";
  mlir::Value skip =
      given(7) ? demandIndex(args[7].value, args[7].range, "a number of bytes") : intConstant(0);
  if (const auto known = constantInt(skip); known && *known < 0)
    fail(args[7].range, "a skip of " + std::to_string(*known) + " bytes");

  const unsigned bits = type.element.getIntOrFloatBitWidth();
  mlir::Value bytes = intConstant(bits < 8 ? 1 : bits / 8); // of a step along the free axis
  std::vector<Dim> axes = givenAxes(args[1]);
  int free = -1;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (isLeftToFile(axis)) {
      const dsl::AxisSetting &spelled = args[1].expr->cast<dsl::IndexExpr>().settings[i];
      if (free >= 0)
        fail(spelled.range,
             "the size of a file gives one extent, and that is `" +
                 type.names[static_cast<size_t>(free)] + "`'s",
             quote(axis.axis.name + " = 4"));
      free = static_cast<int>(i);
      continue;
    }
    constexpr int64_t mostElements = int64_t{1} << 40; // along an axis; more is a fault of the row
    if (mlir::Value count = extent(axis); !constantInt(count))
      check(binary(BinaryKind::bit_and, compare(pipe::Predicate::ge, count, intConstant(0)),
                   compare(pipe::Predicate::le, count, intConstant(mostElements))),
            "axis `" + axis.axis.name + "` cannot have {0} elements", count, count);
    bytes = binary(BinaryKind::mul, bytes, extent(axis));
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

Val Intrinsics::decodeArray(Args args, dsl::SourceRange range) {
  const Val &type = args[1].value;
  const std::string header = demandWord(args[9], {"npy", "nifti", "ply", "pcd"});
  const bool isVolume = header == "nifti";
  for (size_t i : {6, 7})
    if (!args[i].value.is(Kind::Poison))
      fail(args[i].range,
           quote(args[i].name) + " is for files without a header, which says that itself");
  if (header == "ply" || header == "pcd")
    return decodePoints(header, args);
  if (!args[10].value.is(Kind::Poison))
    fail(args[10].range,
         "`fields` is for files whose header names them, and `" + header + "` names none");
  mlir::Value data = args[0].value.ir;
  auto number = [&](llvm::StringRef name) { return headerNumber(header, name, data); };
  std::vector<Dim> axes = givenAxes(args[1]);
  const size_t rank = axes.size();
  bool orient = false;
  if (!args[2].value.is(Kind::Poison)) {
    if (!isVolume)
      fail(args[2].range, "`orient` is for images, videos and volumes, and `npy` knows no ways up");
    orient = demandOrient(args[2]);
  }
  if (orient && rank < 3)
    fail(args[2].range, "`orient` turns volumes, which have three axes at least",
         "`decode(f32[z, h, w], header = nifti, orient = true)`");
  if (isVolume && (type.element.isInteger(1) || type.element.isF16() || type.element.isBF16()))
    fail(args[1].range, "voxels become integers, f32 or f64, and no " + show(type.element),
         "`decode(f32[z, h, w], header = nifti)`, and convert it");
  constexpr size_t most = 7; // of NIfTI's axes
  static constexpr llvm::StringLiteral stored[most] = {"x", "y", "z", "t", "u", "v", "w"};
  static constexpr llvm::StringLiteral upright[] = {"right", "anterior", "superior"};
  if (isVolume && rank > most)
    fail(args[1].range,
         "volumes of NIfTI have up to seven axes, and this type has " + std::to_string(rank));
  if (!isVolume) {
    mlir::Value found = number("rank"), wanted = intConstant(static_cast<int64_t>(rank));
    check(compare(pipe::Predicate::eq, found, wanted),
          "the file's array has {0} axes, and the type has {1}", found, wanted);
  }
  for (size_t i = rank; isVolume && i < most; ++i) {
    mlir::Value found = number(stored[i]), one = intConstant(1);
    check(compare(pipe::Predicate::eq, found, one),
          "the file has {0} elements along its axis " + stored[i].str() +
              ", for which the type has no axis",
          found, one);
  }
  for (size_t i = 0; i < rank; ++i) {
    const size_t behind = rank - 1 - i; // NIfTI's first axis is the fastest
    mlir::Value found = number(!isVolume              ? "axis" + std::to_string(i)
                               : orient && behind < 3 ? upright[behind].str()
                                                      : stored[behind].str());
    Dim &axis = axes[i];
    if (isLeftToFile(axis)) {
      axis.size = found;
      continue;
    }
    mlir::Value wanted = extent(axis);
    check(compare(pipe::Predicate::eq, found, wanted),
          "the file has {0} elements along axis `" + axis.axis.name + "`, and the type says {1}",
          found, wanted);
  }
  return tensor(base.create<pipe::DecodeOp>(
      here, tensorOf(type.element, axes), header, header, data, mlir::ValueRange(), sizesOf(axes),
      mlir::ArrayAttr(), mlir::ValueRange(), orient, mlir::FlatSymbolRefAttr()));
}

/// The names of fields, with a blank between two: as a plan has them.
std::string Intrinsics::demandFields(const Argument &arg) {
  if (!arg.value.is(Kind::List) || arg.value.parts.empty())
    fail(arg.range,
         arg.value.is(Kind::List) ? "no field is named"
                                  : "`fields` is a list of names, and this is " + show(arg.value),
         arg.value.is(Kind::Word) ? "`[" + arg.value.word + "]`" : "`[x, y, z]`");
  std::string fields;
  for (const Val &part : arg.value.parts) {
    if (!part.is(Kind::Word))
      fail(arg.range, "a field has a name, and this is " + show(part), "`[x, y, z]`");
    if (part.word.empty() || llvm::any_of(part.word, [](unsigned char c) { return c <= ' '; }))
      fail(arg.range, "names of fields have no blanks", "`[x, y, z]`");
    fields += (fields.empty() ? "" : " ") + part.word;
  }
  return fields;
}

/// The axes are the points and, unless one field is named, the numbers of each.
Val Intrinsics::decodePoints(const std::string &header, Args args) {
  const Val &type = args[1].value;
  const std::string example = "`decode(f32[k, f], header = " + header + ", fields = [x, y, z])`";
  if (!args[2].value.is(Kind::Poison))
    fail(args[2].range, "`orient` is for images, videos and volumes, and points know no ways up");
  if (type.element.isInteger(1) || type.element.isF16() || type.element.isBF16())
    fail(args[1].range,
         "numbers of points become integers, f32 or f64, and no " + show(type.element),
         example + ", and convert it");
  std::vector<Dim> axes = givenAxes(args[1]);
  const size_t rank = axes.size();
  if (rank < 1 || rank > 2)
    fail(args[1].range,
         "files of points have two axes, the points and the numbers of each, and this type has " +
             std::to_string(rank),
         example);
  const bool hasFields = !args[10].value.is(Kind::Poison);
  const std::string fields = hasFields ? demandFields(args[10]) : "";
  const auto named = static_cast<int64_t>(hasFields ? args[10].value.parts.size() : 0);
  if (rank == 1 && named != 1)
    fail(hasFields ? args[10].range : args[1].range,
         "a type without an axis for the numbers of a point takes one field, and " +
             (hasFields ? std::to_string(named) + " are named" : std::string("none is named")),
         hasFields ? example : "`fields = [intensity]`");
  mlir::Value data = args[0].value.ir;
  auto number = [&](llvm::StringRef name) { return headerNumber(header, name, data); };
  mlir::Value points = number("points");
  if (isLeftToFile(axes[0])) {
    axes[0].size = points;
  } else {
    mlir::Value wanted = extent(axes[0]);
    check(compare(pipe::Predicate::eq, points, wanted),
          "the file has {0} points, and the type says {1}", points, wanted);
  }
  if (rank == 2 && isLeftToFile(axes[1])) {
    axes[1] = dim(axes[1].axis.name, hasFields ? intConstant(named) : number("columns"), "",
                  args[1].range);
  } else if (rank == 2) {
    mlir::Value wanted = extent(axes[1]);
    const auto known = constantInt(wanted);
    // A field of PCD may have several numbers.
    if (hasFields && known && (header == "ply" ? named != *known : named > *known))
      fail(args[10].range, std::to_string(named) + " fields are named, and axis " +
                               quote(axes[1].axis.name) + " has " + std::to_string(*known) +
                               " elements");
    mlir::Value found = hasFields ? wanted : number("columns");
    check(compare(pipe::Predicate::eq, found, wanted),
          "the file has {0} numbers for each point, and the type says {1}", found, wanted);
  }
  return tensor(base.create<pipe::DecodeOp>(
      here, tensorOf(type.element, axes), header, fields, data, mlir::ValueRange(), sizesOf(axes),
      mlir::ArrayAttr(), mlir::ValueRange(), false, mlir::FlatSymbolRefAttr()));
}
