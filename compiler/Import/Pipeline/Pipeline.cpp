// SPDX-License-Identifier: Apache-2.0
//
// The body of a sample.
#include "compiler/Import/Pipeline/Pipeline.h"

using namespace penstock::importer;
namespace dsl = penstock::dsl;

PipelineImport::PipelineImport(mlir::MLIRContext &context, const dsl::Program &program,
                               const dsl::SourceManager &sources, const ImportOptions &options,
                               const StaticParameters &staticParameters,
                               dsl::Diagnostics &diagnostics)
    : Expressions(context, program, sources, diagnostics), options(options),
      staticParameters(staticParameters) {}

mlir::OwningOpRef<mlir::ModuleOp> PipelineImport::run(const dsl::PipelineDecl &pipeline) {
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(place(pipeline.range));
  here = place(pipeline.name.range);
  hereRange = pipeline.name.range;
  draws.pipeline = pipeline.name.text;
  Frame top;
  top.file = program.main.get();
  frames.push_back(std::move(top));

  auto block = OwnedBlock(new mlir::Block());
  base.setInsertionPointToEnd(block.get());
  int64_t seed = 0;
  double substitute = 0.05;
  auto guarded = [&](auto &&statement) {
    try {
      statement();
    } catch (const Abort &) { // reported
    } catch (const OuterElement &) {
      notYetHere(pipeline.name.range);
    }
  };
  guarded([&]() { bindParameters(pipeline); });
  for (const dsl::OptionSetting &option : pipeline.options)
    guarded([&]() { importOption(option, seed, substitute); });
  for (const dsl::LetDecl &let : pipeline.tableLets)
    importLet(let);
  frame().values[pipeline.row.text] = Val();
  guarded([&]() { importSource(pipeline); });
  for (const dsl::LetDecl &let : pipeline.sampleLets)
    importLet(let);
  guarded([&]() { importBatch(pipeline.batch); });
  for (const dsl::ConstDecl &constant : program.main->consts)
    guarded([&]() { evalIfUnused(constant); });
  if (diagnostics.hasErrors())
    return {};

  base.setInsertionPointToEnd(module->getBody());
  here = place(pipeline.name.range);
  auto op = base.create<pipe::PipelineOp>(here, pipeline.name.text, static_cast<uint64_t>(seed),
                                          llvm::APFloat(substitute), mlir::IntegerAttr(),
                                          mlir::IntegerAttr());
  op.getBody().push_back(block.release());
  explainParameters(pipeline, op);
  return module;
}

void PipelineImport::notYetHere(dsl::SourceRange range) {
  error(range, "a tensor made inside a `map` from the `map`'s element has no meaning yet");
}

void PipelineImport::importOption(const dsl::OptionSetting &option, int64_t &seed,
                                  double &substitute) {
  const std::string &name = option.name.text;
  draws.statement = name;
  if (name == "seed") {
    seed = demandInt(eval(*option.value), option.value->range, "the seed");
  } else if (name == "numerics") {
    numerics = option.value->cast<dsl::NameExpr>().name;
  } else if (name == "on_error") {
    if (option.value->kind == dsl::ExprKind::Name) {
      substitute = -1;
      return;
    }
    const auto &call = option.value->cast<dsl::CallExpr>();
    const dsl::Expr &share = *call.args.args.front().value;
    mlir::Value value = demandF64(eval(share), share.range, "the share of substitutes");
    settle(value, "the share of bad samples allowed");
    auto op = value.getDefiningOp<pipe::ConstantOp>();
    substitute = llvm::cast<mlir::FloatAttr>(op.getValue()).getValueAsDouble();
    if (!(substitute >= 0 && substitute <= 1))
      fail(share.range, "the share of substitutes lies between 0% and 100%");
  } else {
    const auto *word = option.value->as<dsl::NameExpr>();
    if (word && (word->name == "auto" || word->name == "off")) {
      index.build = index.keep = word->name == "auto";
      return;
    }
    Val folder = eval(*option.value);
    if (!folder.is(Kind::Text))
      fail(option.value->range,
           "`index` is `auto`, `off` or a parameter of type path, and this is " + show(folder));
    index.folder = folder.ir;
  }
}

void PipelineImport::importLet(const dsl::LetDecl &let) {
  draws.statement = let.name.text;
  Restore<std::vector<KeyStep>> steps(draws.keySteps);
  try {
    evalLet(let);
  } catch (const Abort &) { // reported; the name is there and silent
    bind(let.name, Val());
  } catch (const OuterElement &) {
    notYetHere(let.value->range);
    bind(let.name, Val());
  }
}

