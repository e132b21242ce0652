// SPDX-License-Identifier: Apache-2.0
//
// The remarks of the passes, in words.
#include "api/c/Explain.h"
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Dialect/UserPlaces.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace penstock;

namespace {

class Explanation {
public:
  Explanation(ModuleOp module, const dsl::SourceManager &sources)
      : symbols(module), sources(sources) {}

  void pipeline(pipe::PipelineOp pipeline);
  std::string text;

private:
  void block(Block &block);
  void launch(pipe::LaunchOp launch);
  /// A head line and the remarks of `op` below it; nothing without remarks.
  bool entry(Operation *op, const std::string &title, StringRef indent);
  void lines(Operation *op, StringRef indent);
  std::string placeOf(Operation *op) const;

  SymbolTable symbols;
  const dsl::SourceManager &sources;
  DenseSet<Operation *> seen; ///< kernels that have been explained
};

} // namespace

std::string penstock::api::wordAt(const dsl::SourceManager &sources, FileLineColLoc place) {
  for (uint32_t index = 0; index < sources.count(); ++index) {
    const dsl::FileId file{index};
    if (sources.name(file) != std::string_view(place.getFilename().getValue()))
      continue;
    std::string_view line = sources.line(file, place.getLine());
    if (place.getColumn() == 0 || place.getColumn() > line.size())
      return {};
    line.remove_prefix(place.getColumn() - 1);
    size_t end = 0;
    while (end < line.size() && (std::isalnum(static_cast<unsigned char>(line[end])) ||
                                 line[end] == '_' || line[end] == '.'))
      ++end;
    return std::string(line.substr(0, end));
  }
  return {};
}

/// `random_resized_crop (train.pipe:7:8), flip (8:8)`.
std::string Explanation::placeOf(Operation *op) const {
  std::string result, file;
  for (FileLineColLoc place : pipe::userPlacesOf(op->getLoc())) {
    std::string at = std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn());
    if (place.getFilename() != file)
      at = place.getFilename().str() + ":" + at;
    file = place.getFilename().str();
    const std::string word = penstock::api::wordAt(sources, place);
    result += (result.empty() ? "" : ", ") + (word.empty() ? at : word + " (" + at + ")");
  }
  return result;
}

/// The lines of a remark after its first stand further in.
static std::string indented(std::string lines, StringRef indent) {
  const std::string margin = "\n" + indent.str() + "    ";
  for (size_t at = lines.find('\n'); at != std::string::npos;
       at = lines.find('\n', at + margin.size()))
    lines.replace(at, 1, margin);
  return lines;
}

void Explanation::lines(Operation *op, StringRef indent) {
  auto remarks = op->getAttrOfType<ArrayAttr>("pipe.remarks");
  if (!remarks)
    return;
  for (auto remark : remarks.getAsRange<pipe::RemarkAttr>())
    text += (indent + remark.getPass().strref() + ": " + indented(remark.getText().str(), indent) +
             "\n")
                .str();
}

bool Explanation::entry(Operation *op, const std::string &title, StringRef indent) {
  if (!op->hasAttr("pipe.remarks"))
    return false;
  const std::string place = placeOf(op);
  text += indent.str() + title + (place.empty() ? "" : ": " + place) + "\n";
  lines(op, (indent + "  ").str());
  return true;
}

void Explanation::launch(pipe::LaunchOp launch) {
  auto kernel = symbols.lookup<pipe::KernelOp>(launch.getKernel());
  if (!kernel)
    return;
  const bool fresh = seen.insert(kernel).second;
  text += "kernel " + launch.getKernel().str() + ": " + placeOf(launch) + "\n";
  if (fresh)
    lines(kernel, "  ");
  lines(launch, "  ");
  if (fresh)
    kernel.getBody().walk<WalkOrder::PreOrder>(
        [&](Operation *op) { entry(op, op->getName().stripDialect().str(), "  "); });
  else
    text += "  (the code is that of the launch above)\n";
}

void Explanation::block(Block &block) {
  for (Operation &op : block) {
    if (auto launched = llvm::dyn_cast<pipe::LaunchOp>(op))
      launch(launched);
    else
      entry(&op, op.getName().stripDialect().str(), "");
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        this->block(inner);
  }
}

void Explanation::pipeline(pipe::PipelineOp pipeline) {
  entry(pipeline, "pipeline", "");
  block(pipeline.getBody().front());
}

std::string api::explain(ModuleOp module, const dsl::SourceManager &sources) {
  Explanation explanation(module, sources);
  for (auto pipeline : module.getOps<pipe::PipelineOp>())
    explanation.pipeline(pipeline);
  return explanation.text.empty() ? "no pass had anything to say about this pipeline\n"
                                  : explanation.text;
}
