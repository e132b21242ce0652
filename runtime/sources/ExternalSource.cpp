// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ExternalSource.h"

#include "runtime/abi/message.h"
#include "runtime/abi/scalar.h"
#include "runtime/core/KernelTable.h"
#include "runtime/core/Memory.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace penstock::runtime {

using plan::DType;
using Kind = ExternalRow::Field::Kind;

namespace {

/// The integers that a type holds; empty for others.
struct Limits {
  int64_t least = 0, most = -1;
};

Limits limitsOf(DType type) {
  auto of = [](auto zero) {
    using T = std::numeric_limits<decltype(zero)>;
    return Limits{int64_t(T::min()), int64_t(T::max())};
  };
  switch (type) {
  case DType::boolean:
    return {0, 1};
  case DType::u8:
    return of(uint8_t());
  case DType::i8:
    return of(int8_t());
  case DType::u16:
    return of(uint16_t());
  case DType::i16:
    return of(int16_t());
  case DType::i32:
    return of(int32_t());
  case DType::i64:
    return of(int64_t());
  default:
    return {};
  }
}

/// Copies a tensor of any strides to C order.
void copyStrided(const uint8_t *from, std::span<const int64_t> extents, const int64_t *strides,
                 int64_t element, uint8_t *&to) {
  if (extents.empty()) {
    std::memcpy(to, from, size_t(element));
    to += element;
    return;
  }
  if (extents.size() == 1 && strides[0] == element) {
    std::memcpy(to, from, size_t(extents[0] * element));
    to += extents[0] * element;
    return;
  }
  for (int64_t i = 0; i < extents[0]; ++i)
    copyStrided(from + i * strides[0], extents.subspan(1), strides + 1, element, to);
}

} // namespace

void ExternalRow::begin(const std::vector<ColumnInfo> &columns, const std::vector<bool> &isUsed) {
  table = &columns;
  used = &isUsed;
  fields.resize(columns.size());
  for (Field &field : fields) {
    field.kind = Kind::None;
    field.bytes.clear();
    field.path.clear();
  }
  name.clear();
  strange.clear();
  status = {};
}

void ExternalRow::noteOther(std::string_view given) {
  constexpr size_t longest = 200; // of what a message says
  const std::string quoted = "`" + std::string(given) + "`";
  if (strange.size() + quoted.size() > longest || strange.find(quoted) != std::string::npos ||
      std::any_of(table->begin(), table->end(),
                  [&](const ColumnInfo &column) { return column.name == given; }))
    return;
  strange += (strange.empty() ? "" : ", ") + quoted;
}

int64_t ExternalRow::clear(size_t limit) {
  const int64_t before = bytes();
  for (Field &field : fields) {
    field.kind = Kind::None;
    field.bytes.clear();
    if (field.bytes.capacity() > limit)
      field.bytes.release();
  }
  return before;
}

int64_t ExternalRow::bytes() const {
  int64_t total = 0;
  for (const Field &field : fields)
    total += int64_t(field.bytes.size());
  return total;
}

Status ExternalRow::wrong(size_t column, const std::string &what) const {
  return Error{Code::InvalidArgument, "column `" + (*table)[column].name + "` is " +
                                          (*table)[column].typeText() + ", and the caller gave " +
                                          what};
}

/// Rounds to a type of floats, as memory would hold it; false where a number is too large for it.
static bool roundTo(DType type, double value, uint8_t *memory) {
  auto put = [&](auto number, double held) {
    std::memcpy(memory, &number, sizeof number);
    return std::isfinite(held) || !std::isfinite(value);
  };
  switch (type) {
  case DType::f16: {
    const uint16_t bits = scalar::toHalf(value);
    return put(bits, scalar::fromHalf(bits));
  }
  case DType::bf16: {
    const uint16_t bits = scalar::toBfloat(value);
    return put(bits, scalar::fromBfloat(bits));
  }
  case DType::f32:
    return put(float(value), double(float(value)));
  default:
    return put(value, value);
  }
}

