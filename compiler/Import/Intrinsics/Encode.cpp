// SPDX-License-Identifier: Apache-2.0
//
// Pixels to media, and through them.
//
// The number of bytes of a file is known after pixels: the axis is one with room and
// a count. Pixels that are encoded and decoded again keep their extents, so nobody
// needs the bytes, and the two are one op over pixels.
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "runtime/abi/encoded.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::Predicate;

/// 1 or 3; 0 where the axes are not those of an image of bytes.
static int64_t channelsOf(mlir::Type element, const std::vector<Dim> &all) {
  bool hasRows = false, hasColumns = false;
  int64_t channels = 1;
  for (const auto &[axis, size] : all) {
    hasRows |= axis.name == "h";
    hasColumns |= axis.name == "w";
    if (axis.name == "h" || axis.name == "w")
      continue;
    const bool rgb = axis.extent == 3 && (axis.metadata.empty() || axis.metadata == "rgb");
    const bool gray = axis.extent == 1 && (axis.metadata.empty() || axis.metadata == "gray");
    channels *= axis.name != "c" ? 0 : rgb ? 3 : gray ? 1 : 0;
  }
  return element.isUnsignedInteger(8) && hasRows && hasColumns ? channels : 0;
}

/// What goes through a file for each image along another axis than those of one image. Files have
/// lengths of their own, so that pixels alone can be stacked.
std::string Intrinsics::oneByOne(const std::vector<Dim> &all) const {
  const auto other = llvm::find_if(all, [](const Dim &dim) {
    return dim.axis.name != "h" && dim.axis.name != "w" && dim.axis.name != "c";
  });
  if (other == all.end())
    return "";
  const std::string axis = other->axis.name, image = "x[" + axis + " = " + axis + "]";
  std::string body = image + " |> encode(jpeg) |> decode(rgb)";
  if (!calls.empty()) { // a function around `encode`
    body = calls.back().function + "(" + image;
    for (const dsl::Param &param : llvm::drop_begin(calls.back().fn->params))
      body += ", " + param.name.text;
    body += ")";
  }
  const std::string count = other->axis.isStatic() ? std::to_string(other->axis.extent) : "8";
  return "one after the other: " +
         quote("each (" + axis + " in 0 .. " + count + ") { " + body + " }");
}

mlir::Value Intrinsics::imageToEncode(const Argument &arg) {
  const Val &x = demandTensor(arg, "encode");
  const std::vector<Dim> all = dims(x.ir);
  if (!channelsOf(elementType(x), all)) {
    const bool others =
        find(all, "h") && find(all, "w") && all.size() > 2 && (all.size() > 3 || !find(all, "c"));
    fail(arg.range,
         "`encode` takes one image, u8[h, w, c: rgb] or u8[h, w], and this is " + show(x),
         !elementType(x).isUnsignedInteger(8) ? "`u8.clamp(round(x))` makes bytes"
         : others                             ? oneByOne(all)
                                              : "");
  }
  for (const char *side : {"h", "w"}) {
    demandKnown(all, side, arg.range);
    if (const pipe::Axis &axis = find(all, side)->axis;
        axis.isStatic() && (axis.extent < 1 || axis.extent > PST_ENCODED_MAX_SIDE))
      fail(arg.range, "an encoded image has 1 to 65,500 rows and columns, and this is " + show(x));
  }
  mlir::Value height = extent(*find(all, "h")), width = extent(*find(all, "w"));
  auto inside = [&](mlir::Value side) {
    return binary(BinaryKind::bit_and, compare(Predicate::ge, side, intConstant(1)),
                  compare(Predicate::le, side, intConstant(PST_ENCODED_MAX_SIDE)));
  };
  check(binary(BinaryKind::bit_and, inside(height), inside(width)),
        "an encoded image has 1 to 65,500 rows and columns, and this one has {0} and {1}", height,
        width);
  std::vector<std::string> order = {"h", "w"};
  if (all.size() == 3)
    order.push_back("c");
  return permute(x.ir, order);
}

