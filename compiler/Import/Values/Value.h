// SPDX-License-Identifier: Apache-2.0
//
// Values of expressions during import.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "dsl/AST/AST.h"
#include "dsl/AST/Units.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::importer {

/// An axis of a tensor together with its extent where that is no constant.
struct Dim {
  pipe::Axis axis;
  mlir::Value size; ///< null where the extent is static
};

/// A field of a table's rows.
struct Column {
  std::string name;
  mlir::Type type;
  /// The order of a tensor's axes in which pipelines see it; empty: as stored.
  std::vector<std::string> seen = {};
};
using Columns = std::vector<Column>;

enum class Kind {
  Poison,     ///< the result of a statement with an error, reported already
  Number,     ///< a scalar
  Tensor,     ///< rank 0 too: a scalar that depends on pixels
  Neighbours, ///< bound by `window`: scalars on a small grid
  Grouped,    ///< elements in groups; parts: the elements, each one's group, each group's first
  Record,
  Range,
  List,
  Word, ///< an axis or a choice: `w`, `bilinear`
  Text,
  Bytes,
  Table,
  Row,
  Type, ///< of bytes that are decoded: `f32[k, f = 4]`
};

/// A value of the language while it is elaborated. Records, ranges and lists
/// exist only here and dissolve into ops.
struct Val {
  Kind kind = Kind::Poison;
  mlir::Value ir; ///< Number, Tensor, Text, Bytes, Table, Row
  /// Set for a Number that is a literal or draw, and takes the sized type it meets.
  bool untyped = false;
  bool wasWhole = false; ///< of a Range's end: the other end, a fraction, made one of it
  std::optional<dsl::UnitKind> unit; ///< of a Number such as `25ms`
  std::string word;                  ///< of a Word
  std::vector<std::string> names;    ///< of a Record: its fields; of a Type: its axes
  /// Fields, items, the two ends of a range, neighbours row-major; of a Type the
  /// extents: numbers, formats such as `xyxy`, and Poison where the file decides.
  std::vector<Val> parts;
  mlir::Type element;  ///< of a Type
  bool closed = false; ///< of a Range: `..=`
  struct GridAxis {
    std::string name;
    int64_t low = 0;
    int64_t extent = 1;
    bool ofWindow = false; ///< places count from the element, also those of a slice
    bool operator==(const GridAxis &other) const {
      return name == other.name && low == other.low && extent == other.extent;
    }
  };
  std::vector<GridAxis> grid;             ///< of Neighbours
  std::shared_ptr<const Columns> columns; ///< of Table and Row

  bool is(Kind k) const { return kind == k; }
  pipe::NamedTensorType tensorType() const {
    return llvm::cast<pipe::NamedTensorType>(ir.getType());
  }
  /// Returns the field of a Record, or null.
  const Val *field(const std::string &name) const {
    for (size_t i = 0; i < names.size(); ++i)
      if (names[i] == name)
        return &parts[i];
    return nullptr;
  }
};

/// Calls `body` at every place of a grid, row-major, counted from 0.
void forEachPlace(llvm::ArrayRef<Val::GridAxis> grid,
                  const std::function<void(llvm::ArrayRef<int64_t>)> &body);
/// Returns the number of such a place.
size_t placeIn(llvm::ArrayRef<Val::GridAxis> grid, llvm::ArrayRef<int64_t> at);
/// Returns the value of an axis or a choice.
Val wordOf(std::string text);
/// The words of a type such as `filter`; none of others.
llvm::ArrayRef<llvm::StringRef> wordsOf(llvm::StringRef type);
/// The unit in which quantities of a kind are mostly written.
const char *ownUnit(dsl::UnitKind kind);
/// Returns the element type of a Number, a Tensor or Neighbours; null for anything else.
mlir::Type elementType(const Val &value);
/// Collects the parts of records, ranges, lists, groups and neighbourhoods, in order. Throws Abort
/// if a part is Poison.
void flatten(Val &value, std::vector<Val *> &leaves);
/// Returns an op of which `value` is made, those in regions included, and for which `is` holds;
/// null if there is none.
mlir::Operation *behind(mlir::Value value, llvm::function_ref<bool(mlir::Operation *)> is);

} // namespace penstock::importer
