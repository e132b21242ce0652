// SPDX-License-Identifier: Apache-2.0
//
// The tables that pipelines run over.
//
// One function per source. What a path is, and what stands in files, is known
// when a session starts; names and types of columns are known here.
#include "compiler/Import/Expressions/Sources.h"

#include "dsl/Sema/OtherLibraries.h"
#include "llvm/ADT/StringSet.h"

using namespace penstock::importer;

namespace penstock::importer {
namespace {

/// One use of a source: a function per kind fills what the op is made of.
class SourceImport {
public:
  SourceImport(Expressions &in, const dsl::Name &name, const dsl::ArgList &list)
      : in(in), name(name), list(list) {}
  Val run();

private:
  void classFolders();
  void rawColumns();
  void syntheticColumns();
  void csvColumns();
  void jsonColumns();
  size_t giveList();
  void fileList();
  void cifarColumns(bool fine);
  void tarColumns();
  void videoClips();
  void externalColumns();
  void concatTables();

  void give(const std::string &argName, mlir::Value value) {
    argNames.push_back(argName);
    args.push_back(value);
  }
  void givePath(const std::string &argName, const dsl::Expr &expr);
  void giveIndex();
  void namedColumn(const dsl::Arg &arg, bool numbered, bool hasLists = false);
  bool giveClasses(const std::string &column, const dsl::Expr &spelled);
  void widen(Column &column, const Column &other, dsl::SourceRange range);
  mlir::Type columnType(const dsl::Expr &expr, const std::string &column);
  void boundExtent(Dim &axis, const Argument &range, const std::string &column);

  Expressions &in;
  const dsl::Name &name;
  const dsl::ArgList &list;
  Columns columns;
  llvm::SmallVector<mlir::Value> args;
  std::vector<std::string> argNames;
  llvm::SmallVector<mlir::NamedAttribute> settings;
  /// The first columns read from text by name and by number.
  const dsl::Arg *byName = nullptr, *byNumber = nullptr;
};

} // namespace
} // namespace penstock::importer

/// An extent that differs by row: `k = 2 ..= 5`. Its lower end is no part of a type.
void SourceImport::boundExtent(Dim &axis, const Argument &range, const std::string &column) {
  const auto [least, most] =
      in.demandIntEnds(range.value, range.range, "the smallest extent", "the largest extent");
  if (least < 0)
    in.fail(range.range, "an extent of " + std::to_string(least));
  axis.axis.bound = most - (range.value.closed ? 0 : 1);
  if (axis.axis.bound < least)
    in.fail(range.range, "no extent lies in this range: it begins at " + std::to_string(least) +
                             " and ends " + (range.value.closed ? "at " : "before ") +
                             std::to_string(most));
  if (least > 0)
    settings.push_back(in.base.getNamedAttr(column + ".least", in.base.getI64IntegerAttr(least)));
}

mlir::Type SourceImport::columnType(const dsl::Expr &expr, const std::string &column) {
  if (const auto *name = expr.as<dsl::NameExpr>())
    if (mlir::Type type = in.elementNamed(name->name))
      return type;
  const auto *index = expr.as<dsl::IndexExpr>();
  const auto *name = index ? index->base->as<dsl::NameExpr>() : nullptr;
  mlir::Type element = name ? in.elementNamed(name->name) : mlir::Type();
  if (const auto *other = expr.as<dsl::NameExpr>()) {
    const std::string_view ours = dsl::ourType(other->name);
    const bool isWide = other->name == "u64" || other->name == "uint64";
    if (isWide || other->name == "u32" || other->name == "uint32")
      in.fail(expr.range, quote(other->name) + " is not an element type",
              std::string(isWide ? "`i64` has as many bytes" : "`i32` has as many bytes") +
                  ", and the same numbers below 2^" + (isWide ? "63" : "31") +
                  (isWide ? "" : "; in a table of text, `i64` holds all"));
    in.fail(expr.range, quote(other->name) + " is not an element type",
            ours.empty() ? "`i64`, or with axes `u8[h = 32, w = 32, c = rgb]`"
                         : quote(std::string(ours)));
  }
  if (!element)
    in.fail(expr.range,
            "a column has an element type, such as `i64` or `u8[h = 32, w = 32, c = rgb]`");
  std::vector<Dim> axes;
  for (const dsl::AxisSetting &setting : index->settings) {
    Dim axis{{setting.axis.text, -1, -1, ""}, {}};
    if (!setting.value)
      in.fail(setting.range, "axis " + quote(setting.axis.text) + " of a column needs an extent",
              quote(setting.axis.text + " = 32"));
    Argument arg = in.evalArg(*setting.value);
    if (arg.value.is(Kind::Word)) {
      axis.axis.extent = in.formatExtent(arg.value.word, arg.range);
      axis.axis.metadata = arg.value.word;
    } else if (arg.value.is(Kind::Range)) {
      if (!axes.empty())
        in.notYet(arg.range, "an extent that differs by row anywhere but on the first axis");
      boundExtent(axis, arg, column);
    } else {
      axis.axis.extent = in.demandInt(arg.value, arg.range, "an extent");
      if (axis.axis.extent < 0)
        in.fail(arg.range, "an extent of " + std::to_string(axis.axis.extent));
    }
    axes.push_back(axis);
  }
  PlaceGuard guard(in, expr.range);
  return in.tensorOf(element, axes);
}

