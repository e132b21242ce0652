//===- Media.cpp - rows and media ------------------------------------------===//

#include "compiler/Import/Places.h"
#include "dsl/Diagnostics/Nearest.h"

using namespace penstock::importer;

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
    if (!column.seen.empty())
      result.ir = permute(result.ir, column.seen);
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
