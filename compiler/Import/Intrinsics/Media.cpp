// SPDX-License-Identifier: Apache-2.0
//
// Rows and media.
#include "runtime/abi/media.h"
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "dsl/Diagnostics/Nearest.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace penstock::importer;

Val Intrinsics::rowField(const Val &row, const std::string &name, dsl::SourceRange range) {
  // One value however often it is named: what is compared by it is the same number then.
  Val &known = fields[{row.ir.getAsOpaquePointer(), name}];
  if (!known.is(Kind::Poison))
    return known;
  // Beside the row, so that a field read in the batch block is not part of it.
  mlir::OpBuilder::InsertionGuard guard(base);
  if (mlir::Operation *op = row.ir.getDefiningOp())
    base.setInsertionPointAfter(op);
  std::vector<std::string> names;
  for (const Column &column : *row.columns) {
    names.push_back(column.name);
    if (column.name != name)
      continue;
    Val result;
    llvm::SmallVector<mlir::Value> sizes;
    if (auto type = llvm::dyn_cast<pipe::NamedTensorType>(column.type)) {
      result.kind = Kind::Tensor;
      for (int64_t axis : type.dynamicAxes())
        sizes.push_back(base.create<pipe::FieldExtentOp>(
            here, base.getI64Type(), row.ir, name, type.getAxes()[static_cast<size_t>(axis)].name));
    } else {
      result.kind = llvm::isa<pipe::BytesType>(column.type)  ? Kind::Bytes
                    : llvm::isa<pipe::TextType>(column.type) ? Kind::Text
                                                             : Kind::Number;
    }
    result.ir = base.create<pipe::FieldOp>(here, column.type, row.ir, name, sizes);
    if (!column.seen.empty())
      result.ir = permute(result.ir, column.seen);
    return known = result;
  }
  if (name == "index")
    return known = number(placeOf(row.ir));
  auto report = error(range, "a row has no field " + quote(name));
  std::string all;
  for (const std::string &known : names)
    all += (all.empty() ? "" : ", ") + known;
  names.emplace_back("index");
  const std::string near = dsl::nearest(name, names);
  report.hint(near.empty() ? "its fields are " + all : quote(near));
  throw Abort{};
}

mlir::Value Intrinsics::placeOf(mlir::Value row) {
  return base.create<pipe::RowIndexOp>(here, base.getI64Type(), row);
}

/// `number` with what was asked for in the place of where picked rows stand, which is known later:
/// rows that are picked by one number are replaced together. `asked` has what is known so far.
mlir::Value Intrinsics::asAsked(mlir::Value number, mlir::IRMapping &asked) {
  if (mlir::Value known = asked.lookupOrNull(number))
    return known;
  auto pickOf = [](mlir::Operation *op) {
    auto place = llvm::dyn_cast_if_present<pipe::RowIndexOp>(op);
    return place ? place.getRow().getDefiningOp<pipe::PickOp>() : pipe::PickOp();
  };
  mlir::Operation *op = number.getDefiningOp();
  if (pipe::PickOp pick = pickOf(op)) {
    // As the runtime takes it: what lies outside is the first row or the last one.
    const mlir::Value last = binary(
        BinaryKind::sub, base.create<pipe::LengthOp>(here, base.getI64Type(), pick.getTable()),
        intConstant(1));
    return binary(BinaryKind::max, binary(BinaryKind::min, pick.getIndex(), last), intConstant(0));
  }
  if (!op || !behind(number, [&](mlir::Operation *of) { return bool(pickOf(of)); }))
    return number;
  llvm::SetVector<mlir::Value> used(op->operand_begin(), op->operand_end());
  mlir::getUsedValuesDefinedAbove(op->getRegions(), used);
  for (mlir::Value value : used)
    asked.map(value, asAsked(value, asked));
  return base.clone(*op, asked)->getResult(llvm::cast<mlir::OpResult>(number).getResultNumber());
}

/// The number of rows, where it is known when compiling.
static std::optional<int64_t> lengthOf(mlir::Value table) {
  auto source = table.getDefiningOp<penstock::pipe::SourceOp>();
  if (!source)
    return std::nullopt;
  for (auto [name, value] :
       llvm::zip(source.getArgNames().getAsValueRange<mlir::StringAttr>(), source.getArgs()))
    if (name == "length" && source.getKind() == "synthetic")
      return Scalars::constantInt(value);
  return std::nullopt;
}

