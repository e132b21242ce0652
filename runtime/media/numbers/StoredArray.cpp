// SPDX-License-Identifier: Apache-2.0
//
// A walk goes over the file in ascending order, whatever the order of the result's axes is: a
// compressed file has no other, and parts of one are read ahead in it.
#include "runtime/media/numbers/StoredArray.h"

#include "runtime/core/DType.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace penstock::runtime {

static_assert(std::endian::native == std::endian::little);

namespace {

/// A gap that is read as well, as in MediaFile::fetch(), and bytes that are looked at together.
constexpr int64_t jump = 16 << 10, most = 256 << 10;

/// An axis of the box, in steps that ascend in the file.
struct Step {
  int64_t count, stored, out; ///< distances in bytes
};

/// A box, from the slowest step in the file to the fastest, whose elements lie side by side there.
struct Walk {
  std::vector<Step> steps;
  uint64_t from;
  int64_t to;
  size_t inner;  ///< steps from here on are one block
  uint64_t span; ///< bytes from its first element to behind its last

  Walk(const StoredArray &array, const MediumRequest &request, const MediumLayout &layout)
      : from(array.offset), to(0) {
    for (size_t axis = 0; axis < request.rank(); ++axis) {
      const AxisRange &range = request.box[axis];
      const int64_t count = range.high - range.low, stride = array.strides[axis];
      const bool isBack = stride < 0;
      const int64_t first = isBack ? range.high - 1 : range.low;
      from += uint64_t(first * stride);
      to += first * layout.strides[axis];
      if (count > 1)
        steps.push_back({count, isBack ? -stride : stride,
                         isBack ? -layout.strides[axis] : layout.strides[axis]});
    }
    std::sort(steps.begin(), steps.end(),
              [](const Step &a, const Step &b) { return a.stored > b.stored; });
    const int64_t element = sizeOf(array.type);
    if (steps.empty() || steps.back().stored != element)
      steps.push_back({1, element, sizeOf(request.type)});
    for (size_t i = steps.size() - 1; i-- > 0;) {
      Step &outer = steps[i];
      const Step &next = steps[i + 1];
      if (outer.stored != next.stored * next.count || outer.out != next.out * next.count)
        continue;
      outer = {outer.count * next.count, next.stored, next.out};
      steps.erase(steps.begin() + std::ptrdiff_t(i) + 1);
    }
    inner = steps.size() - 1;
    span = uint64_t(steps[inner].count * element);
    while (inner > 0) {
      const Step &outer = steps[inner - 1];
      const uint64_t all = uint64_t(outer.stored) * uint64_t(outer.count - 1) + span;
      if (outer.stored - int64_t(span) > jump || all > uint64_t(most))
        break;
      span = all;
      --inner;
    }
  }

