//===- Intrinsics.cpp - what the library cannot say in the language -------===//
//
// The table of docs/intrinsics.md. Element types are functions too: `u8(x)`,
// `u8.clamp(x)`, `u8.bits(x)`.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Places.h"
#include "dsl/Diagnostics/Nearest.h"

using namespace penstock::importer;
using penstock::pipe::BinaryKind;
using penstock::pipe::CastMode;
using penstock::pipe::ReduceKind;
using penstock::pipe::UnaryKind;

static constexpr llvm::StringRef unaryNames[] = {"abs",   "floor",      "ceil", "trunc",
                                                 "round", "round_away", "sqrt", "bit_not"};
static constexpr llvm::StringRef binaryNames[] = {"min",     "max", "bit_and", "bit_or",
                                                  "bit_xor", "shl", "shr"};
static constexpr llvm::StringRef reductions[] = {"sum", "min",   "max",    "any",
                                                 "all", "count", "argmin", "argmax"};
static constexpr llvm::StringRef others[] = {
    "extent",    "index",    "is_axis",     "reverse", "rename", "extend",   "resample",
    "gather",    "frames",   "concat",      "stack",   "place",  "contract", "sort",
    "scan_sum",  "scan_max", "scan_linear", "compact", "group",  "fft",      "encode",
    "histogram", "decode",   "pick",        "rect",    "point"};
static constexpr llvm::StringRef sourceNames[] = {"image_folder", "raw",        "synthetic",
                                                  "csv",          "file_list",  "cifar10",
                                                  "cifar100",     "tar_shards", "video_clips"};

bool Importer::isSource(llvm::StringRef name) { return llvm::is_contained(sourceNames, name); }

bool Importer::isIntrinsic(llvm::StringRef name) {
  return llvm::is_contained(unaryNames, name) || llvm::is_contained(binaryNames, name) ||
         llvm::is_contained(reductions, name) || llvm::is_contained(others, name) || isSource(name);
}

penstock::dsl::Builtins penstock::importer::builtins() {
  dsl::Builtins result;
  auto add = [](dsl::Builtins::Set &set, llvm::ArrayRef<llvm::StringRef> names) {
    for (llvm::StringRef name : names)
      set.insert(name.str());
  };
  add(result.functions, unaryNames);
  add(result.functions, binaryNames);
  add(result.functions, reductions);
  add(result.functions, others);
  add(result.functions, sourceNames);
  result.functions.insert("column");
  result.functions.insert("npy");
  result.values = {"inf",      "nan",       "pi",      "rgb",      "gray",     "nearest",   "box",
                   "bilinear", "hamming",   "bicubic", "lanczos",  "linear",   "cubic",     "edge",
                   "reflect",  "symmetric", "wrap",    "constant", "shuffled", "sequential",
                   "jpeg",     "png"};
  result.distributions = {"bits", "uniform", "int",       "permutation", "normal",
                          "beta", "gamma",   "bernoulli", "exponential", "log_uniform"};
  result.types = {"int",    "bool",          "range",    "rect",      "point", "path",  "text",
                  "bytes",  "table",         "row",      "axis",      "axes",  "word",  "filter",
                  "border", "interpolation", "duration", "frequency", "angle", "ratio", "length"};
  return result;
}

std::vector<Argument> Importer::ordered(const std::string &function,
                                        const std::vector<Argument> &args,
                                        llvm::ArrayRef<llvm::StringRef> names, size_t required,
                                        dsl::SourceRange range) {
  std::vector<Argument> result(names.size());
  size_t position = 0;
  for (const Argument &arg : args) {
    size_t at = position;
    if (!arg.name.empty())
      at = static_cast<size_t>(std::find(names.begin(), names.end(), arg.name) - names.begin());
    else
      ++position;
    if (at >= names.size() && !arg.name.empty()) {
      std::vector<std::string> known;
      for (llvm::StringRef name : names)
        known.push_back(name.str());
      std::string near = dsl::nearest(arg.name, known);
      fail(arg.range, quote(function) + " has no parameter " + quote(arg.name),
           near.empty() ? "" : quote(near));
    }
    if (at >= names.size())
      fail(arg.range, quote(function) + " takes " + std::to_string(names.size()) +
                          " arguments and gets " + std::to_string(args.size()));
    result[at] = arg;
  }
  for (size_t i = 0; i < required; ++i)
    if (result[i].value.is(Kind::Poison))
      fail(range, quote(function) + " lacks its argument " + quote(names[i].str()));
  return result;
}