void PipelineImport::importSource(const dsl::PipelineDecl &pipeline) {
  draws.statement = "for";
  Val table = eval(*pipeline.source);
  if (!table.is(Kind::Table))
    fail(pipeline.source->range,
         "`for` runs over a table such as `image_folder(root)`, and this is " + show(table));
  std::pair<pipe::OrderKind, mlir::Value> order(pipe::OrderKind::sequential, mlir::Value());
  if (pipeline.order)
    order = importOrder(*pipeline.order);
  {
    PlaceGuard guard(*this, pipeline.row.range);
    Val row;
    row.kind = Kind::Row;
    row.columns = table.columns;
    row.ir = base.create<pipe::RowOp>(here, pipe::RowType::get(&context), order.first, table.ir,
                                      order.second);
    bind(pipeline.row, row);
  }
  importAdmission(pipeline);
}

/// The weight in `weighted(...)`; null where the order is another one.
static const dsl::ArgList *weightOf(const dsl::Expr *order) {
  const auto *call = order ? order->as<dsl::CallExpr>() : nullptr;
  const auto *callee = call ? call->callee->as<dsl::NameExpr>() : nullptr;
  return callee && callee->name == "weighted" ? &call->args : nullptr;
}

std::pair<penstock::pipe::OrderKind, mlir::Value>
PipelineImport::importOrder(const dsl::Expr &order) {
  const auto *word = order.as<dsl::NameExpr>();
  if (word && word->name == "sequential")
    return {pipe::OrderKind::sequential, {}};
  if (word && word->name == "shuffled")
    return {pipe::OrderKind::shuffled, {}};
  if (weightOf(&order))
    return {pipe::OrderKind::weighted, {}};
  PlaceGuard guard(*this, order.range);
  Val list = eval(order);
  if (list.is(Kind::Tensor)) {
    auto op = list.ir.getDefiningOp<pipe::ConstantOp>();
    if (op && list.tensorType().getRank() == 1 &&
        list.tensorType().getElementType().isSignlessInteger(64))
      return {pipe::OrderKind::listed, list.ir};
  }
  if (!list.is(Kind::List))
    fail(order.range,
         "an order is `sequential`, `shuffled`, `weighted(...)` or a list of row numbers, "
         "and this is " +
             show(list));
  std::vector<int64_t> rows;
  for (const Val &item : list.parts)
    rows.push_back(demandInt(item, order.range, "a row of the order"));
  if (rows.empty())
    fail(order.range, "the list of rows is empty");
  const auto count = static_cast<int64_t>(rows.size());
  auto values = mlir::DenseIntElementsAttr::get(
      mlir::RankedTensorType::get({count}, base.getI64Type()), rows);
  return {pipe::OrderKind::listed,
          base.create<pipe::ConstantOp>(
              here, tensorOf(base.getI64Type(), {{{"k", count, -1, ""}, {}}}), values)};
}

/// What a number is made of that is not there when rows are looked at, and what to do instead;
/// empty if nothing is.
static std::pair<std::string, std::string> madeOfSamples(mlir::Value value) {
  using namespace penstock;
  const mlir::Operation *found = behind(value, [](mlir::Operation *op) {
    return llvm::isa<pipe::KeyOp, pipe::ContextOp, pipe::PickOp>(op);
  });
  if (!found)
    return {};
  if (llvm::isa<pipe::PickOp>(found))
    return {"this is of another row, which is picked for each sample",
            "what rows are compared with is a parameter, or a column of their own table"};
  return {"this is drawn for each sample",
          "`order weighted(...)` takes some rows more often than others"};
}