/// The call `callee(where, type)`, or null.
static const penstock::dsl::CallExpr *columnCall(const penstock::dsl::Expr &expr,
                                                 llvm::StringRef callee) {
  const auto *call = expr.as<penstock::dsl::CallExpr>();
  const auto *name = call ? call->callee->as<penstock::dsl::NameExpr>() : nullptr;
  return name && name->name == callee && call->args.args.size() == 2 ? call : nullptr;
}

void SourceImport::givePath(const std::string &argName, const dsl::Expr &expr) {
  Val value = in.eval(expr);
  if (!value.is(Kind::Text))
    in.fail(expr.range,
            "a path comes from a parameter of type path, and this is " + in.show(value));
  give(argName, value.ir);
}

void SourceImport::giveIndex() {
  if (in.index.folder)
    give("index", in.index.folder);
  else if (!in.index.keep)
    give("keep_index", in.constant(in.base.getI1Type(), 0));
  else if (in.index.build)
    give("build_index", in.constant(in.base.getI1Type(), 1));
}

void SourceImport::classFolders() {
  if (list.args.size() != 1)
    in.fail(name.range, quote(name.text) + " takes one argument, its root");
  givePath("root", *list.args[0].value);
  giveIndex();
  columns = {{"data", pipe::BytesType::get(&in.context)},
             {"label", in.base.getI64Type()},
             {"name", pipe::TextType::get(&in.context)}};
}

void SourceImport::rawColumns() {
  for (const dsl::Arg &arg : list.args) {
    const dsl::CallExpr *plain = columnCall(*arg.value, "column");
    const dsl::CallExpr *call = plain ? plain : columnCall(*arg.value, "npy");
    if (!arg.name || !call)
      in.fail(arg.range, "`raw` takes named columns",
              "`label = column(labels, i64)`, or `npy(labels, i64)` for a .npy file");
    const dsl::Expr &spelled = *call->args.args[1].value;
    mlir::Type type = columnType(spelled, arg.name->text);
    if (auto shaped = llvm::dyn_cast<pipe::NamedTensorType>(type); shaped && !shaped.isStatic())
      in.fail(spelled.range, "the rows of a raw column have one size");
    givePath(arg.name->text, *call->args.args[0].value);
    if (!plain)
      settings.push_back(
          in.base.getNamedAttr(arg.name->text + ".format", in.base.getStringAttr("npy")));
    columns.push_back({arg.name->text, type});
  }
}

void SourceImport::syntheticColumns() {
  if (list.args.empty() || list.args[0].name)
    in.fail(name.range, "`synthetic` takes its length first, then named columns",
            "`synthetic(1000, label = 0 .. 10)`");
  const dsl::Arg &length = list.args[0];
  const mlir::Value rows =
      in.demandIndex(in.eval(*length.value), length.range, "the length of a table");
  constexpr int64_t most = int64_t(1) << 48;
  if (const auto known = Scalars::constantInt(rows); known && (*known < 0 || *known > most))
    in.fail(length.range,
            "`synthetic` of " + std::to_string(*known) + " rows; it can have 0 up to 2^48");
  give("length", rows);
  for (const dsl::Arg &arg : llvm::ArrayRef(list.args).drop_front()) {
    if (!arg.name)
      in.fail(arg.range, "a column needs a name", "`label = i64`");
    if (!arg.value->as<dsl::RangeExpr>()) {
      columns.push_back({arg.name->text, columnType(*arg.value, arg.name->text)});
      continue;
    }
    Val range = in.eval(*arg.value);
    const bool whole = range.parts[0].ir.getType().isSignlessInteger(64);
    mlir::Value end = range.parts[1].ir;
    if (whole && range.closed)
      end = in.binary(pipe::BinaryKind::add, end, in.intConstant(1));
    give(arg.name->text + ".low", range.parts[0].ir);
    give(arg.name->text + ".end", end);
    columns.push_back({arg.name->text, range.parts[0].ir.getType()});
  }
}

