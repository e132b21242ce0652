// SPDX-License-Identifier: Apache-2.0
//
// Parameters, sources, rows and metadata.
#include "codegen/plan/PlanVisitor.h"
#include "runtime/abi/media.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;

LogicalResult PlanVisitor::visit(pipe::ParamOp op) {
  auto param = std::make_unique<plan::ParamT>();
  param->name = op.getName().str();
  // Values are given, and stand in slots, as the widest type of their kind.
  param->type = llvm::isa<FloatType>(op.getType()) ? plan::DType::f64 : planType(op.getType());
  if (op.getType().isIntOrIndex() && !op.getType().isInteger(1))
    param->type = plan::DType::i64;
  if (std::optional<Attribute> value = op.getDefaultValue()) {
    Literal literal = literalOf(*value);
    param->integer = literal.integer;
    param->number = literal.number;
    param->text = literal.text;
  } else {
    param->required = true;
  }
  if (op.getDoc())
    param->doc = op.getDoc()->str();
  scope.params[op.getResult()] = static_cast<int>(plan.params.size());
  plan.params.push_back(std::move(param));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::SourceOp op) {
  auto source = std::make_unique<plan::SourceT>();
  source->kind = op.getKind().str();
  for (auto [value, name] : llvm::zip(op.getArgs(), op.getArgNames().getAsRange<StringAttr>())) {
    if (auto part = scope.sources.find(value); part != scope.sources.end()) {
      source->parts.push_back(part->second);
      continue;
    }
    auto argument = std::make_unique<plan::ArgumentT>();
    argument->name = name.str();
    argument->type = planType(value.getType());
    if (auto param = scope.params.find(value); param != scope.params.end()) {
      argument->param = param->second;
    } else if (auto constant = value.getDefiningOp<pipe::ConstantOp>()) {
      Literal literal = literalOf(constant.getValue());
      argument->integer = literal.integer;
      argument->number = literal.number;
      argument->text = literal.text;
    } else {
      return op.emitOpError() << "has an argument `" << name.strref()
                              << "` that is neither a parameter nor a constant";
    }
    source->arguments.push_back(std::move(argument));
  }
  if (auto settings = op->getAttrOfType<DictionaryAttr>("settings"))
    for (NamedAttribute setting : settings) {
      auto argument = std::make_unique<plan::ArgumentT>();
      argument->name = setting.getName().str();
      argument->type = plan::DType::i64;
      if (auto text = llvm::dyn_cast<StringAttr>(setting.getValue())) {
        argument->type = plan::DType::text;
        argument->text = text.getValue().str();
      } else {
        argument->integer = llvm::cast<IntegerAttr>(setting.getValue()).getInt();
      }
      source->arguments.push_back(std::move(argument));
    }
  for (NamedAttribute column : op.getColumns()) {
    auto entry = std::make_unique<plan::ColumnT>();
    Type type = llvm::cast<TypeAttr>(column.getValue()).getValue();
    entry->name = column.getName().str();
    entry->type = planType(type);
    if (auto tensor = llvm::dyn_cast<pipe::NamedTensorType>(type))
      for (const pipe::Axis &axis : tensor.getAxes()) {
        auto dim = std::make_unique<plan::DimT>();
        dim->extent = axis.extent;
        dim->bound = axis.bound;
        entry->dims.push_back(std::move(dim));
        entry->axes.push_back(axis.name);
      }
    source->columns.push_back(std::move(entry));
  }
  plan.sources[static_cast<size_t>(scope.sources.lookup(op.getResult()))] = std::move(source);
  return success();
}

LogicalResult PlanVisitor::numberTables(Block &body) {
  for (auto source : body.getOps<pipe::SourceOp>()) {
    scope.sources[source.getResult()] = static_cast<int>(plan.sources.size());
    plan.sources.push_back(nullptr);
  }
  for (auto row : body.getOps<pipe::RowOp>()) {
    if (!plan.rows.empty())
      return row.emitOpError("is the second one");
    // The runtime's first source is the table of `for`, and its first row that of `for`, wherever
    // these stand in the text.
    const int number = scope.sources.lookup(row.getTable());
    for (auto &entry : scope.sources)
      entry.second = entry.second == number ? 0 : entry.second == 0 ? number : entry.second;
    auto entry = std::make_unique<plan::RowT>();
    entry->source = 0;
    scope.rows[row.getResult()] = 0;
    plan.rows.push_back(std::move(entry));
  }
  return success();
}

LogicalResult PlanVisitor::visit(pipe::RowOp op) {
  switch (op.getOrder()) {
  case pipe::OrderKind::sequential:
    plan.order = plan::Order::sequential;
    break;
  case pipe::OrderKind::shuffled:
    plan.order = plan::Order::shuffled;
    break;
  case pipe::OrderKind::weighted:
    plan.order = plan::Order::weighted;
    break;
  case pipe::OrderKind::listed:
    plan.order = plan::Order::listed;
    break;
  }
  if (Value list = op.getList()) {
    auto constant = list.getDefiningOp<pipe::ConstantOp>();
    if (!constant)
      return op.emitOpError("has a list that is not constant");
    for (const APInt &row : llvm::cast<DenseElementsAttr>(constant.getValue()).getValues<APInt>())
      plan.order_list.push_back(row.getSExtValue());
  }
  return success();
}