std::string Importer::demandAxis(const Argument &arg, const Val *of, const std::string &function) {
  std::string axis;
  if (const auto *spelled = arg.expr ? arg.expr->as<dsl::NameExpr>() : nullptr)
    axis = axisNamed(spelled->name);
  else if (arg.value.is(Kind::Word))
    axis = arg.value.word;
  else
    fail(arg.range,
         quote(function) + " takes the name of an axis here, and this is " + show(arg.value));
  if (of && !find(dims(of->ir), axis))
    failAxis(arg.range, quote(function), axis, *of, arg.range);
  return axis;
}

std::string Importer::demandWord(const Argument &arg, llvm::ArrayRef<llvm::StringRef> words) {
  std::vector<std::string> known;
  std::string all;
  for (llvm::StringRef word : words) {
    known.push_back(word.str());
    all += (all.empty() ? "" : " ") + word.str();
  }
  if (!arg.value.is(Kind::Word))
    fail(arg.range, "this is one of the words " + all + ", not " + show(arg.value));
  if (llvm::is_contained(words, llvm::StringRef(arg.value.word)))
    return arg.value.word;
  std::string near = dsl::nearest(arg.value.word, known);
  fail(arg.range, "there is no " + quote(arg.value.word) + " here",
       near.empty() ? "the choices are " + all : quote(near));
}

const Val &Importer::demandTensor(const Argument &arg, const std::string &function) {
  if (!arg.value.is(Kind::Tensor))
    fail(arg.range, quote(function) + " takes a tensor, and this is " + show(arg.value));
  return arg.value;
}

penstock::pipe::Border Importer::borderNamed(const Argument &arg) {
  return *pipe::symbolizeBorder(
      demandWord(arg, {"constant", "edge", "reflect", "symmetric", "wrap"}));
}

Val Importer::callType(mlir::Type type, const std::string &method,
                       const std::vector<Argument> &args, dsl::SourceRange range) {
  if (args.size() != 1)
    fail(range, "a conversion takes one value and gets " + std::to_string(args.size()));
  if (method.empty())
    return castTo(CastMode::value, args[0].value, type, args[0].range);
  if (method == "clamp")
    return castTo(CastMode::clamp, args[0].value, type, args[0].range);
  if (method == "bits")
    return castTo(CastMode::bits, args[0].value, type, args[0].range);
  fail(range, "an element type has `clamp` and `bits`, not " + quote(method));
}

Val Importer::scalarFunction(const std::string &name, Args args, dsl::SourceRange range) {
  for (const Argument &arg : args)
    if (!arg.name.empty())
      fail(arg.range, quote(name) + " has no parameter " + quote(arg.name));
  if (llvm::is_contained(binaryNames, name)) {
    if (args.size() != 2)
      fail(range, quote(name) + " takes two values and gets " + std::to_string(args.size()),
           name == "min" || name == "max" ? quote(name + "(x over [h, w])") + " reduces a tensor"
                                          : "");
    return arithmetic(name, args[0].value, args[1].value, range);
  }
  if (args.size() != 1)
    fail(range, quote(name) + " takes one value and gets " + std::to_string(args.size()));
  Val value = args[0].value;
  mlir::Type type = elementType(value);
  if (!type)
    fail(args[0].range, quote(name) + " takes a number or a tensor, and this is " + show(value));
  UnaryKind kind = *pipe::symbolizeUnaryKind(name);
  const bool isFloat = llvm::isa<mlir::FloatType>(type);
  if (kind == UnaryKind::bit_not ? isFloat : kind != UnaryKind::abs && !isFloat) {
    if (!isFloat && value.is(Kind::Number) && type.isSignlessInteger(64)) {
      value = castTo(CastMode::value, value, base.getF64Type(), args[0].range);
      value.loose = true;
      type = base.getF64Type();
    } else {
      fail(args[0].range, quote(name) + " is not defined on " + show(type),
           isFloat ? "" : quote("f32(...)") + " converts");
    }
  }
  if (type.isSignlessInteger(1) && kind == UnaryKind::abs)
    fail(args[0].range, "`abs` is not defined on bool");
  if (type.isF16() || type.isBF16()) {
    type = base.getF32Type();
    value = castTo(CastMode::value, value, type, args[0].range);
  }
  Val result = lift(
      {value}, type,
      [&](auto v) { return builderFor(v).template createOrFold<pipe::UnaryOp>(here, kind, v[0]); },
      range);
  result.loose = value.loose;
  result.unit = kind == UnaryKind::sqrt ? std::nullopt : value.unit;
  return result;
}

