// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics: functions that the library cannot define in the language.
//
// The table of docs/intrinsics.md. Element types are functions too: `u8(x)`,
// `u8.clamp(x)`, `u8.bits(x)`.
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "compiler/Import/Import.h"

using namespace penstock::importer;
using penstock::pipe::CastMode;
using penstock::pipe::UnaryKind;

static constexpr llvm::StringRef unaryNames[] = {"abs",   "floor",      "ceil", "trunc",
                                                 "round", "round_away", "sqrt", "bit_not"};
static constexpr llvm::StringRef binaryNames[] = {"min",     "max", "bit_and", "bit_or",
                                                  "bit_xor", "shl", "shr"};
static constexpr llvm::StringRef reductions[] = {"sum", "min",   "max",    "any",
                                                 "all", "count", "argmin", "argmax"};
static constexpr llvm::StringRef others[] = {
    "extent",   "index",    "is_axis",  "is_counted", "is_known",    "reverse", "rename",
    "extend",   "resample", "gather",   "frames",     "concat",      "stack",   "place",
    "contract", "sort",     "scan_sum", "scan_max",   "scan_linear", "compact", "group",
    "fft",      "encode",   "split",    "merge",      "histogram",   "decode",  "probe",
    "pick",     "rect",     "point",    "check",      "scatter",     "filter"};
static constexpr llvm::StringRef wordTakers[] = {
    "extent", "index",    "is_axis", "is_counted", "is_known", "reverse",     "rename",
    "extend", "resample", "gather",  "frames",     "concat",   "stack",       "split",
    "merge",  "place",    "sort",    "scan_sum",   "scan_max", "scan_linear", "fft",
    "encode", "decode",   "probe",   "scatter",    "filter"};
static constexpr llvm::StringRef sourceNames[] = {
    "image_folder", "raw",         "synthetic",  "csv",         "file_list",
    "cifar10",      "cifar100",    "tar_shards", "video_clips", "external_source",
    "json_lines",   "audio_folder"};

bool Intrinsics::isSource(llvm::StringRef name) { return llvm::is_contained(sourceNames, name); }

bool Intrinsics::isReduction(llvm::StringRef name) {
  return llvm::is_contained(reductions, name) || name == "histogram";
}

bool Intrinsics::isIntrinsic(llvm::StringRef name) {
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
  add(result.takeWords, wordTakers);
  result.functions.insert("column");
  result.functions.insert("npy");
  result.functions.insert("classes");
  result.values = {"inf",      "nan",        "pi",      "rgb",       "gray",    "nearest",
                   "box",      "bilinear",   "hamming", "bicubic",   "lanczos", "linear",
                   "cubic",    "edge",       "reflect", "symmetric", "wrap",    "constant",
                   "shuffled", "sequential", "jpeg",    "png"};
  result.distributions = {"bits", "uniform", "int",       "permutation", "normal",
                          "beta", "gamma",   "bernoulli", "exponential", "log_uniform"};
  result.types = {"int",    "bool",          "range",    "rect",      "point", "path",  "text",
                  "bytes",  "table",         "row",      "axis",      "axes",  "word",  "filter",
                  "border", "interpolation", "duration", "frequency", "angle", "ratio", "length"};
  return result;
}