/// `classes("cat", "dog")`, or `classes(names)` of a file that has them: numbers of names.
bool SourceImport::giveClasses(const std::string &column, const dsl::Expr &spelled) {
  const auto *call = spelled.as<dsl::CallExpr>();
  const auto *callee = call ? call->callee->as<dsl::NameExpr>() : nullptr;
  if (!callee || callee->name != "classes")
    return false;
  const auto &names = call->args.args;
  if (names.empty())
    in.fail(spelled.range,
            "`classes` takes the names that a column has, or a file with a name per line",
            "`classes(\"cat\", \"dog\")`");
  if (names.size() == 1 && !names[0].value->as<dsl::StringLit>()) {
    givePath(column + ".classes_file", *names[0].value);
    return true;
  }
  std::string all;
  llvm::StringSet<> known;
  for (const dsl::Arg &arg : names) {
    const auto *text = arg.value->as<dsl::StringLit>();
    if (!text || arg.name)
      in.fail(arg.range, "a class is a name in quotes", "`classes(\"cat\", \"dog\")`");
    if (text->value.empty() ||
        llvm::StringRef(text->value).find_first_of("\r\n") != llvm::StringRef::npos)
      in.fail(arg.range, "the name of a class is a line of text, and not empty");
    if (!known.insert(text->value).second)
      in.fail(arg.range, "class " + quote(text->value) + " stands here twice");
    all += text->value + "\n";
  }
  settings.push_back(in.base.getNamedAttr(column + ".classes", in.base.getStringAttr(all)));
  return true;
}

/// A column of a table whose cells are bytes, texts, or numbers written as text:
/// `label = i64`, or `label = column("class id", i64)` where its name in the
/// files is another one. Where columns are `numbered`, `column(3, i64)` too.
void SourceImport::namedColumn(const dsl::Arg &arg, bool numbered, bool hasLists) {
  const std::string function = quote(name.text);
  if (!arg.name)
    in.fail(arg.range, "a column of " + function + " needs a name", "`label = i64`");
  const dsl::Expr *spelled = arg.value.get();
  const dsl::Arg **seen = &byName;
  if (const dsl::CallExpr *call = columnCall(*arg.value, "column")) {
    spelled = call->args.args[1].value.get();
    const dsl::Expr &where = *call->args.args[0].value;
    mlir::Attribute from;
    if (const auto *text = where.as<dsl::StringLit>(); text && !text->value.empty()) {
      from = in.base.getStringAttr(text->value);
    } else if (const auto *number = where.as<dsl::IntLit>(); number && numbered) {
      from = in.base.getI64IntegerAttr(number->value);
      seen = &byNumber;
    } else {
      in.fail(where.range,
              "a column of " + function + " is named in quotes" +
                  (numbered ? ", or by its number from 0" : ""),
              "`column(\"name\", i64)`");
    }
    settings.push_back(in.base.getNamedAttr(arg.name->text + ".from", from));
  }
  if (!*seen)
    *seen = &arg;
  if (giveClasses(arg.name->text, *spelled)) {
    columns.push_back({arg.name->text, in.base.getI64Type()});
    return;
  }
  const auto *word = spelled->as<dsl::NameExpr>();
  mlir::Type type = word && word->name == "bytes"  ? mlir::Type(pipe::BytesType::get(&in.context))
                    : word && word->name == "text" ? mlir::Type(pipe::TextType::get(&in.context))
                                                   : mlir::Type();
  const auto *index = spelled->as<dsl::IndexExpr>();
  const auto *base = index ? index->base->as<dsl::NameExpr>() : nullptr;
  const auto *element = hasLists && base ? base : word;
  if (!type && element && in.elementNamed(element->name))
    type = columnType(*spelled, arg.name->text);
  mlir::Type number = type;
  if (auto tensor = llvm::dyn_cast_or_null<pipe::NamedTensorType>(type))
    number = tensor.getElementType();
  if (!type || number.isF16() || number.isBF16())
    in.fail(spelled->range,
            "a column of " + function +
                " is `bytes`, `text`, `bool`, an integer type, `f32`, `f64` or `classes(..)`" +
                (hasLists ? ", or a list such as `f32[k = 0 ..= 100]`" : ""));
  columns.push_back({arg.name->text, type});
}

