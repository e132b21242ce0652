// SPDX-License-Identifier: Apache-2.0
//
// Intrinsics: functions that the library cannot define in the language.
//
// The table of docs/intrinsics.md. Element types are functions too: `u8(x)`,
// `u8.clamp(x)`, `u8.bits(x)`. Arguments come evaluated.
#pragma once

#include "compiler/Import/Values/Arithmetic.h"

namespace penstock::importer {

class Intrinsics : public Arithmetic {
public:
  using Arithmetic::Arithmetic;

  static bool isIntrinsic(llvm::StringRef name);
  static bool isSource(llvm::StringRef name);
  Val callIntrinsic(const dsl::Name &name, const std::vector<Argument> &args,
                    dsl::SourceRange range);
  Val callType(mlir::Type type, const std::string &method, const std::vector<Argument> &args,
               dsl::SourceRange range);
  static bool isReduction(llvm::StringRef name);
  /// \param over  axes of the value, by their own names.
  Val reduce(const dsl::Name &name, const std::vector<Argument> &args,
             const std::vector<dsl::Name> &over, dsl::SourceRange range);
  Val rowField(const Val &row, const std::string &name, dsl::SourceRange range);
  pipe::Border borderNamed(const Argument &arg);

  std::string numerics = "pillow";

private:
  using Args = llvm::ArrayRef<Argument>;

  void warnOfWrapping(const Val &value, dsl::SourceRange range);
  /// The number of a row in its table.
  mlir::Value placeOf(mlir::Value row);
  mlir::Value asAsked(mlir::Value number, mlir::IRMapping &asked);

  // Arguments.cpp
  /// Arguments in the order of `names`; those not given are Poison. The first
  /// `required` must be there.
  std::vector<Argument> ordered(const std::string &function, const std::vector<Argument> &args,
                                llvm::ArrayRef<llvm::StringRef> names, size_t required,
                                dsl::SourceRange range);
  std::string demandAxis(const Argument &arg, const Val *of, const std::string &function);
  std::string demandWord(const Argument &arg, llvm::ArrayRef<llvm::StringRef> words);
  const Val &demandTensor(const Argument &arg, const std::string &function);
  mlir::Value fillValue(const Argument &arg, mlir::Type element);

  Val scalarFunction(const std::string &name, Args args, dsl::SourceRange range);
  // Reduce.cpp, Groups.cpp
  mlir::Value amongExisting(mlir::Value place, const std::vector<Dim> &all,
                            llvm::ArrayRef<std::string> axes);
  mlir::Value ofNothing(pipe::ReduceKind kind, mlir::Value result, const std::vector<Dim> &all,
                        llvm::ArrayRef<std::string> axes);
  Val inOrderOf(const Val &value, llvm::ArrayRef<std::string> axes);
  Val asGiven(pipe::ReduceKind kind, const Val &result, mlir::Type given, dsl::SourceRange range);
  Val reduceGroups(pipe::ReduceKind kind, const Argument &arg, const std::vector<std::string> &over,
                   dsl::SourceRange range);
  Val compact(Args args);
  Val group(Args args, dsl::SourceRange range);
  Val scatter(const std::vector<Argument> &args, dsl::SourceRange range);
  // Reshape.cpp
  Val reverse(Args args, dsl::SourceRange range);
  std::map<std::pair<const void *, std::string>, Val> fields; ///< of rows, that were read
  Val rename(Args args, dsl::SourceRange range);
  Val extend(Args args, dsl::SourceRange range);
  Val frames_(Args args, dsl::SourceRange range);
  /// Converts numbers and tensors to one element type.
  void demandSameType(const std::string &what, std::vector<Val> &parts, dsl::SourceRange range);
  /// Stacks numbers, and tensors without axes, along an axis.
  Val stackNumbers(std::vector<Val> parts, const std::string &axis, dsl::SourceRange range);
  mlir::Value concatCounted(llvm::ArrayRef<mlir::Value> parts, const std::string &axis,
                            dsl::SourceRange range);
  Val split(Args args, dsl::SourceRange range);
  Val merge(Args args, dsl::SourceRange range);
  Val join(bool stack, Args args, dsl::SourceRange range);
  Val placeInto(const std::vector<Argument> &args, dsl::SourceRange range);
  // Small.cpp
  /// Returns whether a value is a small tensor of elements, or a list that makes one.
  bool isSmall(const Val &value) const;
  bool isElement(const Val &value) const;
  std::optional<Val> callSmall(const std::string &name, Args args, dsl::SourceRange range);
  size_t gridAxis(const Val &value, const std::string &axis, dsl::SourceRange range,
                  const std::string &function);
  std::string smallAxis(const Argument &arg, const std::string &function);
  void orderKeys(mlir::Value &a, mlir::Value &b);
  /// Returns the middle one of an odd number of keys.
  mlir::Value middleKey(const std::vector<mlir::Value> &keys);
  std::vector<mlir::Value> keysInOrder(std::vector<mlir::Value> keys);
  /// Places of the keys, in their order; of equal ones the earlier comes first.
  std::vector<mlir::Value> placesInOrder(const std::vector<mlir::Value> &keys);
  Val sortSmall(const Val &value, size_t axis, dsl::SourceRange range);
  Val scanSmall(const std::string &name, const Val &value, size_t axis, Args args);
  Val joinSmall(bool stack, const Argument &list, const std::string &axis, dsl::SourceRange range);
  // Resample.cpp
  Val resample(Args args, dsl::SourceRange range);
  Val gather(const std::vector<Argument> &args, dsl::SourceRange range);
  mlir::Value inlineCoordinates(mlir::Value tensor);
  // Order.cpp
  /// Returns the value that sorts last: the largest number, true, NaN.
  mlir::Value largest(mlir::Type type);
  Val sort(Args args);
  Val fft(Args args);
  mlir::Value factorsOf(const Val &x, const Argument &arg);
  Val scan(const std::string &name, Args args);
  Val contract(Args args, dsl::SourceRange range);
  Val filter(Args args);
  /// Returns the coefficients of one side of a filter: f64 over one axis of 1 to 64.
  mlir::Value coefficients(const Argument &arg, bool divides);
  // Media.cpp, Encode.cpp
  Val pick(Args args, dsl::SourceRange range);
  Val decode(Args args, dsl::SourceRange range);
  void refuseFormat(llvm::StringRef word, dsl::SourceRange range);
  /// A number of the header, by its name in runtime/abi/media.h.
  mlir::Value headerNumber(llvm::StringRef medium, llvm::StringRef number, mlir::Value data);
  Val probe(Args args);
  Val decodeWave(Args args);
  bool demandOrient(const Argument &arg);
  // Numbers.cpp
  std::vector<Dim> givenAxes(const Argument &arg);
  Val decodeNumbers(Args args, dsl::SourceRange range);
  Val decodeArray(Args args, dsl::SourceRange range);
  std::string demandFields(const Argument &arg);
  Val decodePoints(const std::string &header, Args args);
  Val encode(Args args);
  /// The pixels that went into `file`, as they come out of it.
  Val decodeEncoded(pipe::EncodeOp file, Args args, dsl::SourceRange range);
  std::string oneByOne(const std::vector<Dim> &all) const;
  mlir::Value imageToEncode(const Argument &arg);
  mlir::Value jpegQuality(const Argument &arg);
  mlir::Value encodedRoom(pipe::Codec format, mlir::Value height, mlir::Value width,
                          int64_t channels);
};

} // namespace penstock::importer
