// SPDX-License-Identifier: Apache-2.0
//
// A pipeline as a graph that people read.
//
// A kernel belongs to the box of the user's first operator in it: an operator of
// 30 kernels is one box, and so are the views of an `each`, whose kernels are the
// same. Tables that the host makes before are named in the box that reads them.
#include "api/c/Overview.h"
#include "api/c/Explain.h"
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Dialect/UserPlaces.h"
#include "compiler/Transforms/FuseRemarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include <nlohmann/json.hpp>
#include <numeric>

using namespace mlir;
using namespace penstock;
using nlohmann::ordered_json;

namespace {

struct Flow {
  size_t from;
  std::string type, bytes;
  std::map<std::string, int> reasons; ///< why the two are not one kernel
  int count = 0;
};

struct Box {
  std::string kind, title, place;
  std::vector<std::string> lines;
  SmallVector<pipe::LaunchOp> launches;
  std::vector<std::string> kernels; ///< whose time is this box's
  llvm::MapVector<std::string, int, std::map<std::string, unsigned>>
      holds;                                ///< ops of a kernel, how often
  std::map<std::string, std::string> names; ///< of the first kernel that holds them
  std::map<std::string, int> inside;        ///< why its kernels are several
  std::vector<Flow> flows;
  SmallVector<Operation *> tables; ///< launches that make small tables for it
  int decodes = 0, guarded = 0;
  int last = 0; ///< the place of its last op: boxes stand in this order
};

class Overview {
public:
  Overview(ModuleOp module, const dsl::SourceManager &sources)
      : symbols(module), sources(sources) {}
  ordered_json of(pipe::PipelineOp pipeline);

private:
  SymbolTable symbols;
  const dsl::SourceManager &sources;
  std::vector<Box> boxes;
  std::map<std::string, size_t> numbers; ///< boxes by what they are the same in
  DenseMap<Operation *, size_t> boxOf;
  std::vector<std::string> outputs;
  int visited = 0;

  Box &boxFor(const std::string &key, const char *kind, Operation *op);
  void visit(Operation &op);
  void source(pipe::SourceOp op);
  void decode(pipe::DecodeOp op);
  void launch(pipe::LaunchOp op);
  void output(pipe::OutputOp op);
  /// Boxes and tables that `value` comes from.
  void makersOf(Value value, llvm::SetVector<size_t> &makers, llvm::SetVector<Operation *> &tables,
                int depth = 0);
  void connect(size_t to, Value value, const std::vector<std::string> &remarks);
  std::vector<std::string> wordsOf(const Box &box) const;
  /// Puts the boxes in their order.
  void arrange();
  ordered_json jsonOf(const Box &box, size_t number) const;
};

} // namespace

static std::vector<std::string> remarksOf(Operation *op, StringRef pass) {
  std::vector<std::string> texts;
  if (auto remarks = op->getAttrOfType<ArrayAttr>("pipe.remarks"))
    for (auto remark : remarks.getAsRange<pipe::RemarkAttr>())
      if (remark.getPass() == pass)
        texts.push_back(remark.getText().str());
  return texts;
}

/// `view`, `resample` along w, `view`, `view` -> view, resample along w, 2 views
static std::string compressed(StringRef holds) {
  SmallVector<StringRef> ops;
  holds.split(ops, ", ");
  std::string text;
  for (size_t i = 0; i < ops.size();) {
    size_t end = i;
    while (end < ops.size() && ops[end] == ops[i])
      ++end;
    std::string name = ops[i].str();
    llvm::erase(name, '`');
    text +=
        (text.empty() ? "" : ", ") + (end - i > 1 ? std::to_string(end - i) + " x " : "") + name;
    i = end;
  }
  return text;
}