/// The file of a table and perhaps another folder than its own for what it names; returns the
/// number of the first column's argument.
size_t SourceImport::giveList() {
  const auto &args = list.args;
  if (args.empty() || args[0].name)
    in.fail(name.range,
            quote(name.text) + " takes its file first, then a folder, then named columns",
            quote(name.text + "(list, root, data = bytes, label = i64)"));
  givePath("list", *args[0].value);
  const bool hasFolder = args.size() > 1 && !args[1].name;
  if (hasFolder)
    givePath("root", *args[1].value);
  giveIndex();
  return hasFolder ? 2 : 1;
}

void SourceImport::csvColumns() {
  const auto &args = list.args;
  const size_t next = giveList();
  for (const dsl::Arg &arg : llvm::ArrayRef(args).drop_front(next)) {
    if (arg.name && arg.name->text == "separator") {
      const auto *text = arg.value->as<dsl::StringLit>();
      if (!text || text->value.size() != 1 || llvm::StringRef("\"\r\n").contains(text->value[0]))
        in.fail(arg.value->range, "a separator is one character in quotes", "`separator = \";\"`");
      settings.push_back(in.base.getNamedAttr("separator", in.base.getStringAttr(text->value)));
      continue;
    }
    namedColumn(arg, true, true);
  }
  if (byName && byNumber) {
    auto report = in.error(byNumber->range, "this column goes by number, and another one by name");
    report.note(in.userRange(byName->range), "this one goes by name");
    report.hint("numbers are for files without a line of names");
    throw Abort{};
  }
  if (byNumber)
    settings.push_back(in.base.getNamedAttr("header", in.base.getI64IntegerAttr(0)));
}

void SourceImport::jsonColumns() {
  const size_t next = giveList();
  for (const dsl::Arg &arg : llvm::ArrayRef(list.args).drop_front(next))
    namedColumn(arg, false, true);
}

void SourceImport::fileList() {
  if (list.args.size() > 2 || giveList() != list.args.size())
    in.fail(name.range, "`file_list` takes the list and the folder of its files",
            "`file_list(list, root)`");
  columns = {{"data", pipe::BytesType::get(&in.context)},
             {"name", pipe::TextType::get(&in.context)}};
}

void SourceImport::cifarColumns(bool fine) {
  const auto &args = list.args;
  const bool hasPart = args.size() == 2 && args[1].name && args[1].name->text == "train";
  if (args.empty() || args[0].name || (args.size() > 1 && !hasPart))
    in.fail(name.range, quote(name.text) + " takes the folder of its files, and `train`",
            quote(name.text + "(root, train = false)"));
  givePath("root", *args[0].value);
  if (hasPart)
    give("train", in.demandBool(in.eval(*args[1].value), args[1].range, "`train`"));
  // Planes follow one another in the files; pipelines see pixels.
  std::vector<Dim> stored = {
      {{"c", 3, -1, "rgb"}, {}}, {{"h", 32, -1, ""}, {}}, {{"w", 32, -1, ""}, {}}};
  mlir::Type u8 = mlir::IntegerType::get(&in.context, 8, mlir::IntegerType::Unsigned);
  columns.push_back({"image", in.tensorOf(u8, stored), {"h", "w", "c"}});
  columns.push_back({"label", in.base.getI64Type()});
  if (fine)
    columns.push_back({"coarse", in.base.getI64Type()});
}

void SourceImport::tarColumns() {
  if (list.args.empty() || list.args[0].name)
    in.fail(name.range, "`tar_shards` takes its folder, file or list first, then named columns",
            "`tar_shards(shards, jpg = bytes, cls = i64)`");
  givePath("shards", *list.args[0].value);
  giveIndex();
  for (const dsl::Arg &arg : llvm::ArrayRef(list.args).drop_front())
    namedColumn(arg, false);
}