Val Intrinsics::pick(Args args, dsl::SourceRange range) {
  const Val &table = args[0].value;
  if (!table.is(Kind::Table))
    fail(args[0].range, "`pick` takes a table, and this is " + show(table),
         "name it before `for`: `let table = image_folder(root)`");
  if (args[1].value.is(Kind::Tensor) && args[1].value.tensorType().getRank() == 0)
    fail(args[1].range,
         "a row number is known before any tensor is made, and this is one's element",
         "draw it where the row is picked: `pick(table, draw int(0 .. table.length))`");
  mlir::IRMapping asked;
  const mlir::Value number =
      asAsked(demandIndex(args[1].value, args[1].range, "a row number"), asked);
  if (isElementLocal(number))
    fail(args[1].range, "a row is picked for the sample, and this differs from element to element",
         "what elements look up stands in a tensor: `x[k = i]`");
  if (const std::optional<int64_t> place = constantInt(number)) {
    const std::optional<int64_t> length = lengthOf(table.ir);
    if (*place < 0 || (length && *place >= *length))
      fail(args[1].range, "there is no row " + std::to_string(*place) +
                              (length ? " in a table of " + std::to_string(*length) : "") +
                              ": rows count from 0");
  }
  const bool isOfRow = behind(number, [](mlir::Operation *op) {
    return llvm::isa<pipe::FieldOp, pipe::FieldExtentOp, pipe::FieldElementOp, pipe::ProbeOp>(op);
  });
  if (isOfRow)
    fail(args[1].range,
         "the number of a picked row must be known before any row is fetched, and this depends on "
         "a value of a row",
         "it may depend on parameters, draws, lengths and `row.index`: `draw int(0 .. "
         "table.length)`; what "
         "belongs to a row can be a column of its own table");
  Val row;
  row.kind = Kind::Row;
  row.columns = table.columns;
  row.ir = base.create<pipe::PickOp>(here, pipe::RowType::get(&context), table.ir, number);
  return row;
}

/// The table that bytes come from, or null.
static penstock::pipe::SourceOp sourceOf(mlir::Value bytes) {
  using namespace penstock;
  auto field = bytes.getDefiningOp<pipe::FieldOp>();
  mlir::Operation *row = field ? field.getRow().getDefiningOp() : nullptr;
  if (!row || !llvm::isa<pipe::RowOp, pipe::PickOp>(row))
    return {};
  return row->getOperand(0).getDefiningOp<pipe::SourceOp>(); // of both, the table
}

/// Returns whether bytes are known to be those of a video.
static bool isVideo(mlir::Value bytes) {
  auto source = sourceOf(bytes);
  const auto hasVideos = [](penstock::pipe::SourceOp op) { return op.getKind() == "video_clips"; };
  if (!source || source.getKind() != "concat")
    return source && hasVideos(source);
  return llvm::all_of(source.getArgs(), [&](mlir::Value argument) {
    auto part = argument.getDefiningOp<penstock::pipe::SourceOp>();
    return !part || hasVideos(part);
  });
}

/// Returns the place of the index that a table of videos keeps of their packets.
static std::string placeOfIndex(penstock::pipe::SourceOp source) {
  using namespace penstock;
  std::string place = "in the cache folder";
  for (auto [name, value] :
       llvm::zip(source.getArgNames().getAsRange<mlir::StringAttr>(), source.getArgs())) {
    if (name == "keep_index")
      return "for this session only, as the pipeline says `index = off`";
    if (name == "index")
      if (auto param = value.getDefiningOp<pipe::ParamOp>())
        place = "in the folder that parameter " + quote(param.getName().str()) + " names";
  }
  return source.getKind() == "video_clips" ? "with those of all files of `video_clips`, " + place
                                           : "in a file of its own below `videos` " + place;
}

/// Adds remarks on the part of a file that is read: the frames that are asked for here decide it,
/// and no pass changes it. `step` is empty if samples differ in it.
static void explainClip(penstock::pipe::DecodeOp decode, std::optional<int64_t> step) {
  using namespace penstock;
  const int64_t count = llvm::cast<pipe::NamedTensorType>(decode.getType()).getAxes()[0].extent;
  std::string frames =
      count == 1 ? "1 frame" : (count > 0 ? std::to_string(count) : "`t`") + " frames";
  if (count != 1 && step != 1)
    frames += ", each " + (step ? std::to_string(*step) : "`step`") + " after the last,";
  auto remark = [&](const std::string &text) { pipe::addRemark(decode, "import", text); };
  remark("reads the packets of " + frames +
         " and of those that they refer to, and no more of the file; all of it where packets lie "
         "in pieces or frames have no times");
  remark("does not decode frames that are not wanted and that no other refers to");
  if (auto source = sourceOf(decode.getData()))
    remark("finds packets by the file's index, which is made once and kept " +
           placeOfIndex(source));
}