Box &Overview::boxFor(const std::string &key, const char *kind, Operation *op) {
  auto [found, isNew] = numbers.try_emplace(key, boxes.size());
  if (isNew) {
    boxes.emplace_back();
    boxes.back().kind = kind;
    const auto places = pipe::userPlacesOf(op->getLoc());
    if (!places.empty()) {
      const unsigned first = places.front().getLine(), last = places.back().getLine();
      boxes.back().place = first == last
                               ? "line " + std::to_string(first)
                               : "lines " + std::to_string(first) + "-" + std::to_string(last);
    }
  }
  boxOf[op] = found->second;
  boxes[found->second].last = visited;
  return boxes[found->second];
}

static std::string keyOf(const char *kind, Operation *op) {
  const auto places = pipe::userPlacesOf(op->getLoc());
  return places.empty() ? std::string(kind) + std::to_string(reinterpret_cast<uintptr_t>(op))
                        : std::string(kind) + std::to_string(places[0].getLine()) + ":" +
                              std::to_string(places[0].getColumn());
}

/// `csv(list, root)`, `concat(image_folder, csv)`
static std::string titleOf(pipe::SourceOp op) {
  std::vector<std::string> arguments;
  for (auto [name, value] : llvm::zip(op.getArgNames().getAsValueRange<StringAttr>(), op.getArgs()))
    if (auto part = value.getDefiningOp<pipe::SourceOp>())
      arguments.push_back(part.getKind().str());
    else
      arguments.push_back(name.str());
  return op.getKind().str() + "(" + llvm::join(arguments, ", ") + ")";
}

void Overview::source(pipe::SourceOp op) {
  const bool isPart = llvm::all_of(op.getResult().getUsers(), llvm::IsaPred<pipe::SourceOp>);
  if (isPart && !op.getResult().use_empty())
    return; // what it is part of has a box
  Box &box = boxFor(keyOf("source", op), "source", op);
  box.title = titleOf(op);
  for (Operation *user : op.getResult().getUsers()) {
    if (auto row = llvm::dyn_cast<pipe::RowOp>(user)) {
      box.lines.push_back("order " + pipe::stringifyOrderKind(row.getOrder()).str());
      for (auto batch : row->getBlock()->getOps<pipe::BatchOp>())
        if (batch.getBuckets())
          box.lines.push_back("in batches by length");
      boxOf[user] = boxOf[op];
    } else if (llvm::isa<pipe::PickOp>(user)) {
      boxOf[user] = boxOf[op];
      if (!llvm::is_contained(box.lines, "other rows are picked"))
        box.lines.push_back("other rows are picked");
    }
  }
}

void Overview::decode(pipe::DecodeOp op) {
  Box &box = boxFor(keyOf("decode", op), "decode", op);
  box.title = "decode";
  ++box.decodes;
  if (box.decodes == 1)
    box.lines = remarksOf(op, "required-regions");
  connect(boxOf[op], op.getData(), {});
}

void Overview::launch(pipe::LaunchOp op) {
  auto kernel = symbols.lookup<pipe::KernelOp>(op.getKernel());
  if (!kernel || kernel->hasAttr("weights"))
    return;
  Box &box = boxFor(keyOf("kernel", op), "kernel", op);
  const size_t number = boxOf[op];
  box.launches.push_back(op);
  box.kernels.push_back(op.getKernel().str());
  box.guarded += bool(op.getGuard());
  const std::vector<std::string> held = remarksOf(kernel, "fuse");
  for (StringRef text : held)
    if (text.consume_front("holds "))
      if (++box.holds[compressed(text)] == 1)
        box.names[compressed(text)] = op.getKernel().str();
  const std::vector<std::string> remarks = remarksOf(op, "fuse");
  for (Value tensor : op.getTensors())
    connect(number, tensor, remarks);
}

void Overview::output(pipe::OutputOp op) {
  Box box;
  box.kind = "output";
  box.last = visited;
  outputs.push_back(op.getName().str());
  const auto axes = op.getAxes().getAsValueRange<StringAttr>();
  Type type = op.getValue().getType();
  if (auto tensor = llvm::dyn_cast<pipe::NamedTensorType>(type))
    type = tensor.getElementType();
  box.title = op.getName().str() + ": " + pipe::scalarName(type).str() + "[" +
              llvm::join(llvm::map_range(axes, [](StringRef name) { return name.str(); }), ", ") +
              "]";
  boxes.push_back(std::move(box));
  connect(boxes.size() - 1, op.getValue(), {});
}