/// What a reduction takes for nothing: a number that changes no result.
static mlir::Value withoutEffect(mlir::OpBuilder &b, mlir::Location loc, ReduceKind kind,
                                 mlir::Type type) {
  mlir::Attribute value = b.getZeroAttr(type);
  const bool smallest = kind == ReduceKind::min || kind == ReduceKind::argmin;
  const bool largest = kind == ReduceKind::max || kind == ReduceKind::argmax;
  if (auto real = llvm::dyn_cast<mlir::FloatType>(type)) {
    const auto &format = real.getFloatSemantics();
    if (kind == ReduceKind::argmin || kind == ReduceKind::argmax)
      value = b.getFloatAttr(type, llvm::APFloat::getNaN(format)); // beats nothing
    else if (smallest || largest)
      value = b.getFloatAttr(type, llvm::APFloat::getInf(format, largest));
  } else if (smallest || largest || kind == ReduceKind::all) {
    const unsigned width = type.getIntOrFloatBitWidth();
    const bool isUnsigned = type.isUnsignedInteger() || width == 1;
    llvm::APInt end =
        smallest || kind == ReduceKind::all
            ? (isUnsigned ? llvm::APInt::getMaxValue(width) : llvm::APInt::getSignedMaxValue(width))
            : (isUnsigned ? llvm::APInt::getMinValue(width)
                          : llvm::APInt::getSignedMinValue(width));
    value = b.getIntegerAttr(type, end);
  }
  return b.create<penstock::pipe::ConstantOp>(loc, type, llvm::cast<mlir::TypedAttr>(value));
}

Val Importer::reduce(const dsl::Name &name, const std::vector<Argument> &args,
                     const dsl::AxisList &over, dsl::SourceRange range) {
  const bool histogram = name.text == "histogram";
  if (!histogram && !llvm::is_contained(reductions, llvm::StringRef(name.text)))
    fail(name.range, quote(name.text) + " is no reduction",
         "sum min max any all count argmin argmax");
  const Argument &arg = args.front();
  std::vector<std::string> axes;
  for (const dsl::Name &axis : over.axes)
    axes.push_back(axisNamed(axis.text));
  if (arg.value.is(Kind::Grouped) && !histogram)
    return reduceGroups(*pipe::symbolizeReduceKind(name.text), arg, axes, range);
  if (!arg.value.is(Kind::Tensor) && !arg.value.is(Kind::Neighbours))
    fail(arg.range, quote(name.text) + " reduces a tensor, and this is " + show(arg.value));
  auto lacks = [&](const std::string &axis) {
    if (arg.value.is(Kind::Tensor))
      return !find(dims(arg.value.ir), axis);
    return llvm::none_of(arg.value.grid, [&](const Val::GridAxis &a) { return a.name == axis; });
  };
  for (size_t i = 0; i < axes.size(); ++i)
    if (lacks(axes[i]))
      failAxis(over.axes[i].range, quote(name.text), axes[i], arg.value, arg.origin());
  mlir::Type element = elementType(arg.value);
  if (histogram) {
    if (!arg.value.is(Kind::Tensor) || !element.isUnsignedInteger(8))
      notYet(arg.range, "a histogram of " + show(arg.value));
    std::vector<Dim> kept;
    for (const Dim &dim : dims(arg.value.ir))
      if (!llvm::is_contained(axes, dim.axis.name))
        kept.push_back(dim);
    kept.push_back({{"bin", 256, -1, ""}, {}});
    llvm::SmallVector<llvm::StringRef> names(axes.begin(), axes.end());
    mlir::Value keys = arg.value.ir;
    if (anyCounted(keys, axes)) {
      keys = castTo(CastMode::value, tensor(keys), base.getI32Type(), arg.range).ir;
      keys = onlyExisting(keys, axes, constant(base.getI32Type(), -1));
    }
    return tensor(base.create<pipe::HistogramOp>(here, tensorOf(base.getI32Type(), kept), keys,
                                                 base.getStrArrayAttr(names), sizesOf(kept)));
  }
  ReduceKind kind = *pipe::symbolizeReduceKind(name.text);
  const bool logical =
      kind == ReduceKind::any || kind == ReduceKind::all || kind == ReduceKind::count;
  if (logical != element.isSignlessInteger(1))
    fail(arg.range,
         quote(name.text) + (logical ? " takes truth values" : " takes numbers") +
             ", and this is " + show(arg.value),
         logical ? "compare first: `count(x > 0 over [h, w])`" : "`count` counts truth values");
  if (arg.value.is(Kind::Neighbours))
    return reduceNeighbours(kind, arg.value, axes, range);
  Val value = arg.value;
  if (element.isF16() || element.isBF16()) {
    element = base.getF32Type();
    value = castTo(CastMode::value, value, element, arg.range);
  }
  PlaceGuard guard(*this, range);
  if (anyCounted(value.ir, axes))
    value.ir = onlyExisting(value.ir, axes, withoutEffect(base, here, kind, element));
  if (kind == ReduceKind::count || kind == ReduceKind::argmin || kind == ReduceKind::argmax)
    element = base.getI64Type();
  std::vector<Dim> kept;
  for (const Dim &dim : dims(value.ir))
    if (!llvm::is_contained(axes, dim.axis.name))
      kept.push_back(dim);
  llvm::SmallVector<llvm::StringRef> names(axes.begin(), axes.end());
  return tensor(base.create<pipe::ReduceOp>(here, tensorOf(element, kept), kind, value.ir,
                                            base.getStrArrayAttr(names), sizesOf(kept)));
}

