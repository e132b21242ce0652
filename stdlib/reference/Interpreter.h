// SPDX-License-Identifier: Apache-2.0
//
// The reference interpreter of pipelines, element by element.
//
// Interprets a `pipe.pipeline` for all slots of a batch, one element at a time:
// as imported, after any pass, and in the kernels form. What it computes is, by
// contract, what the pipeline means.
#pragma once

#include "runtime/abi/media.h"
#include "stdlib/reference/Value.h"
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace penstock::reference {

/// A source: a length and rows by number.
class Table {
public:
  virtual ~Table() = default;
  virtual int64_t length() const = 0;
  /// The field `name` of a row inside 0 ..< length().
  virtual Field field(int64_t row, const std::string &name) const = 0;
};

/// Decoders and encoders. Nothing where the bytes are damaged: the sample then
/// fails.
class Media {
public:
  /// Numbers of a header in the order of runtime/abi/media.h; f64 by their bits.
  using Header = media::Record;
  virtual ~Media() = default;
  virtual std::optional<Header> probe(const std::string &media, const Bytes &data) const = 0;
  /// The whole image, u8 in the axes h, w and, for `rgb`, c (of `index`, numbers of a palette); u16
  /// for `rgb16`, `gray16`; f32 for `rgb32`, `gray32`.
  virtual std::optional<Tensor> decode(const std::string &media, const std::string &format,
                                       const Bytes &data) const = 0;
  /// A whole array of `npy` or `nifti` (the upright one, with `orient`), of a blank tensor's type
  /// and shape.
  virtual std::optional<Tensor> decodeArray(const std::string &media, const Bytes &data,
                                            bool orient, Tensor blank) const {
    return std::nullopt;
  }
  /// Frames first, first + step, ... of a video, u8 in the axes t, h, w and c.
  virtual std::optional<Tensor> decodeClip(const std::string &format, const Bytes &data,
                                           int64_t first, int64_t count, int64_t step) const {
    return std::nullopt;
  }
  /// The file of an image, u8 in the axes h, w and perhaps c; `format` is `jpeg`,
  /// or `png`, which has no quality.
  virtual std::optional<Bytes> encode(const std::string &format, const Tensor &value,
                                      int64_t quality) const {
    return std::nullopt;
  }
};

/// The reason that a sample is bad: the message of a check, with its two values.
struct Failure {
  std::string message;
  int64_t first = 0, second = 0;
};

/// Runs the kernels of the kernels form in the interpreter's place: how a test
/// puts generated code under the same pipeline.
class KernelRunner {
public:
  virtual ~KernelRunner() = default;
  /// `outputs` have their type and extents. `scalars` are entries of 8 bytes as
  /// in runtime/abi/kernel.h: a pixel kernel's arguments, or the whole parameter
  /// block of a select or setup kernel, which writes to it.
  virtual std::optional<Failure> run(const std::string &kernel,
                                     const std::vector<const Tensor *> &inputs,
                                     std::vector<Tensor> &outputs,
                                     std::vector<int64_t> &scalars) const = 0;
};

struct BatchInputs {
  uint64_t seed = 0;
  uint32_t epoch = 0;
  /// One per slot.
  std::vector<uint64_t> positions;
  /// Position of the rank's first slot of the batch.
  uint64_t batchPosition = 0;
  /// Slot number of positions[0], and how many samples the rank's batch has: to
  /// interpret a part of a batch that reads no peer. 0: the positions given.
  int64_t firstSlot = 0, count = 0;

  /// By name; a parameter that is absent takes its default.
  std::map<std::string, Field> params;
  /// Opens the source of this kind with these arguments.
  std::function<std::shared_ptr<Table>(const std::string &kind,
                                       const std::map<std::string, Field> &args)>
      open;
  /// The row of a position, for a table of that length; where a list or `where`
  /// chooses rows, a number among those.
  std::function<int64_t(uint64_t position, int64_t length)> rowOf;
  /// As `rowOf`, for the order `weighted`.
  std::function<int64_t(uint64_t position, const std::vector<double> &weights)> weightedRowOf;
  const Media *media = nullptr;
  /// Null: kernels are interpreted.
  const KernelRunner *kernels = nullptr;
};

struct Output {
  std::string name;
  std::variant<Scalar, TensorRef> value;
  /// Length of the leading axis of a ragged output, else -1.
  int64_t ragged = -1;
};

struct SampleResult {
  std::optional<Failure> failure;
  std::vector<Output> outputs;
};

struct BatchResult {
  /// The fault of the module itself, or empty: an index outside a tensor, an op that has no meaning
  /// where it stands. `samples` is then empty.
  std::string error;
  std::vector<SampleResult> samples;
};

class Program;

class Interpreter {
public:
  /// Prepares a pipeline of `module` (its only one, where `pipeline` is empty).
  /// The module must outlive the interpreter and not change.
  explicit Interpreter(mlir::ModuleOp module, const std::string &pipeline = "");
  ~Interpreter();
  Interpreter(const Interpreter &) = delete;
  Interpreter &operator=(const Interpreter &) = delete;

  /// Interprets all slots. A slot whose sample fails reports that; a slot that
  /// reads a failed peer fails too.
  BatchResult run(const BatchInputs &inputs) const;

private:
  std::unique_ptr<Program> program;
  std::string error;
};

} // namespace penstock::reference