void Overview::makersOf(Value value, llvm::SetVector<size_t> &makers,
                        llvm::SetVector<Operation *> &tables, int depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > 20)
    return;
  if (auto launch = llvm::dyn_cast<pipe::LaunchOp>(op); launch && !boxOf.count(op)) {
    tables.insert(op);
    return;
  }
  if (auto field = llvm::dyn_cast<pipe::FieldOp>(op))
    op = field.getRow().getDefiningOp();
  if (auto found = boxOf.find(op); op && found != boxOf.end()) {
    makers.insert(found->second);
    return;
  }
  if (!op)
    return;
  for (Value operand : op->getOperands())
    if (llvm::isa<pipe::NamedTensorType, pipe::BytesType>(operand.getType()))
      makersOf(operand, makers, tables, depth + 1);
  for (Region &region : op->getRegions())
    for (Value yielded : region.front().back().getOperands())
      makersOf(yielded, makers, tables, depth + 1);
}

void Overview::connect(size_t to, Value value, const std::vector<std::string> &remarks) {
  llvm::SetVector<size_t> makers;
  llvm::SetVector<Operation *> tables;
  makersOf(value, makers, tables);
  Box &box = boxes[to];
  for (Operation *table : tables) {
    const std::string name = llvm::cast<pipe::LaunchOp>(table).getKernel().str();
    if (!llvm::is_contained(box.kernels, name)) {
      box.kernels.push_back(name);
      box.tables.push_back(table);
    }
  }
  const bool isTensor = llvm::isa<pipe::NamedTensorType>(value.getType());
  const std::string type = isTensor ? transforms::typeText(value) : "the bytes of a file";
  std::string why;
  for (StringRef text : remarks)
    if (text.starts_with("reads " + type + " from "))
      if (const size_t at = text.find("\nnot fused: "); at != StringRef::npos && why.empty())
        why = text.substr(at + 12).str();
  for (size_t maker : makers) {
    if (maker == to) {
      if (!why.empty())
        ++box.inside[why];
      continue;
    }
    auto same = llvm::find_if(
        box.flows, [&](const Flow &flow) { return flow.from == maker && flow.type == type; });
    if (same == box.flows.end()) {
      box.flows.push_back({maker, type, isTensor ? transforms::bytesOf(value) : "", {}});
      same = box.flows.end() - 1;
    }
    ++same->count;
    if (!why.empty())
      ++same->reasons[why];
  }
}

