// SPDX-License-Identifier: Apache-2.0
//
// A pipeline's text, its fields and what it delivers.
#pragma once

#include "stdlib/reference/Interpreter.h"
#include <gtest/gtest.h>

namespace penstock::reference {

/// A tensor with these elements (0 and 1 for bool).
template <typename T>
TensorRef tensorOf(DType type, std::vector<std::string> axes, std::vector<int64_t> extents,
                   const std::vector<T> &elements) {
  Tensor tensor(type, std::move(axes), std::move(extents));
  EXPECT_EQ(tensor.count(), static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i)
    tensor.store(static_cast<int64_t>(i), isFloat(type)
                                              ? realScalar(static_cast<double>(elements[i]), type)
                                              : intScalar(static_cast<int64_t>(elements[i]), type));
  return std::make_shared<const Tensor>(std::move(tensor));
}

/// The elements, widened.
inline std::vector<double> reals(const Tensor &tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const Scalar value = tensor.load(i);
    result.push_back(isFloat(tensor.type) ? value.real : static_cast<double>(value.integer));
  }
  return result;
}

/// A table whose every row has the same fields, but for `number`, the row's.
class OneRow final : public Table {
public:
  OneRow(std::map<std::string, Field> fields, int64_t rows)
      : fields(std::move(fields)), rows(rows) {}
  int64_t length() const override { return rows; }
  Field field(int64_t row, const std::string &name) const override {
    if (name == "number")
      return intScalar(row);
    return fields.at(name);
  }

private:
  std::map<std::string, Field> fields;
  int64_t rows;
};

/// A module around ops that may use `%row` and `%n` (one), up to the outputs.
inline std::string pipelineOf(const std::string &ops, const std::string &outputs) {
  return R"(
pipe.pipeline @p seed 0 substitute 0.0 {
  %table = pipe.source "test" () named [] columns {}
  %row = pipe.row sequential %table
  %n = pipe.constant 1 : i64 -> i64
)" + ops +
         "\npipe.batch size(%n) last drop {\n" + outputs + "\n}\n}\n";
}

/// Runs a module's text.
BatchResult runModule(const std::string &text, const BatchInputs &inputs);

class OneSample {
public:
  /// Runs `ops` over a row with these fields, for one slot per position.
  BatchResult run(const std::string &ops, const std::string &outputs,
                  const std::map<std::string, Field> &fields = {},
                  std::vector<uint64_t> positions = {0}, int64_t rows = 10) {
    BatchInputs inputs;
    inputs.seed = 42;
    inputs.epoch = 3;
    inputs.positions = std::move(positions);
    inputs.batchPosition = inputs.positions.front();
    inputs.open = [&](const std::string &, const std::map<std::string, Field> &) {
      return std::make_shared<OneRow>(fields, rows);
    };
    return runModule(pipelineOf(ops, outputs), inputs);
  }

  /// The value %r (of this type) after `ops`.
  Tensor tensor(const std::string &ops, const std::string &type,
                const std::map<std::string, Field> &fields = {}) {
    const BatchResult result = deliver(ops, type, fields);
    if (result.samples.empty() || result.samples[0].outputs.empty())
      return Tensor(DType::u8, {"none"}, {0});
    return *std::get<TensorRef>(result.samples[0].outputs[0].value);
  }
  Scalar scalar(const std::string &ops, const std::string &type) {
    const BatchResult result = deliver(ops, type, {});
    if (result.samples.empty() || result.samples[0].outputs.empty())
      return {};
    return std::get<Scalar>(result.samples[0].outputs[0].value);
  }

private:
  BatchResult deliver(const std::string &ops, const std::string &type,
                      const std::map<std::string, Field> &fields) {
    // The declared axes are not what is tested here: one name for each.
    std::string axes = "[\"n\"";
    const size_t bracket = type.find('[');
    if (bracket != std::string::npos && type[bracket + 1] != ']') {
      const long rank = 1 + std::count(type.begin() + static_cast<long>(bracket), type.end(), ',');
      for (long i = 0; i < rank; ++i)
        axes += ", \"" + std::to_string(i) + "\"";
    }
    axes += "]";
    BatchResult result =
        run(ops, "pipe.output \"r\" %r axes " + axes + " stored " + axes + " : " + type, fields);
    EXPECT_EQ(result.error, "");
    if (!result.samples.empty() && result.samples[0].failure)
      ADD_FAILURE() << result.samples[0].failure->message;
    return result;
  }
};

} // namespace penstock::reference