  /// Calls `visit(from, to)` for each place of the steps first ..< last.
  template <typename Visit>
  static Status over(std::span<const Step> steps, uint64_t from, int64_t to, const Visit &visit) {
    if (steps.empty())
      return visit(from, to);
    for (int64_t i = 0; i < steps[0].count; ++i)
      if (Status status = over(steps.subspan(1), from + uint64_t(i * steps[0].stored),
                               to + i * steps[0].out, visit);
          !status)
        return status;
    return {};
  }
};

template <typename Word> Word swapped(Word word) {
  if constexpr (sizeof(Word) == 2)
    return __builtin_bswap16(word);
  else if constexpr (sizeof(Word) == 4)
    return __builtin_bswap32(word);
  else if constexpr (sizeof(Word) == 8)
    return __builtin_bswap64(word);
  else
    return word;
}

template <typename Word> Word loadWord(const uint8_t *from, bool isBig) {
  Word word;
  std::memcpy(&word, from, sizeof word);
  return isBig ? swapped(word) : word;
}

float widened(uint16_t bits) { // of f16
  const int exponent = bits >> 10 & 31;
  const auto mantissa = float(bits & 1023);
  const float size = exponent == 31  ? (bits & 1023 ? std::numeric_limits<float>::quiet_NaN()
                                                    : std::numeric_limits<float>::infinity())
                     : exponent == 0 ? mantissa * 0x1p-24f
                                     : std::bit_cast<float>(uint32_t(exponent + 112) << 23) *
                                           (1.0f + mantissa * 0x1p-10f);
  return bits & 0x8000 ? -size : size;
}

/// Calls `take` with what loads one element, as its own type.
template <typename Take> void withLoader(const StoredArray &array, const Take &take) {
  const bool isBig = array.isBigEndian;
  auto of = [&]<typename T, typename Word>(T, Word) {
    take([isBig](const uint8_t *at) { return std::bit_cast<T>(loadWord<Word>(at, isBig)); });
  };
  switch (array.type) {
  case Stored::u8:
    return of(uint8_t(), uint8_t());
  case Stored::i8:
    return of(int8_t(), uint8_t());
  case Stored::u16:
    return of(uint16_t(), uint16_t());
  case Stored::i16:
    return of(int16_t(), uint16_t());
  case Stored::u32:
    return of(uint32_t(), uint32_t());
  case Stored::i32:
    return of(int32_t(), uint32_t());
  case Stored::u64:
    return of(uint64_t(), uint64_t());
  case Stored::i64:
    return of(int64_t(), uint64_t());
  case Stored::f16:
    return take([isBig](const uint8_t *at) { return widened(loadWord<uint16_t>(at, isBig)); });
  case Stored::bf16:
    return take([isBig](const uint8_t *at) {
      return std::bit_cast<float>(uint32_t(loadWord<uint16_t>(at, isBig)) << 16);
    });
  case Stored::f32:
    return of(float(), uint32_t());
  case Stored::f64:
    return of(double(), uint64_t());
  case Stored::boolean:
    return take([](const uint8_t *at) { return uint8_t(*at != 0); });
  }
}

/// Elements of a file in memory, and where they go: so many, at distances of so many bytes.
struct Run {
  const uint8_t *from;
  int64_t count, apart;
  uint8_t *to;
  int64_t step;
};

/// Writes elements of the file's type, of which only the order of the bytes may differ.
template <typename Word> void copy(const Run &run, bool isBig) {
  constexpr auto size = int64_t(sizeof(Word));
  if (!isBig && run.apart == size && run.step == size) {
    std::memcpy(run.to, run.from, size_t(run.count * size));
    return;
  }
  for (int64_t i = 0; i < run.count; ++i) {
    const Word word = loadWord<Word>(run.from + i * run.apart, isBig);
    std::memcpy(run.to + i * run.step, &word, sizeof word);
  }
}

/// Writes elements as `To`, computed as `Number`.
template <typename To, typename Number> void convert(const StoredArray &array, const Run &run) {
  withLoader(array, [&](auto load) {
    for (int64_t i = 0; i < run.count; ++i) {
      auto number = Number(load(run.from + i * run.apart));
      if constexpr (std::is_same_v<Number, double>) {
        if (array.slope != 1)
          number *= array.slope;
        if (array.inter != 0) // would make 0 of -0
          number += array.inter;
      }
      const To value = To(number);
      std::memcpy(run.to + i * run.step, &value, sizeof value);
    }
  });
}

void write(const StoredArray &array, plan::DType type, const Run &run) {
  using plan::DType;
  const bool isBig = array.isBigEndian;
  if (type == DType::boolean) {
    for (int64_t i = 0; i < run.count; ++i)
      run.to[i * run.step] = run.from[i * run.apart] != 0;
    return;
  }
  if (array.type == storedAs(type) && !array.isScaled()) {
    switch (sizeOf(array.type)) {
    case 1:
      return copy<uint8_t>(run, false);
    case 2:
      return copy<uint16_t>(run, isBig);
    case 4:
      return copy<uint32_t>(run, isBig);
    default:
      return copy<uint64_t>(run, isBig);
    }
  }
  switch (type) {
  case DType::f32:
    return convert<float, double>(array, run);
  case DType::f64:
    return convert<double, double>(array, run);
  case DType::i16:
    return convert<int16_t, int64_t>(array, run);
  case DType::u16:
    return convert<uint16_t, int64_t>(array, run);
  case DType::i32:
    return convert<int32_t, int64_t>(array, run);
  default: // whoever asks has looked at holds()
    return convert<int64_t, int64_t>(array, run);
  }
}

/// Columns of a box that lie within one distance of rows, and are read together.
struct Together {
  std::vector<size_t> columns; ///< in the order of the file
  uint64_t from;               ///< of the first one, in the box's first row
  int64_t stride, width;       ///< from row to row; from the first to behind the last of a row

