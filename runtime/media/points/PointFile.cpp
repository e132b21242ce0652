// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/points/PointFile.h"

#include "runtime/core/DType.h"
#include "runtime/media/points/HeaderText.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

/// Numbers of a point. A thousand are many; a header may say anything.
constexpr int64_t mostColumns = 1 << 16;

std::string listOf(const std::vector<PointField> &fields) {
  constexpr size_t most = 200;
  std::string list;
  for (const PointField &field : fields) {
    if (field.isFiller)
      continue;
    if (list.size() + field.name.size() > most)
      return list + ", ...";
    list += (list.empty() ? "" : ", ") + field.name;
  }
  return list;
}

} // namespace

Status PointHeader::add(std::string name, Stored type, int64_t count) {
  if (count > mostColumns - numbers)
    return Error{Code::Limit, std::string(kind) + " file whose points have more than " +
                                  std::to_string(mostColumns) + " numbers is not read"};
  fields.push_back({std::move(name), type, count, stride});
  stride += count * sizeOf(type);
  numbers += count;
  return {};
}

int64_t PointHeader::columns() const {
  int64_t all = 0;
  for (const PointField &field : fields)
    all += field.isWhole && !field.isFiller ? field.count : 0;
  return all;
}

Status PointHeader::fit(uint64_t fileSize) const {
  // A number and what stands behind it are two characters at least, but for the last one's.
  const bool isText = layout == Layout::text;
  const int64_t each = isText ? 2 * numbers : stride;
  if (each == 0)
    return damagedPoints(kind, "its points have nothing");
  int64_t bytes = 0, whole = 0;
  if (__builtin_mul_overflow(points, each, &bytes) ||
      __builtin_mul_overflow(points, stride, &whole))
    return damagedPoints(kind, "no file has " + std::to_string(points) + " points");
  const uint64_t has = fileSize - data;
  const uint64_t needs = layout == Layout::columns ? packed : uint64_t(bytes) - (isText && bytes);
  if (needs > has)
    return Error{Code::Truncated, std::string("truncated ") + kind + " file: it has " +
                                      std::to_string(fileSize) + " bytes of " +
                                      std::to_string(data + needs) + (isText ? " or more" : "")};
  if (layout == Layout::columns && uint64_t(whole) / LzfBytes::mostOfByte > packed)
    return damagedPoints(kind, std::to_string(packed) + " packed bytes are not " +
                                   std::to_string(points) + " points");
  return {};
}

Status PointFile::open(Result<PointHeader> read) {
  if (!read)
    return read.error();
  header = std::move(*read);
  if (header.layout == PointHeader::Layout::columns)
    packed.emplace(*file, header.data, header.packed,
                   uint64_t(header.points) * uint64_t(header.stride));
  if (header.layout != PointHeader::Layout::text)
    return {};
  std::vector<Stored> types;
  for (const PointField &field : header.fields)
    if (field.isWhole)
      types.insert(types.end(), size_t(field.count), field.type);
  text.emplace(*file, header.kind, header.data, header.skip, header.points, std::move(types));
  return {};
}

Status PointFile::say(media::Record &numbers) const {
  numbers[media::cloudPoints] = header.points;
  numbers[media::cloudColumns] = header.columns();
  numbers[media::cloudWidth] = header.width;
  numbers[media::cloudHeight] = header.height;
  return {};
}

MediaBytes &PointFile::bytes() {
  return packed ? static_cast<MediaBytes &>(*packed) : text ? *text : *file;
}

Status PointFile::checkEnd() {
  return packed ? packed->finish() : text ? text->finish() : Status();
}

Result<std::vector<const PointField *>> PointFile::fieldsNamed(std::string_view names) const {
  std::vector<const PointField *> found;
  if (names.empty()) {
    for (const PointField &field : header.fields)
      if (field.isWhole && !field.isFiller)
        found.push_back(&field);
    return found;
  }
  for (std::string_view name : wordsOf(names)) {
    const PointField *named = nullptr;
    for (const PointField &field : header.fields) {
      if (field.isFiller || field.name != name)
        continue;
      if (named)
        return damagedPoints(header.kind, "it has two fields `" + field.name + "`");
      named = &field;
    }
    if (!named)
      return Error{Code::Unsupported, "the file has no field `" + std::string(name) +
                                          "`: its fields are " + listOf(header.fields)};
    found.push_back(named);
  }
  return found;
}

/// The number `number` of a field of all points.
StoredArray PointFile::columnOf(const PointField &field, int64_t number) const {
  const int64_t ahead = number * sizeOf(field.type);
  StoredArray column{field.type, header.isBigEndian};
  if (header.layout == PointHeader::Layout::columns) {
    // A part of a field lies among its bytes.
    const PointField *whole = &field;
    for (size_t i = 0; !whole->isWhole; ++i) {
      const PointField &other = header.fields[i];
      if (other.isWhole && other.offset <= field.offset &&
          field.offset < other.offset + other.count * sizeOf(other.type))
        whole = &other;
    }
    column.offset = uint64_t(header.points) * uint64_t(whole->offset) +
                    uint64_t(field.offset - whole->offset + ahead);
    column.strides[0] = whole->count * sizeOf(whole->type);
  } else {
    const bool isText = header.layout == PointHeader::Layout::text;
    column.offset = (isText ? 0 : header.data) + uint64_t(field.offset + ahead);
    column.strides[0] = header.stride;
  }
  return column;
}

Result<std::vector<StoredArray>> PointFile::array(const MediumRequest &request) const {
  auto fields = fieldsNamed(request.format);
  if (!fields)
    return fields.error();
  std::vector<StoredArray> columns;
  for (const PointField *field : *fields) {
    if (!becomes(request.type, field->type))
      return Error{Code::Unsupported, "the file has `" + field->name + "` as " +
                                          nameOf(field->type) + ", and " + nameOf(request.type) +
                                          " does not hold all of them"};
    if (int64_t(columns.size()) + field->count > mostColumns)
      return Error{Code::Limit, "more than " + std::to_string(mostColumns) +
                                    " numbers of each point are wanted"};
    for (int64_t number = 0; number < field->count; ++number)
      columns.push_back(columnOf(*field, number));
  }
  const size_t rank = request.rank();
  const int64_t wanted = rank > 1 ? request.extents[1] : 1;
  if (int64_t(columns.size()) != wanted)
    return Error{Code::Unsupported, "the file's fields have " + std::to_string(columns.size()) +
                                        " numbers for each point, and the type has " +
                                        std::to_string(wanted)};
  if (rank < 1 || rank > 2 || request.extents[0] != header.points)
    return Error{Code::InvalidArgument, "the request is not of the file's shape"};
  return columns;
}

} // namespace penstock::runtime
