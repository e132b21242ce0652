//===- Media.cpp - sources, rows and media --------------------------------===//

#include "compiler/Import/Places.h"
#include "dsl/Diagnostics/Nearest.h"

using namespace penstock::importer;

/// Axes whose name or format fixes their extent: `c = rgb`, `box = xyxy`.
static int64_t formatExtent(llvm::StringRef format) {
  return llvm::StringSwitch<int64_t>(format)
      .Case("gray", 1)
      .Case("rgb", 3)
      .Cases("xyxy", "xywh", "cxcywh", "yxyx", 4)
      .Case("xyzlwhr", 7)
      .Default(-1);
}

mlir::Type Importer::columnType(const dsl::Expr &expr) {
  if (const auto *name = expr.as<dsl::NameExpr>())
    if (mlir::Type type = elementNamed(name->name))
      return type;
  const auto *index = expr.as<dsl::IndexExpr>();
  const auto *name = index ? index->base->as<dsl::NameExpr>() : nullptr;
  mlir::Type element = name ? elementNamed(name->name) : mlir::Type();
  if (!element)
    fail(expr.range,
         "a column has an element type, such as `i64` or `u8[h = 32, w = 32, c = rgb]`");
  std::vector<Dim> axes;
  for (const dsl::AxisSetting &setting : index->settings) {
    Dim axis{{setting.axis.text, -1, -1, ""}, {}};
    Argument arg = evalArg(*setting.value);
    if (arg.value.is(Kind::Word)) {
      axis.axis.extent = formatExtent(arg.value.word);
      axis.axis.metadata = arg.value.word;
      if (axis.axis.extent < 0)
        fail(arg.range, "unknown format " + quote(arg.value.word),
             "rgb gray xyxy xywh cxcywh yxyx xyzlwhr");
    } else if (arg.value.is(Kind::Range)) {
      if (!axes.empty())
        notYet(arg.range, "an extent that differs by row anywhere but on the first axis");
      axis.axis.bound = demandInt(arg.value.parts[1], arg.range, "the largest extent") -
                        (arg.value.closed ? 0 : 1);
    } else {
      axis.axis.extent = demandInt(arg.value, arg.range, "an extent");
      if (axis.axis.extent < 0)
        fail(arg.range, "an extent of " + std::to_string(axis.axis.extent));
    }
    axes.push_back(axis);
  }
  return tensorOf(element, axes);
}

Val Importer::source(const dsl::Name &name, const dsl::ArgList &list) {
  PlaceGuard guard(*this, name.range);
  llvm::SmallVector<mlir::Value> args;
  std::vector<std::string> argNames;
  Columns columns;
  auto give = [&](const std::string &argName, mlir::Value value) {
    argNames.push_back(argName);
    args.push_back(value);
  };
  auto path = [&](const dsl::Expr &expr) {
    Val value = eval(expr);
    if (!value.is(Kind::Text))
      fail(expr.range, "a path comes from a parameter of type path, and this is " + show(value));
    return value.ir;
  };
  if (name.text == "image_folder") {
    if (list.args.size() != 1)
      fail(name.range, "`image_folder` takes one argument, its root");
    give("root", path(*list.args[0].value));
    if (indexFolder)
      give("index", indexFolder);
    else if (!keepIndex)
      give("keep_index", constant(base.getI1Type(), 0));
    columns = {{"data", pipe::BytesType::get(&context)},
               {"label", base.getI64Type()},
               {"name", pipe::TextType::get(&context)}};
  } else if (name.text == "raw") {
    for (const dsl::Arg &arg : list.args) {
      const auto *call = arg.value->as<dsl::CallExpr>();
      const auto *callee = call ? call->callee->as<dsl::NameExpr>() : nullptr;
      if (!arg.name || !callee || callee->name != "column" || call->args.args.size() != 2)
        fail(arg.range, "`raw` takes named columns", "`label = column(labels, i64)`");
      mlir::Type type = columnType(*call->args.args[1].value);
      if (auto shaped = llvm::dyn_cast<pipe::NamedTensorType>(type); shaped && !shaped.isStatic())
        fail(call->args.args[1].range, "the rows of a raw column have one size");
      give(arg.name->text, path(*call->args.args[0].value));
      columns.push_back({arg.name->text, type});
    }
  } else {
    if (list.args.empty() || list.args[0].name)
      fail(name.range, "`synthetic` takes its length first, then named columns",
           "`synthetic(1000, label = 0 .. 10)`");
    give("length",
         demandIndex(eval(*list.args[0].value), list.args[0].range, "the length of a table"));
    for (const dsl::Arg &arg : llvm::ArrayRef(list.args).drop_front()) {
      if (!arg.name)
        fail(arg.range, "a column needs a name", "`label = i64`");
      if (!arg.value->as<dsl::RangeExpr>()) {
        columns.push_back({arg.name->text, columnType(*arg.value)});
        continue;
      }
      Val range = eval(*arg.value);
      const bool whole = range.parts[0].ir.getType().isSignlessInteger(64);
      mlir::Value end = range.parts[1].ir;
      if (whole && range.closed)
        end = binary(pipe::BinaryKind::add, end, intConstant(1));
      give(arg.name->text + ".low", range.parts[0].ir);
      give(arg.name->text + ".end", end);
      columns.push_back({arg.name->text, range.parts[0].ir.getType()});
    }
  }
  if (columns.empty())
    fail(name.range, "a table needs at least one column");
  llvm::SmallVector<mlir::NamedAttribute> types;
  for (const Column &column : columns)
    types.push_back(base.getNamedAttr(column.name, mlir::TypeAttr::get(column.type)));
  llvm::SmallVector<llvm::StringRef> names(argNames.begin(), argNames.end());
  Val table;
  table.kind = Kind::Table;
  table.columns = std::make_shared<const Columns>(columns);
  table.ir = base.create<pipe::SourceOp>(here, pipe::TableType::get(&context), name.text, args,
                                         base.getStrArrayAttr(names),
                                         mlir::DictionaryAttr::get(&context, types));
  return table;
}