mlir::Value Intrinsics::headerNumber(llvm::StringRef medium, llvm::StringRef number,
                                     mlir::Value data) {
  const media::Medium &known = media::all[media::find(std::string_view(medium))];
  const int at = media::numberNamed(known, std::string_view(number));
  mlir::Type type = known.numbers[static_cast<size_t>(at)].isReal ? mlir::Type(base.getF64Type())
                                                                  : base.getI64Type();
  return base.create<pipe::ProbeOp>(here, type, medium, number, data);
}

Val Intrinsics::probe(Args args) {
  const Val &data = args[0].value;
  if (!data.is(Kind::Bytes))
    fail(args[0].range, "`probe` takes the bytes of a file, and this is " + show(data));
  // As it is spelled: the sample may well have a value of the name `image`.
  const auto *spelled = args[1].expr ? args[1].expr->as<dsl::NameExpr>() : nullptr;
  const std::string name = spelled ? spelled->name : args[1].value.word;
  const int number = media::find(name);
  if (number < 0) {
    std::vector<std::string> known;
    std::string all;
    for (const media::Medium &medium : media::all) {
      known.emplace_back(medium.name);
      all += (all.empty() ? "" : " ") + known.back();
    }
    std::string near = dsl::nearest(name, known);
    fail(args[1].range,
         name.empty() ? "`probe` takes the name of a medium, and this is " + show(args[1].value)
                      : "there is no medium " + quote(name),
         near.empty() ? "the media are " + all : quote(near));
  }
  const media::Medium &medium = media::all[number];
  Val record;
  record.kind = Kind::Record;
  for (const media::Number &entry : medium.numbers) {
    record.names.emplace_back(entry.name);
    record.parts.push_back(Arithmetic::number(
        headerNumber(std::string_view(medium.name), std::string_view(entry.name), data.ir)));
  }
  return record;
}

Val Intrinsics::decodeWave(Args args) {
  for (size_t i = 2; i < args.size(); ++i)
    if (!args[i].value.is(Kind::Poison))
      fail(args[i].range,
           quote(args[i].name.empty() ? "orient" : args[i].name) + " is not for sound",
           i >= 3 && i <= 5 ? "a slice of it: `[t = a .. b]`" : "");
  const std::string format = args[1].value.word;
  mlir::Value data = args[0].value.ir;
  std::vector<Dim> axes = {{{"t", -1, -1, ""}, headerNumber("wave", "samples", data)}};
  if (format == "channels")
    axes.push_back({{"c", -1, -1, ""}, headerNumber("wave", "channels", data)});
  return tensor(base.create<pipe::DecodeOp>(
      here, tensorOf(base.getF32Type(), axes), "wave", format, data, mlir::ValueRange(),
      sizesOf(axes), mlir::ArrayAttr(), mlir::ValueRange(), false, mlir::FlatSymbolRefAttr()));
}

/// Refuses the name of a format of files, since `decode` asks what its elements become.
void Intrinsics::refuseFormat(llvm::StringRef word, dsl::SourceRange range) {
  const std::string hint =
      llvm::StringSwitch<std::string>(word)
          .Cases("bin", "raw", "dat", "numbers",
                 "what the numbers are, and how many bytes stand before them: "
                 "`decode(f32[k, f = 4], skip = 128)`")
          .Cases("npy", "npz", "numpy",
                 "what the numbers are, of a file with one array: "
                 "`decode(f32[k, f = 4], header = npy)`")
          .Cases("nifti", "nii", "volume", "voxels", "mri", "ct",
                 "what the voxels become: `decode(f32[z, h, w], header = nifti)`")
          .Cases("ply", "pcd", "points", "cloud", "lidar",
                 "what the numbers of each point become: "
                 "`decode(f32[k, f], header = ply, fields = [x, y, z])`")
          .Cases("wav", "mp3", "flac", "ogg", "audio", "sound",
                 "`decode(mono)` mixes the channels, `decode(channels)` keeps them, of all formats")
          .Cases("jpeg", "jpg", "png", "webp", "image", "pil",
                 "`decode(rgb)` or `decode(gray)`, of all formats")
          .Cases("palette", "indexed", "indices", "mask", "labels", "classes", "p",
                 "`decode(index)` gives the numbers of a palette")
          .Default("");
  if (!hint.empty())
    fail(range, "there is no " + quote(word.str()) + " here", hint);
}

bool Intrinsics::demandOrient(const Argument &arg) {
  const Val is = castTo(pipe::CastMode::value, number(demandBool(arg.value, arg.range, "`orient`")),
                        base.getI64Type(), arg.range);
  return demandInt(is, arg.range, "`orient`") != 0;
}