/// A record of whole numbers: `rect`, `point`.
static Val recordOf(std::vector<std::string> names, std::vector<Val> parts) {
  Val record;
  record.kind = Kind::Record;
  record.names = std::move(names);
  record.parts = std::move(parts);
  return record;
}

Val Importer::callIntrinsic(const dsl::Name &name, const std::vector<Argument> &args,
                            dsl::SourceRange range) {
  PlaceGuard guard(*this, name.range);
  const std::string &text = name.text;
  auto take = [&](llvm::ArrayRef<llvm::StringRef> names, size_t required) {
    return ordered(text, args, names, required, name.range);
  };
  if (llvm::is_contained(unaryNames, text) || llvm::is_contained(binaryNames, text))
    return scalarFunction(text, args, name.range);
  if (llvm::is_contained(reductions, text))
    fail(name.range, quote(text) + " needs the axes to reduce", quote(text + "(x over [h, w])"));
  if (text == "extent" || text == "index") {
    std::vector<Argument> given = take({"x", "a"}, 2);
    const Val &x = demandTensor(given[0], text);
    Dim axis = *find(dims(x.ir), demandAxis(given[1], &x, text));
    if (text == "index")
      return tensor(iota(axis));
    const Counted *counted = countedBy(axis);
    return counted ? tensor(counted->count) : number(extent(axis));
  }
  if (text == "is_axis") {
    std::vector<Argument> given = take({"a", "b"}, 2);
    const bool same = demandAxis(given[0], nullptr, text) == demandAxis(given[1], nullptr, text);
    return number(constant(base.getI1Type(), same));
  }
  if (text == "rect" || text == "point") {
    std::vector<llvm::StringRef> names = {"top", "left", "height", "width"};
    if (text == "point")
      names = {"y", "x"};
    std::vector<std::string> fields;
    std::vector<Val> parts;
    std::vector<Argument> given = take(names, names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      fields.push_back(names[i].str());
      parts.push_back(number(text == "rect"
                                 ? demandIndex(given[i].value, given[i].range, "a place")
                                 : demandF64(given[i].value, given[i].range, "a place")));
    }
    return recordOf(fields, parts);
  }
  if (text == "reverse")
    return reverse(take({"x", "a"}, 2), name.range);
  if (text == "rename")
    return rename(take({"x", "a", "to"}, 3), name.range);
  if (text == "extend")
    return extend(take({"x", "a", "low", "high", "border", "fill"}, 4), name.range);
  if (text == "resample")
    return resample(take({"x", "a", "extent", "filter", "antialias"}, 3), name.range);
  if (text == "gather")
    return gather(args, name.range);
  if (text == "frames")
    return frames_(take({"x", "a", "into", "length", "step"}, 5), name.range);
  if (text == "concat" || text == "stack")
    return join(text == "stack", take({"list", "a"}, 2), name.range);
  if (text == "place")
    return placeInto(args, name.range);
  if (text == "contract")
    return contract(take({"x", "matrix"}, 2), name.range);
  if (text == "encode")
    return encode(take({"x", "format", "quality"}, 2));
  if (text == "compact")
    return compact(take({"x", "mask"}, 2));
  if (text == "group")
    return group(take({"x", "by", "limit", "into"}, 3), name.range);
  if (text == "fft")
    return fft(take({"x", "a"}, 2));
  if (text == "sort")
    return sort(take({"x", "a"}, 2));
  if (text == "scan_sum" || text == "scan_max")
    return scan(text, take({"x", "a"}, 2));
  if (text == "scan_linear")
    return scan(text, take({"x", "a", "factor"}, 3));
  if (text == "decode")
    return decode(take({"data", "format", "orient", "first", "count", "step"}, 2), name.range);
  if (text == "pick")
    return pick(take({"table", "index"}, 2), name.range);
  fail(name.range, quote(text) + " has no meaning here");
}