void Overview::visit(Operation &op) {
  ++visited;
  if (auto found = llvm::dyn_cast<pipe::SourceOp>(op))
    source(found);
  else if (auto found = llvm::dyn_cast<pipe::DecodeOp>(op))
    decode(found);
  else if (auto found = llvm::dyn_cast<pipe::LaunchOp>(op))
    launch(found);
  else if (auto found = llvm::dyn_cast<pipe::OutputOp>(op))
    output(found);
  for (Region &region : op.getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        visit(inner);
}

/// The commonest of some reasons.
static std::string mostOf(const std::map<std::string, int> &reasons) {
  auto most = std::max_element(reasons.begin(), reasons.end(),
                               [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == reasons.end() ? "" : most->first;
}

/// Returns the user's names for the ops of a box, in the order of the text. Names of outputs are
/// used if there are no others.
std::vector<std::string> Overview::wordsOf(const Box &box) const {
  std::map<std::pair<unsigned, unsigned>, std::string> ordered;
  SmallVector<Operation *> ops(box.tables);
  ops.append(box.launches.begin(), box.launches.end());
  for (Operation *op : ops)
    for (FileLineColLoc place : pipe::userPlacesOf(op->getLoc()))
      ordered[{place.getLine(), place.getColumn()}] = penstock::api::wordAt(sources, place);
  std::vector<std::string> words, names;
  for (const auto &[place, word] : ordered)
    if (!word.empty() && !llvm::is_contained(words, word) && !llvm::is_contained(names, word))
      (llvm::is_contained(outputs, word) ? names : words).push_back(word);
  return words.empty() ? names : words;
}

ordered_json Overview::jsonOf(const Box &box, size_t number) const {
  std::vector<std::string> lines = box.lines;
  std::string title = box.title;
  if (box.kind == "kernel") {
    const std::vector<std::string> words = wordsOf(box);
    title = words.empty() ? "expression" : llvm::join(words, ", "); // as `x - y` between two
    std::vector<std::pair<std::string, int>> held(box.holds.begin(), box.holds.end());
    std::sort(held.begin(), held.end(), [&](const auto &a, const auto &b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    constexpr size_t shown = 4;
    for (size_t i = 0; i < std::min(held.size(), shown); ++i)
      lines.push_back((held[i].second > 1 ? std::to_string(held[i].second) + " kernels, each: "
                                          : box.names.at(held[i].first) + ": ") +
                      held[i].first);
    if (held.size() > shown)
      lines.push_back("and " + std::to_string(held.size() - shown) + " more kind" +
                      (held.size() > shown + 1 ? "s" : "") + " of kernel");
    if (const std::string why = mostOf(box.inside); !why.empty())
      lines.push_back("not one kernel: " + why);
    if (box.guarded > 0)
      lines.push_back(std::to_string(box.guarded) + " run only where their branch is taken");
    if (const size_t tables = box.tables.size())
      lines.push_back("with " + std::to_string(tables) + " small table" + (tables > 1 ? "s" : "") +
                      ", made before there are pixels");
  }
  if (box.decodes > 1)
    title += " (" + std::to_string(box.decodes) + " times)";
  ordered_json in = ordered_json::array();
  for (const Flow &flow : box.flows)
    in.push_back({{"from", flow.from},
                  {"what", (flow.count > 1 ? std::to_string(flow.count) + " x " : "") + flow.type},
                  {"bytes", flow.bytes + (flow.count > 1 && !flow.bytes.empty() ? " each" : "")},
                  {"not_fused", mostOf(flow.reasons)}});
  return {{"number", number},       {"kind", box.kind}, {"title", title},
          {"place", box.place},     {"lines", lines},   {"launches", box.launches.size()},
          {"kernels", box.kernels}, {"in", in}};
}

void Overview::arrange() {
  std::vector<size_t> order(boxes.size()), rank(boxes.size());
  std::iota(order.begin(), order.end(), size_t(0));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(boxes[a].last, a) < std::pair(boxes[b].last, b);
  });
  std::vector<Box> arranged;
  for (size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = i;
    arranged.push_back(std::move(boxes[order[i]]));
  }
  for (Box &box : arranged)
    for (Flow &flow : box.flows)
      flow.from = rank[flow.from];
  boxes = std::move(arranged);
}

ordered_json Overview::of(pipe::PipelineOp pipeline) {
  for (Operation &op : pipeline.getBody().front())
    visit(op);
  arrange();
  std::vector<std::string> summary, notes;
  for (StringRef text : remarksOf(pipeline, "fuse"))
    summary.push_back(text.str());
  for (StringRef text : remarksOf(pipeline, "place"))
    notes.push_back(text.str());
  ordered_json all = ordered_json::array();
  for (size_t i = 0; i < boxes.size(); ++i)
    all.push_back(jsonOf(boxes[i], i));
  std::string statistics = llvm::join(summary, "\n");
  return {{"version", 1},
          {"pipeline", pipeline.getSymName().str()},
          {"summary", statistics},
          {"place", llvm::join(notes, "\n")},
          {"boxes", all}};
}

std::string api::overviewJson(ModuleOp module, const dsl::SourceManager &sources) {
  ordered_json result;
  for (auto pipeline : module.getOps<pipe::PipelineOp>())
    result = Overview(module, sources).of(pipeline);
  return result.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}