void SourceImport::videoClips() {
  const auto &args = list.args;
  if (args.empty() || args[0].name)
    in.fail(name.range,
            "`video_clips` takes its root first, then the clips' `length`, `step` and `every`",
            "`video_clips(root, length = 16, step = 4)`");
  givePath("root", *args[0].value);
  giveIndex();
  for (const dsl::Arg &arg : llvm::ArrayRef(args).drop_front()) {
    const std::string what = arg.name ? arg.name->text : "";
    if (what != "length" && what != "step" && what != "every")
      in.fail(arg.range, "`video_clips` takes `length`, `step` and `every` beside its root",
              "`video_clips(root, length = 16, step = 4)`");
    if (llvm::is_contained(argNames, what))
      in.fail(arg.range, quote(what) + " is given twice");
    mlir::Value value = in.demandIndex(in.eval(*arg.value), arg.range, quote(what));
    if (const auto known = Scalars::constantInt(value); known && *known < 1)
      in.fail(arg.range, quote(what) + " is " + std::to_string(*known) + ", the least is 1");
    give(what, value);
  }
  if (args.size() > 1 && !llvm::is_contained(argNames, "length"))
    in.fail(args[1].range, "`step` and `every` need `length`, the frames of a clip",
            "`video_clips(root, length = 16, step = 4)`");
  columns.push_back({"video", pipe::BytesType::get(&in.context)});
  columns.push_back({"start", in.base.getI64Type()});
  columns.push_back({"frames", in.base.getI64Type()});
  columns.push_back({"label", in.base.getI64Type()});
  columns.push_back({"name", pipe::TextType::get(&in.context)});
}

void SourceImport::externalColumns() {
  for (const dsl::Arg &arg : list.args) {
    if (!arg.name)
      in.fail(arg.range, "a column of `external_source` needs a name",
              "`external_source(data = bytes, label = i64)`");
    const auto *word = arg.value->as<dsl::NameExpr>();
    const bool isBytes = word && word->name == "bytes";
    columns.push_back({arg.name->text, isBytes ? mlir::Type(pipe::BytesType::get(&in.context))
                                               : columnType(*arg.value, arg.name->text)});
  }
}

static llvm::StringRef kindOf(const Val &table) {
  return table.ir.getDefiningOp<penstock::pipe::SourceOp>().getKind();
}

/// The columns that all parts have, and `part`.
void SourceImport::concatTables() {
  const dsl::Expr &spelled = *list.args[0].value;
  const Val tables = in.eval(spelled);
  const auto refuse = [&] {
    in.fail(spelled.range,
            "`concat` of one argument takes a list of tables, and this is " + in.show(tables),
            "tensors are joined along an axis: `concat([x, y], c)`");
  };
  if (!tables.is(Kind::List) || tables.parts.empty())
    refuse();
  std::vector<const Val *> parts;
  for (const Val &table : tables.parts) {
    if (!table.is(Kind::Table))
      refuse();
    if (kindOf(table) == "external_source")
      in.fail(spelled.range, "rows of `external_source` cannot be joined with others",
              "the program that gives them can give those of both tables");
    if (kindOf(table) != "concat")
      give(std::to_string(args.size()), table.ir);
    else // a part's parts
      for (mlir::Value inner : table.ir.getDefiningOp<pipe::SourceOp>().getArgs())
        if (llvm::isa<pipe::TableType>(inner.getType()))
          give(std::to_string(args.size()), inner);
    parts.push_back(&table);
  }
  // The number of a part's part says nothing here.
  const auto columnOf = [](const Val &table, llvm::StringRef name) -> const Column * {
    const bool isNumber = name == "part" && kindOf(table) == "concat";
    const auto found =
        llvm::find_if(*table.columns, [&](const Column &c) { return c.name == name; });
    return isNumber || found == table.columns->end() ? nullptr : &*found;
  };
  for (const Column &first : *parts[0]->columns) {
    Column joined = first;
    bool isCommon = true;
    for (const Val *part : parts)
      if (const Column *other = columnOf(*part, first.name))
        widen(joined, *other, spelled.range);
      else
        isCommon = false;
    if (isCommon)
      columns.push_back(joined);
  }
  if (columns.empty())
    in.fail(spelled.range, "the tables have no column in common",
            "columns are joined by name: `data = column(\"file\", bytes)`");
  giveIndex();
  if (llvm::none_of(columns, [](const Column &column) { return column.name == "part"; }))
    columns.push_back({"part", in.base.getI64Type()});
}