mlir::Value Intrinsics::jpegQuality(const Argument &arg) {
  constexpr int64_t usual = 75; // libjpeg's and Pillow's
  if (arg.value.is(Kind::Poison) && !arg.expr)
    return intConstant(usual);
  mlir::Value quality = demandIndex(arg.value, arg.range, "a quality");
  if (isElementLocal(quality))
    notYet(arg.range, "a quality that differs from element to element");
  if (const auto known = constantInt(quality)) {
    if (*known < 1 || *known > 100)
      fail(arg.range, "a JPEG quality is 1 to 100, and this is " + std::to_string(*known));
    return quality;
  }
  check(binary(BinaryKind::bit_and, compare(Predicate::ge, quality, intConstant(1)),
               compare(Predicate::le, quality, intConstant(100))),
        "a JPEG quality is 1 to 100, and this is {0}", quality, quality);
  return quality;
}

/// Bytes that a file of the image can have, as runtime/abi/encoded.h bounds them.
mlir::Value Intrinsics::encodedRoom(pipe::Codec format, mlir::Value height, mlir::Value width,
                                    int64_t channels) {
  auto times = [&](mlir::Value value, int64_t factor) {
    return binary(BinaryKind::mul, value, intConstant(factor));
  };
  auto plus = [&](mlir::Value value, int64_t more) {
    return binary(BinaryKind::add, value, intConstant(more));
  };
  if (format == pipe::Codec::png) {
    mlir::Value rows = binary(BinaryKind::mul, height, plus(times(width, channels), 1));
    mlir::Value slack = binary(BinaryKind::shr, rows, intConstant(PST_PNG_SLACK_SHIFT));
    return plus(binary(BinaryKind::add, rows, slack), PST_PNG_HEADER_ROOM);
  }
  const int64_t unit = channels == 3 ? PST_JPEG_COLOUR_UNIT : PST_JPEG_GRAY_UNIT;
  auto units = [&](mlir::Value side) {
    return binary(BinaryKind::div, plus(side, unit - 1), intConstant(unit));
  };
  const int64_t blocks = channels == 3 ? PST_JPEG_COLOUR_BLOCKS : 1;
  return plus(
      times(binary(BinaryKind::mul, units(height), units(width)), blocks * PST_JPEG_BLOCK_ROOM),
      PST_JPEG_HEADER_ROOM);
}

Val Intrinsics::encode(Args args) {
  const pipe::Codec format = *pipe::symbolizeCodec(demandWord(args[1], {"jpeg", "png"}));
  mlir::Value image = imageToEncode(args[0]), quality;
  if (format == pipe::Codec::jpeg)
    quality = jpegQuality(args[2]);
  else if (args[2].expr)
    fail(args[2].range, "a PNG file keeps every pixel, and has no `quality`");
  const std::vector<Dim> all = dims(image);
  const int64_t channels = all.size() == 3 ? all[2].axis.extent : 1;
  const std::vector<Dim> bytes = {
      roomFor("byte", encodedRoom(format, extent(all[0]), extent(all[1]), channels), "")};
  mlir::Type u8 = mlir::IntegerType::get(&context, 8, mlir::IntegerType::Unsigned);
  auto op = base.create<pipe::EncodeOp>(here, tensorOf(u8, bytes),
                                        pipe::NamedTensorType::get(&context, base.getI64Type(), {}),
                                        format, image, quality, sizesOf(bytes));
  setCount(bytes[0], op.getCount(), "`encode` has written the file");
  return tensor(op.getBytes());
}

Val Intrinsics::decodeEncoded(pipe::EncodeOp file, Args args, dsl::SourceRange range) {
  const std::string format = demandWord(args[1], {"rgb", "gray"});
  const std::vector<Dim> all = dims(file.getValue());
  const int64_t channels = all.size() == 3 ? all[2].axis.extent : 1;
  for (size_t i = 3; i < args.size(); ++i)
    if (args[i].expr)
      fail(range, i < 6 ? "`first`, `count` and `step` are of videos, and `encode` makes images"
                        : quote(args[i].name) + " is of files, and this is what `encode` made");
  if ((format == "rgb") != (channels == 3))
    fail(args[1].range,
         "what `encode` made of " + std::string(channels == 3 ? "three channels" : "one channel") +
             " is decoded as " + (channels == 3 ? "`rgb`" : "`gray`"),
         channels == 3 ? "`decode(rgb) |> grayscale`" : "");
  if (file.getFormat() == pipe::Codec::png)
    return tensor(file.getValue());
  return tensor(base.create<pipe::RecompressOp>(here, file.getValue().getType(), file.getValue(),
                                                file.getQuality(), sizesOf(all)));
}
