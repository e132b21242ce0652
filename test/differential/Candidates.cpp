// SPDX-License-Identifier: Apache-2.0
//
// Candidates: implementations that must equal the reference.
#include "test/differential/Candidates.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace penstock::reference;

namespace penstock::differential {

//===--- comparing ---------------------------------------------------------===//

static std::string text(const Scalar &value) {
  std::string result;
  llvm::raw_string_ostream stream(result);
  if (isFloat(value.type))
    stream << llvm::format("%a", value.real);
  else
    stream << value.integer;
  return result;
}

static bool sameBits(const Scalar &a, const Scalar &b) {
  Tensor x(a.type, {}, {}), y(b.type, {}, {});
  x.store(0, a);
  y.store(0, b);
  return a.type == b.type && x.bytes == y.bytes;
}

static std::string shape(const Tensor &tensor) {
  std::string result(nameOf(tensor.type));
  for (size_t i = 0; i < tensor.axes.size(); ++i)
    result += " " + tensor.axes[i] + "=" + std::to_string(tensor.extents[i]);
  return result;
}

static std::optional<std::string> difference(const Output &a, const Output &b) {
  if (a.value.index() != b.value.index() || a.ragged != b.ragged)
    return "another kind or length";
  if (const auto *x = std::get_if<Scalar>(&a.value)) {
    const Scalar &y = std::get<Scalar>(b.value);
    if (sameBits(*x, y))
      return std::nullopt;
    return text(*x) + " expected, " + text(y) + " found";
  }
  const Tensor &x = *std::get<TensorRef>(a.value), &y = *std::get<TensorRef>(b.value);
  if (x == y)
    return std::nullopt;
  if (x.type != y.type || x.axes != y.axes || x.extents != y.extents)
    return "[" + shape(x) + "] expected, [" + shape(y) + "] found";
  int64_t wrong = 0;
  std::string first;
  forEachIndex(x.extents, [&](const std::vector<int64_t> &index) {
    const int64_t at = x.offset(index);
    if (sameBits(x.load(at), y.load(at)))
      return;
    if (wrong++ == 0) {
      for (int64_t i : index)
        first += (first.empty() ? "" : ", ") + std::to_string(i);
      first = "element [" + first + "] of [" + shape(x) + "]: " + text(x.load(at)) + " expected, " +
              text(y.load(at)) + " found";
    }
  });
  return first + "; " + std::to_string(wrong) + " of " + std::to_string(x.count()) + " differ";
}

std::optional<std::string> firstDifference(const BatchResult &expected, const BatchResult &found) {
  if (!found.error.empty())
    return "fault: " + found.error;
  if (expected.samples.size() != found.samples.size())
    return "another number of samples";
  for (size_t slot = 0; slot < expected.samples.size(); ++slot) {
    const SampleResult &a = expected.samples[slot], &b = found.samples[slot];
    const std::string where = "slot " + std::to_string(slot);
    if (a.failure.has_value() != b.failure.has_value())
      return where + (a.failure ? " fails with: " + a.failure->message
                                : " should not fail with: " + b.failure->message);
    if (a.failure) {
      if (a.failure->message != b.failure->message || a.failure->first != b.failure->first ||
          a.failure->second != b.failure->second)
        return where + " fails with another message or values";
      continue;
    }
    if (a.outputs.size() != b.outputs.size())
      return where + " has another number of outputs";
    // Outputs are delivered by name; their order is not part of the meaning.
    for (const Output &output : a.outputs) {
      const auto same =
          llvm::find_if(b.outputs, [&](const Output &other) { return other.name == output.name; });
      const auto found = same == b.outputs.end() ? std::optional<std::string>("is missing")
                                                 : difference(output, *same);
      if (found)
        return where + ", output `" + output.name + "`: " + *found;
    }
  }
  return std::nullopt;
}

//===--- candidates --------------------------------------------------------===//

static Outcome printedAndParsed(mlir::ModuleOp module, const BatchInputs &inputs) {
  std::string printed;
  llvm::raw_string_ostream stream(printed);
  module.print(stream);
  const auto parsed = mlir::parseSourceString<mlir::ModuleOp>(printed, module.getContext());
  if (!parsed)
    return {"", {"the printed module does not parse", {}}};
  return {"", Interpreter(*parsed).run(inputs)};
}

std::vector<Candidate> allCandidates(const Remote &remote) {
  std::vector<Candidate> result = {{"text, printed and parsed", printedAndParsed}};
  for (Candidate &candidate : passCandidates())
    result.push_back(std::move(candidate));
  for (Candidate &candidate : jitCandidates(remote))
    result.push_back(std::move(candidate));
  return result;
}

} // namespace penstock::differential