LogicalResult PlanVisitor::visit(pipe::AdmitOp op) {
  for (auto [value, slot] : {std::pair<Value, int32_t *>(op.getCondition(), &plan.keep_slot),
                             std::pair<Value, int32_t *>(op.getWeight(), &plan.weight_slot)}) {
    if (!value)
      continue;
    FailureOr<int> number = scope.slotOf(value);
    if (failed(number))
      return failure();
    *slot = *number;
  }
  return success();
}

LogicalResult PlanVisitor::visit(pipe::PickOp op) {
  FailureOr<int> slot = scope.slotOf(op.getIndex());
  if (failed(slot))
    return failure();
  auto row = std::make_unique<plan::RowT>();
  row->source = scope.sources.lookup(op.getTable());
  row->slot = *slot;
  row->of_row = op->hasAttr("of_row");
  row->of_batch = op->hasAttr("of_batch");
  const auto group = op->getAttrOfType<IntegerAttr>("group"); // of the split
  row->group =
      scope.groups.try_emplace(group.getInt(), static_cast<int>(plan.rows.size())).first->second;
  scope.rows[op.getResult()] = static_cast<int>(plan.rows.size());
  plan.rows.push_back(std::move(row));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::FieldsOp op) {
  for (Value field : op.getFields()) {
    FailureOr<int> buffer = scope.bufferOf(field);
    if (failed(buffer))
      return failure();
    (op.getKind() == "rows" ? plan.rows_fields : plan.setup_fields).push_back(*buffer);
  }
  return success();
}

LogicalResult PlanVisitor::visit(pipe::ProbeOp op) {
  scope.mediaOf(op.getData(), op.getMedia());
  return success();
}

LogicalResult PlanVisitor::visit(pipe::SetEntryOp op) {
  const int slot = static_cast<int>(op.getIndex());
  Value value = op.getValue();
  if (auto param = scope.params.find(value); param != scope.params.end()) {
    plan.params[static_cast<size_t>(param->second)]->slot = slot;
    return success();
  }
  Operation *leaf = value.getDefiningOp();
  if (auto length = llvm::dyn_cast_or_null<pipe::LengthOp>(leaf)) {
    auto entry = std::make_unique<plan::LengthSlotT>();
    entry->source = scope.sources.lookup(length.getTable());
    entry->slot = slot;
    plan.lengths.push_back(std::move(entry));
    return success();
  }
  if (auto place = llvm::dyn_cast_or_null<pipe::RowIndexOp>(leaf)) {
    const int row = scope.rowOf(place.getRow());
    (row == 0 ? plan.rows[0]->slot : plan.rows[static_cast<size_t>(row)]->place) = slot;
    return success();
  }
  if (auto probe = llvm::dyn_cast_or_null<pipe::ProbeOp>(leaf)) {
    const int media = scope.mediaOf(probe.getData(), probe.getMedia());
    plan::MediaT &entry = *plan.media[static_cast<size_t>(media)];
    entry.of_rows |= probe->hasAttr("of_rows");
    const media::Medium &medium = media::all[media::find(entry.media)];
    const auto number =
        static_cast<size_t>(media::numberNamed(medium, std::string_view(probe.getNumber())));
    entry.numbers.resize(std::max(entry.numbers.size(), number + 1), -1);
    int32_t &target = entry.numbers[number];
    if (target >= 0 && target != slot)
      return op.emitOpError("is the second slot for one number of a header; CSE has not run");
    target = slot;
    return success();
  }
  auto entry = std::make_unique<plan::FieldSlotT>();
  entry->slot = slot;
  Value rowValue;
  StringRef name;
  if (auto field = llvm::dyn_cast_or_null<pipe::FieldOp>(leaf)) {
    rowValue = field.getRow();
    name = field.getName();
  } else if (auto extent = llvm::dyn_cast_or_null<pipe::FieldExtentOp>(leaf)) {
    rowValue = extent.getRow();
    name = extent.getName();
  } else {
    return op.emitOpError("fills a slot with what is no parameter, field or header value");
  }
  const int row = scope.rowOf(rowValue);
  entry->row = row;
  entry->column = scope.columnOf(rowValue, name);
  if (entry->column < 0)
    return op.emitOpError() << "reads column `" << name << "`, which the source does not have";
  if (auto extent = llvm::dyn_cast<pipe::FieldExtentOp>(leaf)) {
    const plan::SourceT &source =
        *plan.sources[static_cast<size_t>(plan.rows[static_cast<size_t>(row)]->source)];
    const auto &axes = source.columns[static_cast<size_t>(entry->column)]->axes;
    entry->axis = static_cast<int>(llvm::find(axes, extent.getAxis()) - axes.begin());
  }
  entry->of_rows = op->hasAttr("of_rows");
  entry->by_rows = op->hasAttr("by_rows");
  plan.fields.push_back(std::move(entry));
  return success();
}