/// Stores a number as its column's type holds it; false where that does not.
template <typename Number> static bool convert(DType type, Number value, uint8_t *memory) {
  if (isFloat(type))
    return roundTo(type, double(value), memory);
  if constexpr (std::is_floating_point_v<Number>) {
    return false;
  } else {
    const Limits limits = limitsOf(type);
    if (value < limits.least || value > limits.most)
      return false;
    std::memcpy(memory, &value, size_t(sizeOf(type))); // the low bytes
    return true;
  }
}

static std::string shown(int64_t value) { return std::to_string(value); }
/// Integers of a caller that are too large for this program's come as floats.
static std::string shown(double value) {
  const bool isInteger = std::isfinite(value) && std::abs(value) >= 0x1p63;
  return (isInteger ? "" : "the float ") + shortestText(value);
}

template <typename Number> Status ExternalRow::setScalar(size_t column, Number value) {
  const ColumnInfo &info = (*table)[column];
  uint8_t memory[8] = {};
  if (!info.isScalar())
    return wrong(column, "a number");
  if (!convert(info.type, value, memory))
    return wrong(column, shown(value));
  fields[column].kind = Kind::Scalar;
  fields[column].scalar = loadScalar(info.type, memory);
  return {};
}

Status ExternalRow::setInteger(size_t column, int64_t value) { return setScalar(column, value); }
Status ExternalRow::setNumber(size_t column, double value) { return setScalar(column, value); }

Status ExternalRow::setBytes(size_t column, std::span<const uint8_t> value) {
  if (!(*table)[column].isBlob())
    return wrong(column, "bytes");
  Field &field = fields[column];
  if (value.size() > uint64_t(mostBytes))
    return Error{Code::Limit, "column `" + (*table)[column].name + "` has " +
                                  std::to_string(value.size()) + " bytes, the limit is " +
                                  std::to_string(mostBytes)};
  if (!field.bytes.resize(value.size()))
    return noMemory("for " + std::to_string(value.size()) + " bytes");
  if (!value.empty())
    std::memcpy(field.bytes.data(), value.data(), value.size());
  field.kind = Kind::Bytes;
  return {};
}

Status ExternalRow::setFile(size_t column, std::string path) {
  if (!(*table)[column].isBlob())
    return wrong(column, "a file");
  if (path.empty())
    return wrong(column, "a file without a name");
  if (name.empty())
    name = path;
  fields[column].path = std::move(path);
  fields[column].kind = Kind::File;
  return {};
}

Status ExternalRow::setPixels(size_t column, const uint8_t *data, int64_t height, int64_t width,
                              int64_t channels, const int64_t *strides) {
  if (!(*table)[column].isBlob())
    return wrong(column, "pixels");
  const int64_t extents[3] = {height, width, channels};
  const std::string shape = "pixels of " + textOf(DType::u8, extents);
  if (height < 1 || width < 1 || (channels != 1 && channels != 3))
    return wrong(column, shape + ", which are no image: height, width, and 1 or 3 channels");
  int64_t size = channels;
  if (__builtin_mul_overflow(size, width, &size) || __builtin_mul_overflow(size, height, &size) ||
      size > mostBytes)
    return wrong(column, shape + ", more than " + std::to_string(mostBytes) + " bytes");
  if (!data)
    return wrong(column, shape + " without an address");
  // A binary PGM or PPM: its pixels are read as they are.
  char header[64];
  const int length =
      std::snprintf(header, sizeof header, "P%d\n%lld %lld\n255\n", channels == 1 ? 5 : 6,
                    static_cast<long long>(width), static_cast<long long>(height));
  Field &field = fields[column];
  if (!field.bytes.resize(size_t(length) + size_t(size)))
    return noMemory("for " + shape);
  std::memcpy(field.bytes.data(), header, size_t(length));
  uint8_t *to = field.bytes.data() + length;
  const int64_t dense[3] = {width * channels, channels, 1};
  if (!strides || std::equal(dense, dense + 3, strides))
    std::memcpy(to, data, size_t(size));
  else
    copyStrided(data, extents, strides, 1, to);
  field.kind = Kind::Bytes;
  return {};
}