/// Makes a column of one table one of another's rows, too: the larger bound of both.
void SourceImport::widen(Column &column, const Column &other, dsl::SourceRange range) {
  if (column.type == other.type && column.seen == other.seen)
    return;
  auto mine = llvm::dyn_cast<pipe::NamedTensorType>(column.type);
  auto theirs = llvm::dyn_cast<pipe::NamedTensorType>(other.type);
  bool fits = mine && theirs && mine.getElementType() == theirs.getElementType() &&
              mine.getRank() == theirs.getRank() && column.seen == other.seen;
  std::vector<pipe::Axis> axes;
  for (int64_t i = 0; fits && i < mine.getRank(); ++i) {
    pipe::Axis axis = mine.getAxes()[i], there = theirs.getAxes()[i];
    axis.bound = std::max(axis.bound, there.bound);
    there.bound = axis.bound;
    fits = axis == there;
    axes.push_back(axis);
  }
  if (!fits)
    in.fail(range,
            "column " + quote(column.name) + " is " + in.show(column.type) + " in one table and " +
                in.show(other.type) + " in another",
            "what is another thing has another name; of `csv` and `json_lines` it is chosen: "
            "`wide = column(\"label\", i64)`");
  column.type = pipe::NamedTensorType::get(mine.getElementType(), axes);
}

Val SourceImport::run() {
  using Make = void (*)(SourceImport &);
  const auto make =
      llvm::StringSwitch<Make>(name.text)
          .Cases("image_folder", "audio_folder", [](SourceImport &self) { self.classFolders(); })
          .Case("raw", [](SourceImport &self) { self.rawColumns(); })
          .Case("csv", [](SourceImport &self) { self.csvColumns(); })
          .Case("json_lines", [](SourceImport &self) { self.jsonColumns(); })
          .Case("file_list", [](SourceImport &self) { self.fileList(); })
          .Case("cifar10", [](SourceImport &self) { self.cifarColumns(false); })
          .Case("cifar100", [](SourceImport &self) { self.cifarColumns(true); })
          .Case("tar_shards", [](SourceImport &self) { self.tarColumns(); })
          .Case("video_clips", [](SourceImport &self) { self.videoClips(); })
          .Case("external_source", [](SourceImport &self) { self.externalColumns(); })
          .Case("concat", [](SourceImport &self) { self.concatTables(); })
          .Default([](SourceImport &self) { self.syntheticColumns(); });
  make(*this);
  if (columns.empty())
    in.fail(name.range, "a table needs at least one column",
            "its columns follow by name and type, such as `data = bytes, label = i64`");
  // A session opens it with parameters as they stand, or numbers.
  for (mlir::Value arg : args)
    if (!arg.getDefiningOp<pipe::ParamOp>() && !llvm::isa<pipe::TableType>(arg.getType()))
      in.settle(arg, "an argument of " + quote(name.text) + " that is computed");
  llvm::SmallVector<mlir::NamedAttribute> types;
  for (const Column &column : columns)
    types.push_back(in.base.getNamedAttr(column.name, mlir::TypeAttr::get(column.type)));
  llvm::SmallVector<llvm::StringRef> names(argNames.begin(), argNames.end());
  auto op = in.base.create<pipe::SourceOp>(in.here, pipe::TableType::get(&in.context), name.text,
                                           args, in.base.getStrArrayAttr(names),
                                           mlir::DictionaryAttr::get(&in.context, types));
  if (!settings.empty())
    op->setAttr("settings", mlir::DictionaryAttr::get(&in.context, settings));
  Val table;
  table.kind = Kind::Table;
  table.columns = std::make_shared<const Columns>(columns);
  table.ir = op;
  return table;
}

Val penstock::importer::importTable(Expressions &in, const dsl::Name &name,
                                    const dsl::ArgList &list) {
  PlaceGuard guard(in, name.range);
  return SourceImport(in, name, list).run();
}