  /// As many rows as are read at once.
  int64_t rowsAtOnce() const {
    return stride - width > jump ? 1 : std::max<int64_t>(1, (most - width) / stride + 1);
  }
};

/// All columns of a box, in the order of the file.
std::vector<Together> togetherIn(std::span<const StoredArray> columns,
                                 const MediumRequest &request) {
  const AxisRange chosen = request.rank() > 1 ? request.box[1] : AxisRange{0, 1};
  std::vector<size_t> order;
  for (int64_t column = chosen.low; column < chosen.high; ++column)
    order.push_back(size_t(column));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return columns[a].offset < columns[b].offset; });
  std::vector<Together> all;
  for (size_t place : order) {
    const StoredArray &column = columns[place];
    const int64_t stride = column.strides[0], size = sizeOf(column.type);
    const uint64_t from = column.offset + uint64_t(request.box[0].low * stride);
    if (all.empty() || all.back().stride != stride ||
        int64_t(from - all.back().from) + size > stride)
      all.push_back({{}, from, stride, 0});
    Together &last = all.back();
    last.width = std::max(last.width, int64_t(from - last.from) + size);
    last.columns.push_back(place);
  }
  return all;
}

} // namespace

int64_t sizeOf(Stored type) {
  constexpr uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 1};
  return sizes[size_t(type)];
}

const char *nameOf(Stored type) {
  constexpr const char *names[] = {"u8",  "i8",  "u16",  "i16", "u32", "i32", "u64",
                                   "i64", "f16", "bf16", "f32", "f64", "bool"};
  return names[size_t(type)];
}

Stored storedAs(plan::DType type) {
  using plan::DType;
  switch (type) {
  case DType::i8:
    return Stored::i8;
  case DType::u16:
    return Stored::u16;
  case DType::i16:
    return Stored::i16;
  case DType::i32:
    return Stored::i32;
  case DType::i64:
    return Stored::i64;
  case DType::f16:
    return Stored::f16;
  case DType::bf16:
    return Stored::bf16;
  case DType::f32:
    return Stored::f32;
  case DType::f64:
    return Stored::f64;
  case DType::boolean:
    return Stored::boolean;
  default:
    return Stored::u8;
  }
}

bool holds(plan::DType type, Stored stored) {
  struct Integers {
    int bits;
    bool isSigned;
  };
  auto integersOf = [](Stored one) -> Integers {
    if (one > Stored::i64)
      return {0, false};
    return {int(8 * sizeOf(one)),
            one == Stored::i8 || one == Stored::i16 || one == Stored::i32 || one == Stored::i64};
  };
  const Integers wanted = integersOf(storedAs(type)), has = integersOf(stored);
  if (wanted.bits == 0 || has.bits == 0)
    return false;
  return wanted.isSigned == has.isSigned ? wanted.bits >= has.bits
                                         : wanted.isSigned && wanted.bits > has.bits;
}

bool becomes(plan::DType type, Stored stored) {
  return type == plan::DType::f32 || type == plan::DType::f64 || holds(type, stored);
}

void StoredArray::packLastFastest(std::span<const int64_t> extents) {
  int64_t stride = sizeOf(type);
  for (size_t axis = extents.size(); axis-- > 0; stride *= extents[axis])
    strides[axis] = stride;
}