/// The extents of a column's tensor without elements, where one that was given has none: nobody can
/// tell their type, or how long they would be. Empty where the column takes none such.
static std::vector<int64_t> emptyExtents(const ColumnInfo &info, std::span<const int64_t> given) {
  if (given.empty() || given[0] != 0 || given.size() > info.dims.size() || info.dims[0].minimum > 0)
    return {};
  std::vector<int64_t> extents{0};
  for (size_t axis = 1; axis < info.dims.size(); ++axis) {
    extents.push_back(info.dims[axis].bound);
    if (axis < given.size() && given[axis] != 0 && given[axis] != extents.back())
      return {};
  }
  return extents;
}

Status ExternalRow::makeTensor(size_t column, DType type, std::span<const int64_t> &extents,
                               std::vector<int64_t> &empty) {
  const ColumnInfo &info = (*table)[column];
  const std::string given = textOf(type, extents);
  if (!info.isTensor())
    return wrong(column, given);
  empty = emptyExtents(info, extents);
  if (!empty.empty())
    extents = empty;
  else if (type != info.type || extents.size() != info.dims.size())
    return wrong(column, given);
  int64_t size = sizeOf(info.type);
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] < info.dims[axis].minimum || extents[axis] > info.dims[axis].bound)
      return wrong(column, given);
    if (__builtin_mul_overflow(size, extents[axis], &size) || size > mostBytes)
      return wrong(column, given + ", more than " + std::to_string(mostBytes) + " bytes");
  }
  Field &field = fields[column];
  if (!field.bytes.resize(size_t(size)))
    return noMemory("for " + given);
  field.tensor.rank = int(extents.size());
  std::copy(extents.begin(), extents.end(), field.tensor.extents.begin());
  field.kind = Kind::Tensor;
  return {};
}

Status ExternalRow::setTensor(size_t column, DType type, std::span<const int64_t> extents,
                              const int64_t *strides, const uint8_t *data) {
  std::vector<int64_t> empty;
  if (Status status = makeTensor(column, type, extents, empty); !status)
    return status;
  Field &field = fields[column];
  if (field.bytes.size() == 0)
    return {};
  if (!data) {
    field.kind = Kind::None;
    return wrong(column, textOf(type, extents) + " without an address");
  }
  const int64_t element = sizeOf(type);
  int64_t dense[TensorView::maxRank], size = element;
  for (size_t axis = extents.size(); axis-- > 0; size *= extents[axis])
    dense[axis] = size;
  uint8_t *to = field.bytes.data();
  if (!strides || std::equal(strides, strides + extents.size(), dense))
    std::memcpy(to, data, field.bytes.size());
  else
    copyStrided(data, extents, strides, element, to);
  return {};
}

Status ExternalRow::setList(size_t column, DType type, std::span<const int64_t> extents,
                            const uint8_t *data) {
  const DType wanted = (*table)[column].type;
  std::vector<int64_t> empty;
  if (Status status = makeTensor(column, wanted, extents, empty); !status)
    return status;
  Field &field = fields[column];
  const auto element = size_t(sizeOf(wanted)), from = size_t(sizeOf(type));
  const size_t count = field.bytes.size() / element;
  if (count && !data) {
    field.kind = Kind::None;
    return wrong(column, "a list without an address");
  }
  for (size_t i = 0; i < count; ++i) {
    const int64_t value = loadScalar(type, data + i * from); // of floats their bits
    uint8_t *const to = field.bytes.data() + i * element;
    const bool fits = isFloat(type) ? convert(wanted, std::bit_cast<double>(value), to)
                                    : convert(wanted, value, to);
    if (!fits) {
      field.kind = Kind::None;
      return wrong(column, "a list with " + (isFloat(type) ? shown(std::bit_cast<double>(value))
                                                           : shown(value)));
    }
  }
  return {};
}

ExternalSource::ExternalSource(ExternalTable given, std::vector<ColumnInfo> columns,
                               std::vector<bool> used)
    : Source(given.length, std::move(columns)), table(std::move(given)), used(std::move(used)) {}