void PipelineImport::importAdmission(const dsl::PipelineDecl &pipeline) {
  const dsl::ArgList *weight = weightOf(pipeline.order.get());
  const auto &byLength = pipeline.batch.byLength;
  if (!pipeline.where && !weight && !byLength)
    return;
  mlir::Value condition, number, length;
  auto demandOfRows = [&](mlir::Value value, const dsl::Expr &given) {
    const auto [found, instead] = madeOfSamples(value);
    if (!found.empty())
      fail(given.range,
           "`where`, weights and lengths are looked at once for each row of the table, and " +
               found,
           instead);
    return value;
  };
  auto demandNoTensor = [&](const Val &value, const dsl::Expr &given, const std::string &what) {
    if (value.is(Kind::Tensor))
      fail(given.range,
           what + " is known before any tensor of a row is read, and this is made of one",
           "it looks at numbers of the row, elements of its lists such as `row.x[k = 0]`, "
           "`row.index`, extents such as `extent(row.x, k)`, and what `probe` says of files");
  };
  auto demandNumber = [&](const dsl::Expr &given, const std::string &what) {
    Val value = eval(given);
    demandNoTensor(value, given, what + " of a row");
    if (!value.is(Kind::Number) || value.ir.getType().isSignlessInteger(1))
      fail(given.range, what + " of a row is a number, and this is " + show(value));
    return demandOfRows(castTo(pipe::CastMode::value, value, base.getF64Type(), given.range).ir,
                        given);
  };
  if (pipeline.where) {
    draws.statement = "where";
    mlir::Block *block = base.getInsertionBlock();
    mlir::Operation *before = block->empty() ? nullptr : &block->back();
    const Val keeps = eval(*pipeline.where);
    demandNoTensor(keeps, *pipeline.where, "`where`");
    condition = demandOfRows(demandBool(keeps, pipeline.where->range, "`where`"), *pipeline.where);
    // What it checks is checked of the rows that it takes.
    for (mlir::Operation *op = before ? before->getNextNode() : &block->front(); op;
         op = op->getNextNode())
      if (auto check = llvm::dyn_cast<pipe::CheckOp>(op))
        condition = base.create<pipe::BinaryOp>(
            here, pipe::BinaryKind::bit_or, condition,
            base.create<pipe::UnaryOp>(here, pipe::UnaryKind::bit_not, check.getCondition()));
  }
  if (weight) {
    draws.statement = "weighted";
    if (weight->args.size() != 1)
      fail(pipeline.order->range, "`weighted` takes the weight of a row");
    number = demandNumber(*weight->args.front().value, "the weight");
  }
  if (byLength) {
    draws.statement = "batch";
    length = demandNumber(*byLength->length, "the length");
  }
  PlaceGuard guard(*this, pipeline.where ? pipeline.where->range
                          : weight       ? pipeline.order->range
                                         : byLength->length->range);
  base.create<pipe::AdmitOp>(here, condition, number, length);
}

/// A number with which a session starts: a parameter as it stands, or one known now.
mlir::Value PipelineImport::importSessionNumber(const dsl::Expr &given, const std::string &what) {
  mlir::Value number = demandIndex(eval(given), given.range, "the " + what);
  MakeStatic unused;
  if (!dependsOnParametersOnly(number, unused.names))
    fail(given.range, "the " + what + " differs from sample to sample",
         "build it from constants and parameters");
  if (!number.getDefiningOp<pipe::ParamOp>())
    settle(number, "a " + what + " that is computed");
  return number;
}

void PipelineImport::importBatch(const dsl::BatchDecl &batch) {
  mlir::Value size = intConstant(1), buckets;
  try {
    if (batch.byLength) {
      byLength = true;
      size = importSessionNumber(*batch.size, "limit of elements");
      buckets = importSessionNumber(*batch.byLength->buckets, "number of buckets");
      if (constantInt(size).value_or(1) < 1)
        fail(batch.size->range, "a batch needs at least one element");
      if (constantInt(buckets).value_or(1) < 1)
        fail(batch.byLength->buckets->range, "batches by length need at least one bucket");
    } else {
      size = importSessionNumber(*batch.size, "batch size");
      batchSize = constantInt(size);
      if (batchSize && *batchSize < 1)
        fail(batch.size->range, "a batch needs at least one sample");
      constexpr int64_t most = int64_t(1) << 32;
      if (batchSize.value_or(1) > most)
        fail(batch.size->range, "a batch has at most " + std::to_string(most) + " samples");
    }
  } catch (const Abort &) { // the outputs are still looked at
  }
  PlaceGuard guard(*this, batch.keyword);
  const auto last = pipe::symbolizeLastBatch(batch.last ? batch.last->text : "drop")
                        .value_or(pipe::LastBatch::drop);
  auto block = OwnedBlock(new mlir::Block());
  {
    BaseGuard inside(base, block.get());
    Restore<bool> scope(inBatch, true);
    batchAxis.count =
        base.create<pipe::ContextOp>(here, base.getI64Type(), pipe::ContextKind::count);
    const bool global = batch.scope == dsl::BatchScope::Global;
    batchAxis.bound = batchSize.value_or(-1);
    batchAxis.exact = last == pipe::LastBatch::drop && !global ? batchAxis.bound : -1;
    bind({"n", batch.keyword}, number(batchAxis.count));
    for (const auto &item : batch.items) {
      if (const auto *let = std::get_if<dsl::LetDecl>(&item)) {
        importLet(*let);
        continue;
      }
      const auto &output = std::get<dsl::OutputDecl>(item);
      try {
        importOutput(output);
      } catch (const Abort &) {
      } catch (const OuterElement &) {
        notYetHere(output.value->range);
      }
    }
  }
  auto op =
      base.create<pipe::BatchOp>(here, size, batch.scope == dsl::BatchScope::Global, last, buckets);
  op.getBody().push_back(block.release());
}