Val Importer::rowField(const Val &row, const std::string &name, dsl::SourceRange range) {
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
    return result;
  }
  auto report = error(range, "a row has no field " + quote(name));
  std::string near = dsl::nearest(name, names), all;
  for (const std::string &known : names)
    all += (all.empty() ? "" : " ") + known;
  report.hint(near.empty() ? "its fields are " + all : quote(near));
  throw Abort{};
}

Val Importer::pick(Args args, dsl::SourceRange range) {
  const Val &table = args[0].value;
  if (!table.is(Kind::Table))
    fail(args[0].range, "`pick` takes a table, and this is " + show(table),
         "name it before `for`: `let table = image_folder(root)`");
  Val row;
  row.kind = Kind::Row;
  row.columns = table.columns;
  row.ir = base.create<pipe::PickOp>(here, pipe::RowType::get(&context), table.ir,
                                     demandIndex(args[1].value, args[1].range, "a row number"));
  return row;
}

Val Importer::decode(Args args, dsl::SourceRange range) {
  const Val &data = args[0].value;
  if (!data.is(Kind::Bytes))
    fail(args[0].range, "`decode` takes the bytes of a file, and this is " + show(data));
  std::string format = demandWord(args[1], {"rgb", "gray"});
  const bool orient = !args[2].value.is(Kind::Poison) &&
                      demandInt(castTo(pipe::CastMode::value,
                                       number(demandBool(args[2].value, args[2].range, "`orient`")),
                                       base.getI64Type(), args[2].range),
                                args[2].range, "`orient`") != 0;
  mlir::Type integer = base.getI64Type();
  auto probe = base.create<pipe::ProbeOp>(here, integer, integer, integer, "image", data.ir);
  mlir::Value height = probe.getHeight(), width = probe.getWidth();
  if (orient) { // the last four orientations exchange the sides
    mlir::Value turned = compare(pipe::Predicate::ge, probe.getOrientation(), intConstant(5));
    height = select(turned, probe.getWidth(), probe.getHeight());
    width = select(turned, probe.getHeight(), probe.getWidth());
  }
  std::vector<Dim> axes = {{{"h", -1, -1, ""}, height},
                           {{"w", -1, -1, ""}, width},
                           {{"c", format == "rgb" ? 3 : 1, -1, format}, {}}};
  mlir::Type u8 = mlir::IntegerType::get(&context, 8, mlir::IntegerType::Unsigned);
  return tensor(base.create<pipe::DecodeOp>(here, tensorOf(u8, axes), "image", format, data.ir,
                                            sizesOf(axes), mlir::ValueRange(), orient));
}
