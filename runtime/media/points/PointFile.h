// SPDX-License-Identifier: Apache-2.0
//
// Files of points: a header that names what each point has, then the points.
#pragma once

#include "runtime/media/numbers/ArrayMedium.h"
#include "runtime/media/points/Lzf.h"
#include "runtime/media/points/TextRows.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// What each point has under one name.
struct PointField {
  std::string name;
  Stored type = Stored::u8;
  int64_t count = 1;     ///< of numbers
  int64_t offset = 0;    ///< in a point, in bytes
  bool isWhole = true;   ///< false: a part of another field, such as one of its colours
  bool isFiller = false; ///< has no meaning, and no name
};

struct PointHeader {
  enum class Layout {
    rows,    ///< point behind point
    columns, ///< field behind field, packed by LZF
    text,    ///< a line for each point
  };
  const char *kind = "";
  std::vector<PointField> fields;
  int64_t points = 0, width = 0, height = 1;
  int64_t stride = 0;  ///< bytes of a point
  int64_t numbers = 0; ///< of a point, fillers and all
  bool isBigEndian = false;
  Layout layout = Layout::rows;
  uint64_t data = 0;   ///< where the points begin
  uint64_t packed = 0; ///< bytes of packed columns
  int64_t skip = 0;    ///< lines in front of the first point of a text

  /// Adds a field behind the others. Limit where a point has more numbers than any sensible one.
  Status add(std::string name, Stored type, int64_t count);
  /// Of numbers, without fillers and parts.
  int64_t columns() const;
  /// Checks that the points can lie in a file of this size. Of packed ones, `packed` is known.
  Status fit(uint64_t fileSize) const;
};

/// A file of points, as a medium. The result's axes are the points and, unless it is one number,
/// the numbers that each has: those of the fields that `format` names, one behind the other, or
/// without names all. Floats are what any number becomes, rounded once; integers are the field's,
/// where their type holds them.
class PointFile : public ArrayFile {
public:
  using ArrayFile::ArrayFile;
  Status say(media::Record &numbers) const;
  Result<std::vector<StoredArray>> array(const MediumRequest &request) const;
  MediaBytes &bytes();
  bool isPacked() const { return header.layout != PointHeader::Layout::rows; }
  Status checkEnd();

protected:
  Status open(Result<PointHeader> read);

private:
  Result<std::vector<const PointField *>> fieldsNamed(std::string_view names) const;
  StoredArray columnOf(const PointField &field, int64_t number) const;

  PointHeader header;
  std::optional<LzfBytes> packed;
  std::optional<TextRows> text;
};

} // namespace penstock::runtime