Status ExternalSource::read(int64_t row, ExternalRow &out, const volatile uint8_t *stop) const {
  out.begin(columns(), used);
  // Looked at behind the lock: while calls were made one at a time, nobody may want this one any
  // more, and a close() waits for those that are made.
  const auto ask = [&]() -> Status {
    return isStopped(stop) ? Status(Error{Code::Cancelled, "the row is not wanted any more"})
                           : table.read(row, out);
  };
  Status status;
  if (table.anyThread) {
    status = ask();
  } else {
    std::lock_guard guard(one);
    status = ask();
  }
  if (!status)
    return status;
  for (size_t i = 0; i < columns().size(); ++i)
    if (used[i] && out[i].kind == Kind::None)
      return Error{Code::InvalidArgument,
                   "the caller gave nothing for column `" + columns()[i].name + "`" +
                       (out.others().empty() ? "" : ", and gave " + out.others())};
  return {};
}

Status ExternalSource::take(ExternalRow &row, size_t column, bool isLast, Buffer &out) const {
  ExternalRow::Field &field = row[column];
  if (field.kind == Kind::File)
    return table.files ? table.files->readFile(field.path, out, uint64_t(ExternalRow::mostBytes))
                       : Status(Error{Code::Unsupported, "no files can be opened here"});
  if (field.kind != Kind::Bytes)
    return noSuchField(int(column), "bytes");
  if (isLast) {
    std::swap(out, field.bytes);
    return {};
  }
  if (!out.resize(field.bytes.size()))
    return noMemory("for " + std::to_string(field.bytes.size()) + " bytes");
  std::memcpy(out.data(), field.bytes.data(), field.bytes.size());
  return {};
}

Result<MediaPlace> ExternalSource::placeOf(const ExternalRow &row, size_t column) const {
  const ExternalRow::Field &field = row[column];
  if (field.kind != Kind::File || !table.files)
    return Error{Code::Unsupported, "the bytes are no file's"};
  auto file = table.files->openFile(field.path);
  if (!file)
    return file.error();
  const FileInfo info = (*file)->info();
  return MediaPlace{std::move(*file), 0, info.size, info.modifiedNs, absolutePath(field.path)};
}

Result<int64_t> ExternalSource::scalar(int64_t, int) const {
  return Error{Code::Unsupported,
               "rows of `external_source` are read when they are needed, and `where` and "
               "`weighted` look at all of them: choose rows by an order of the caller's"};
}

Status ExternalSource::shape(int64_t row, int column, TensorView &) const {
  return scalar(row, column).error();
}

Result<std::unique_ptr<ExternalSource>>
openExternal(ExternalTable table, std::vector<ColumnInfo> columns, std::vector<bool> used) {
  constexpr int64_t longest = int64_t(1) << 48; // of positions, too (core/Order.h)
  if (table.length < 0 || table.length > longest)
    return Error{Code::InvalidArgument, "a table of the caller's has " +
                                            std::to_string(table.length) +
                                            " rows; it has 1 to 2^48"};
  if (!table.read)
    return Error{Code::InvalidArgument, "nothing gives the rows of a table of the caller's"};
  if (table.columns)
    for (size_t i = 0; i < columns.size(); ++i) {
      const auto &there = *table.columns;
      if (!used[i] || std::find(there.begin(), there.end(), columns[i].name) != there.end())
        continue;
      std::string names;
      for (const std::string &name : there)
        names +=
            (names.empty() ? "`" : ", `") + name + "`"; // there are some: they are all that it has
      return Error{Code::InvalidArgument,
                   "the caller's table has no column `" + columns[i].name + "`; it has " + names};
    }
  for (const ColumnInfo &column : columns) {
    bool good = column.isBlob() || (!column.isText() && sizeOf(column.type) > 0);
    good = good && column.dims.size() <= size_t(TensorView::maxRank);
    for (size_t axis = 0; axis < column.dims.size(); ++axis)
      good = good && !column.isBlob() && column.dims[axis].bound >= 0;
    if (!good)
      return Error{Code::InvalidArgument, "column `" + column.name + "` is " + column.typeText() +
                                              ", which rows of a caller cannot have"};
  }
  return std::make_unique<ExternalSource>(std::move(table), std::move(columns), std::move(used));
}

} // namespace penstock::runtime