Val Intrinsics::decode(Args args, dsl::SourceRange range) {
  const Val &data = args[0].value;
  if (data.is(Kind::Tensor))
    if (auto file = data.ir.getDefiningOp<pipe::EncodeOp>())
      return decodeEncoded(file, args, range);
  if (!data.is(Kind::Bytes))
    fail(args[0].range, "`decode` takes the bytes of a file, and this is " + show(data),
         data.is(Kind::Row) ? "the column that has them, such as `row.data`" : "");
  if (args[1].value.is(Kind::Type))
    return decodeNumbers(args, range);
  if (args[1].value.is(Kind::Word) && elementNamed(args[1].value.word))
    fail(args[1].range, "a type of numbers has axes, and this is " + quote(args[1].value.word),
         quote(args[1].value.word + "[k]"));
  if (args[1].value.is(Kind::Word) &&
      (args[1].value.word == "mono" || args[1].value.word == "channels"))
    return decodeWave(args);
  if (args[1].value.is(Kind::Word))
    refuseFormat(args[1].value.word, args[1].range);
  std::string format = demandWord(args[1], {"rgb", "gray", "index", "mono", "channels"});
  auto given = [&](size_t i) { return !args[i].value.is(Kind::Poison); };
  for (size_t i : {6, 7, 9, 10})
    if (given(i))
      fail(args[i].range, quote(args[i].name) + " is for numbers, and these are pixels",
           "`decode(f32[k, f = 4], skip = 128)`");
  const bool isClip = given(4);
  if (!isClip && (isVideo(data.ir) || given(3) || given(5)))
    fail(range, "`decode` of a video needs `count`, the number of its frames that are wanted",
         "`decode(rgb, first = 0, count = 16, step = 4)`");
  int64_t depth = 8;
  if (given(8)) {
    depth = demandInt(args[8].value, args[8].range, "`depth`");
    if (depth != 8 && depth != 16 && depth != 32)
      fail(args[8].range,
           "a depth of " + std::to_string(depth) + " bits; pixels have 8 or 16, or 32 as floats");
    if (format == "index" && depth != 8)
      fail(args[8].range, "numbers of a palette have 8 bits",
           "`decode(gray, depth = 16)` gives the numbers of a file of 16 bits");
    if (isClip && depth != 8)
      fail(args[8].range, "the frames of a video have 8 bits a channel");
  }
  if (isClip && format == "index")
    fail(args[1].range, "the frames of a video have no palette", "`gray`");
  const char *medium = isClip ? "video" : "image";
  const bool orient = given(2) && demandOrient(args[2]);
  auto header = [&](const char *name) { return headerNumber(medium, name, data.ir); };
  mlir::Value height = header("height"), width = header("width");
  if (depth != 8) {
    mlir::Value found = header("depth"), wanted = intConstant(depth);
    check(compare(pipe::Predicate::eq, found, wanted),
          "the file has {0} bits a channel, and `depth = {1}` is for files of {1}", found, wanted);
  }
  if (format == "index")
    check(compare(pipe::Predicate::eq, header("indexed"), intConstant(1)),
          "the file has no numbers of a palette, which `decode(index)` gives: its pixels are "
          "colours, or of 16 bits",
          height, width);
  if (orient) { // the last four orientations exchange the sides
    mlir::Value turned = compare(pipe::Predicate::ge, header("orientation"), intConstant(5));
    mlir::Value stored = height;
    height = select(turned, width, stored);
    width = select(turned, stored, width);
  }
  std::vector<Dim> axes = {
      {{"h", -1, -1, ""}, height},
      {{"w", -1, -1, ""}, width},
      {{"c", format == "rgb" ? 3 : 1, -1, format == "index" ? "" : format}, {}}};
  llvm::SmallVector<mlir::Value> frames;
  if (isClip) {
    auto numberOf = [&](size_t i, int64_t otherwise, const char *what) {
      return given(i) ? demandIndex(args[i].value, args[i].range, what) : intConstant(otherwise);
    };
    frames = {numberOf(3, 0, "the number of a frame"), numberOf(5, 1, "a step")};
    if (const auto step = constantInt(frames[1]); step && *step < 1)
      fail(args[5].range, "a step of " + std::to_string(*step) + ", the least is 1");
    const Dim count = dim("t", demandIndex(args[4].value, args[4].range, "a number of frames"), "",
                          args[4].range);
    if (count.axis.extent == 0)
      fail(args[4].range, "a clip of no frames");
    axes.insert(axes.begin(), count);
  }
  mlir::Type channel =
      depth == 32 ? mlir::Type(base.getF32Type())
                  : mlir::IntegerType::get(&context, unsigned(depth), mlir::IntegerType::Unsigned);
  auto op = base.create<pipe::DecodeOp>(here, tensorOf(channel, axes), medium, format, data.ir,
                                        frames, sizesOf(axes), mlir::ArrayAttr(),
                                        mlir::ValueRange(), orient, mlir::FlatSymbolRefAttr());
  if (isClip)
    explainClip(op, constantInt(frames[1]));
  return tensor(op);
}