void StoredArray::packFirstFastest(std::span<const int64_t> extents) {
  int64_t stride = sizeOf(type);
  for (size_t axis = 0; axis < extents.size(); stride *= extents[axis++])
    strides[axis] = stride;
}

void addParts(const StoredArray &array, const MediumRequest &request,
              std::vector<ByteRange> &parts) {
  const Walk walk(array, request, denseLayout(request).value_or(MediumLayout()));
  const std::span<const Step> outer = std::span(walk.steps).first(walk.inner);
  (void)Walk::over(outer, walk.from, 0, [&](uint64_t from, int64_t) -> Status {
    parts.push_back({from, walk.span});
    return {};
  });
}

Status readArray(MediaBytes &file, const StoredArray &array, const MediumRequest &request,
                 const MediumLayout &layout, uint8_t *out, std::vector<uint8_t> &room) {
  const Walk walk(array, request, layout);
  const std::span<const Step> steps = walk.steps, outer = steps.first(walk.inner);
  const Step &row = steps.back();
  const int64_t element = sizeOf(array.type);
  auto writeRow = [&](const uint8_t *from, int64_t to, int64_t first, int64_t count) {
    write(array, request.type, {from, count, element, out + to + first * row.out, row.out});
  };
  return Walk::over(outer, walk.from, walk.to, [&](uint64_t from, int64_t to) -> Status {
    // A row that is larger than a block is one of its own, and goes by pieces.
    for (int64_t first = 0; walk.span > uint64_t(most) && first < row.count;
         first += most / element) {
      const int64_t count = std::min(most / element, row.count - first);
      auto bytes = file.view(from + uint64_t(first * element), uint64_t(count * element), room);
      if (!bytes)
        return bytes.error();
      writeRow(*bytes, to, first, count);
    }
    if (walk.span > uint64_t(most))
      return {};
    auto bytes = file.view(from, walk.span, room);
    if (!bytes)
      return bytes.error();
    return Walk::over(steps.subspan(walk.inner, steps.size() - walk.inner - 1), 0, to,
                      [&](uint64_t at, int64_t place) -> Status {
                        writeRow(*bytes + at, place, 0, row.count);
                        return {};
                      });
  });
}

void addParts(std::span<const StoredArray> columns, const MediumRequest &request,
              std::vector<ByteRange> &parts) {
  const int64_t rows = request.box[0].high - request.box[0].low;
  for (const Together &group : togetherIn(columns, request)) {
    const int64_t apart = group.rowsAtOnce() == 1 ? 1 : rows; // else all rows are one part
    for (int64_t row = 0; row < rows; row += apart)
      parts.push_back({group.from + uint64_t(row * group.stride),
                       uint64_t((apart - 1) * group.stride + group.width)});
  }
}

Status readArray(MediaBytes &file, std::span<const StoredArray> columns,
                 const MediumRequest &request, const MediumLayout &layout, uint8_t *out,
                 std::vector<uint8_t> &room) {
  const AxisRange rows = request.box[0];
  for (const Together &group : togetherIn(columns, request)) {
    const int64_t atOnce = group.rowsAtOnce();
    for (int64_t row = rows.low; row < rows.high; row += atOnce) {
      const int64_t count = std::min(atOnce, rows.high - row);
      const uint64_t from = group.from + uint64_t((row - rows.low) * group.stride);
      auto bytes = file.view(from, uint64_t((count - 1) * group.stride + group.width), room);
      if (!bytes)
        return bytes.error();
      for (size_t place : group.columns) {
        const StoredArray &column = columns[place];
        const auto ahead = int64_t(column.offset - columns[group.columns.front()].offset);
        const int64_t across = request.rank() > 1 ? int64_t(place) * layout.strides[1] : 0;
        write(column, request.type,
              {*bytes + ahead, count, group.stride, out + row * layout.strides[0] + across,
               layout.strides[0]});
      }
    }
  }
  return {};
}

} // namespace penstock::runtime