Val Intrinsics::callType(mlir::Type type, const std::string &method,
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

Val Intrinsics::scalarFunction(const std::string &name, Args args, dsl::SourceRange range) {
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
  if (value.unit && kind != UnaryKind::abs) // of seconds, not of what was written
    fail(args[0].range, quote(name) + " takes a number, and this is " + show(value),
         "divide it by the unit that is meant, as in " +
             quote(name + "(x / 1" + ownUnit(*value.unit) + ")"));
  const bool isFloat = llvm::isa<mlir::FloatType>(type);
  if (kind == UnaryKind::bit_not ? isFloat : kind != UnaryKind::abs && !isFloat) {
    if (!isFloat && value.is(Kind::Number) && type.isSignlessInteger(64)) {
      value = castTo(CastMode::value, value, base.getF64Type(), args[0].range);
      value.untyped = true;
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
  result.untyped = value.untyped;
  result.unit = value.unit;
  return result;
}

/// A record of whole numbers: `rect`, `point`.
static Val recordOf(std::vector<std::string> names, std::vector<Val> parts) {
  Val record;
  record.kind = Kind::Record;
  record.names = std::move(names);
  record.parts = std::move(parts);
  return record;
}

Val Intrinsics::callIntrinsic(const dsl::Name &name, const std::vector<Argument> &args,
                              dsl::SourceRange range) {
  PlaceGuard guard(*this, name.range);
  const std::string &text = name.text;
  if (std::optional<Val> small = callSmall(text, args, name.range))
    return *small;
  auto take = [&](llvm::ArrayRef<llvm::StringRef> names, size_t required) {
    return ordered(text, args, names, required, name.range);
  };
  if (llvm::is_contained(unaryNames, text) || llvm::is_contained(binaryNames, text))
    return scalarFunction(text, args, name.range);
  if (isReduction(text))
    fail(name.range, quote(text) + " needs the axes to reduce", quote(text + "(x over [h, w])"));
  if (text == "extent" || text == "index") {
    std::vector<Argument> given = take({"x", "a"}, 2);
    // Names of axes, also those that are names of values.
    if (const auto *list = given[1].expr ? given[1].expr->as<dsl::ListExpr>() : nullptr;
        list && text == "extent" && llvm::all_of(list->items, [](const auto &item) {
          return item->template as<dsl::NameExpr>();
        })) {
      given[1].value = Val();
      given[1].value.kind = Kind::List;
      for (const dsl::ExprPtr &item : list->items)
        given[1].value.parts.push_back(wordOf(axisNamed(item->cast<dsl::NameExpr>().name)));
    }
    if (!given[1].value.is(Kind::List) &&
        isBatchAxis(demandAxis(given[1], nullptr, text), given[0].value))
      return text == "extent" ? samplesOfBatch()
                              : number(base.create<pipe::ContextOp>(here, base.getI64Type(),
                                                                    pipe::ContextKind::slot));
    const Val &x = demandTensor(given[0], text);
    if (text == "extent" && given[1].value.is(Kind::List)) {
      std::vector<dsl::Name> named;
      for (const Val &part : given[1].value.parts)
        named.push_back({part.word, given[1].range});
      demandDistinct(named);
      Val all = number(intConstant(1));
      for (const Val &part : given[1].value.parts) {
        Argument one{part, "", nullptr, given[1].range};
        if (isBatchAxis(part.word, x)) {
          all = arithmetic("*", all, samplesOfBatch(), name.range);
          continue;
        }
        Dim axis = *find(dims(x.ir), demandAxis(one, &x, text));
        const Counted *counted = countedBy(axis);
        all = arithmetic("*", all, counted ? tensor(counted->count) : number(extent(axis)),
                         name.range);
      }
      return all;
    }
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
  if (text == "is_known") {
    std::vector<Argument> given = take({"x"}, 1);
    const bool known = given[0].value.is(Kind::Number) && constantInt(given[0].value.ir);
    return number(constant(base.getI1Type(), known));
  }
  if (text == "is_counted") {
    std::vector<Argument> given = take({"x", "a"}, 2);
    const Val &x = demandTensor(given[0], text);
    const bool counted = countedBy(*find(dims(x.ir), demandAxis(given[1], &x, text)));
    return number(constant(base.getI1Type(), counted));
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
  if (text == "split")
    return split(take({"x", "a", "into", "size"}, 4), name.range);
  if (text == "merge")
    return merge(take({"x", "a", "b"}, 3), name.range);
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
    return group(take({"x", "by", "limit", "into", "mask", "along"}, 3), name.range);
  if (text == "scatter")
    return scatter(args, name.range);
  if (text == "filter")
    return filter(take({"x", "a", "numerator", "denominator"}, 4));
  if (text == "fft")
    return fft(take({"x", "a"}, 2));
  if (text == "sort")
    return sort(take({"x", "a"}, 2));
  if (text == "scan_sum" || text == "scan_max")
    return scan(text, take({"x", "a"}, 2));
  if (text == "scan_linear")
    return scan(text, take({"x", "a", "factor"}, 3));
  if (text == "decode")
    return decode(take({"data", "format", "orient", "first", "count", "step", "order", "skip",
                        "depth", "header", "fields"},
                       2),
                  name.range);
  if (text == "probe")
    return probe(take({"data", "medium"}, 2));
  if (text == "pick")
    return pick(take({"table", "index"}, 2), name.range);
  fail(name.range, quote(text) + " has no meaning here");
}
