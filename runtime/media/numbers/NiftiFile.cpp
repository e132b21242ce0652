// SPDX-License-Identifier: Apache-2.0
//
// https://nifti.nimh.nih.gov: nifti1.h and nifti2.h say where what stands.
#include "runtime/media/numbers/NiftiFile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

namespace penstock::runtime {

namespace {

Error damaged(const std::string &what) { return {Code::Corrupt, "damaged NIfTI file: " + what}; }

/// Where the fields of a version stand, in bytes.
struct Places {
  size_t size, magic, dim, datatype, pixdim, voxOffset, slope, inter, units, qformCode, sformCode,
      quaternion, qoffset, srow;
  bool isWide; ///< extents of 64 bits, and doubles for floats
};
constexpr Places first{348, 344, 40, 70, 76, 108, 112, 116, 123, 252, 254, 256, 268, 280, false};
constexpr Places second{540, 4, 16, 12, 104, 168, 176, 184, 500, 344, 348, 352, 376, 400, true};

class Fields {
public:
  Fields(const uint8_t *bytes, const Places &places, bool isBig)
      : bytes(bytes), places(places), isBig(isBig) {}

  template <typename T> T at(size_t place) const {
    std::array<uint8_t, sizeof(T)> word;
    std::copy_n(bytes + place, sizeof(T), word.begin());
    if (isBig)
      std::ranges::reverse(word);
    return std::bit_cast<T>(word);
  }
  int64_t integer(size_t place, size_t i = 0) const { // an extent
    return places.isWide ? at<int64_t>(place + 8 * i) : at<int16_t>(place + 2 * i);
  }
  int64_t code(size_t place) const {
    return places.isWide ? at<int32_t>(place) : at<int16_t>(place);
  }
  double real(size_t place, size_t i = 0) const {
    return places.isWide ? at<double>(place + 8 * i) : double(at<float>(place + 4 * i));
  }

private:
  const uint8_t *bytes;
  const Places &places;
  bool isBig;
};

Result<Stored> storedOf(int64_t datatype) {
  struct Known {
    int64_t code;
    Stored type;
  };
  constexpr Known known[] = {{2, Stored::u8},    {4, Stored::i16},   {8, Stored::i32},
                             {16, Stored::f32},  {64, Stored::f64},  {256, Stored::i8},
                             {512, Stored::u16}, {768, Stored::u32}, {1024, Stored::i64},
                             {1280, Stored::u64}};
  for (const Known &one : known)
    if (one.code == datatype)
      return one.type;
  const char *name = datatype == 1                          ? "bits"
                     : datatype == 32 || datatype == 1792   ? "complex numbers"
                     : datatype == 128                      ? "RGB colours"
                     : datatype == 2304                     ? "RGBA colours"
                     : datatype == 1536 || datatype == 2048 ? "floats of 128 bits"
                                                            : nullptr;
  if (name)
    return Error{Code::Unsupported, std::string("NIfTI file of ") + name + " is not read"};
  return damaged("a type of voxels of number " + std::to_string(datatype));
}

using Matrix = std::array<std::array<double, 3>, 3>;

/// The rotation of a quaternion's vector part, times distances; the third axis times `handed`.
std::optional<Matrix> ofQuaternion(double b, double c, double d,
                                   const std::array<double, 4> &distances, double handed) {
  const double rest = 1 - (b * b + c * c + d * d);
  if (!(rest > -1e-6)) // as nibabel's threshold for f32
    return std::nullopt;
  const double a = rest > 0 ? std::sqrt(rest) : 0;
  Matrix r = {{{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
               {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
               {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}}};
  for (auto &row : r)
    for (size_t i = 0; i < 3; ++i)
      row[i] *= distances[i] * (i == 2 ? handed : 1);
  return r;
}

double determinantOf(const Matrix &m) {
  return m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
         m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
         m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
}

Matrix inverseTransposed(const Matrix &m) {
  const double determinant = determinantOf(m);
  Matrix result;
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 0; j < 3; ++j)
      result[i][j] = (m[(i + 1) % 3][(j + 1) % 3] * m[(i + 2) % 3][(j + 2) % 3] -
                      m[(i + 1) % 3][(j + 2) % 3] * m[(i + 2) % 3][(j + 1) % 3]) /
                     determinant;
  return result;
}

/// Which way each stored axis goes: nibabel's io_orientation, as since 5.4. The orthogonal matrix
/// that is nearest to the axes' directions (Higham 1986: Newton's iteration for the polar
/// decomposition, where nibabel has an SVD) is walked through axis by axis, the clearest first.
std::optional<std::array<NiftiHeader::Axis, 3>> orientationOf(Matrix m) {
  for (size_t i = 0; i < 3; ++i) {
    double length = 0;
    for (const auto &row : m)
      length += row[i] * row[i];
    length = std::sqrt(length);
    if (!(length > 0) || !std::isfinite(length))
      return std::nullopt;
    for (auto &row : m)
      row[i] /= length;
  }
  constexpr double flat = 1e-7; // f32 has no more digits
  if (!(std::abs(determinantOf(m)) > flat))
    return std::nullopt;
  constexpr int steps = 64; // ten for any affine that is not nearly flat
  for (int step = 0; step < steps; ++step) {
    const Matrix other = inverseTransposed(m);
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j)
        m[i][j] = (m[i][j] + other[i][j]) / 2;
  }
  std::array<NiftiHeader::Axis, 3> upright;
  std::array<bool, 3> isTaken{};
  auto clearness = [&](size_t stored) {
    return std::max({std::abs(m[0][stored]), std::abs(m[1][stored]), std::abs(m[2][stored])});
  };
  std::array<size_t, 3> order = {0, 1, 2};
  for (size_t i = 1; i < 3; ++i) // equal ones as they are stored
    for (size_t k = i; k > 0 && clearness(order[k]) > clearness(order[k - 1]); --k)
      std::swap(order[k], order[k - 1]);
  for (size_t stored : order) {
    size_t best = 3;
    for (size_t world = 0; world < 3; ++world)
      if (!isTaken[world] && (best == 3 || std::abs(m[world][stored]) > std::abs(m[best][stored])))
        best = world;
    isTaken[best] = true;
    upright[best] = {stored, m[best][stored] < 0};
  }
  return upright;
}

double unitOf(int64_t units, bool isTime) {
  switch (isTime ? units & 0x38 : units & 7) {
  case 1: // metres
    return 1000;
  case 3:  // micrometres
  case 16: // milliseconds
    return 1e-3;
  case 24: // microseconds
    return 1e-6;
  default:
    return 1;
  }
}

/// What is no single file of NIfTI, by what stands in its first bytes.
Error unknown(std::span<const uint8_t> head) {
  const auto has = [&](size_t at, std::string_view text) {
    return head.size() >= at + text.size() && std::memcmp(&head[at], text.data(), text.size()) == 0;
  };
  constexpr std::string_view pair1("ni1\0", 4), pair2("ni2\0", 4);
  if (has(344, pair1) || has(4, pair2))
    return {Code::Unsupported,
            "a header of NIfTI whose voxels lie in a file of their own (.img) is "
            "not read; `nibabel.save(image, \"x.nii\")` puts both into one"};
  const bool isAnalyze = head.size() >= 348 && (has(0, std::string_view("\x5C\1\0\0", 4)) ||
                                                has(0, std::string_view("\0\0\1\x5C", 4)));
  if (isAnalyze)
    return {Code::Unsupported, "a header of ANALYZE is not read; `nibabel.save(image, \"x.nii\")` "
                               "makes NIfTI of it"};
  return {Code::Unsupported, "not a NIfTI file: its first bytes are no such header's"};
}

} // namespace

uint64_t NiftiHeader::bytes() const {
  auto all = uint64_t(sizeOf(type));
  for (int64_t extent : extents)
    all *= uint64_t(extent);
  return all;
}

Result<NiftiHeader> readNiftiHeader(MediaBytes &file) {
  std::array<uint8_t, second.size> head{};
  constexpr size_t least = first.size;
  if (file.size() < least)
    return file.size() == 0 ? Error{Code::Truncated, "not a NIfTI file: it is empty"}
                            : Error{Code::Unsupported, "not a NIfTI file: it has " +
                                                           std::to_string(file.size()) + " bytes"};
  if (Status status = file.read(0, std::span(head).first(least)); !status)
    return status.error();
  const auto has = [&](size_t at, std::string_view text) {
    return std::memcmp(&head[at], text.data(), text.size()) == 0;
  };
  const bool isFirst = has(first.magic, std::string_view("n+1\0", 4));
  if (!isFirst && !has(second.magic, std::string_view("n+2\0\r\n\x1A\n", 8)))
    return unknown(std::span(head).first(least));
  if (!isFirst) {
    if (file.size() < second.size)
      return Error{Code::Truncated, "truncated NIfTI file: it ends inside its header"};
    if (Status status = file.read(least, std::span(head).subspan(least)); !status)
      return status.error();
  }
  const Places &places = isFirst ? first : second;
  const bool isBig = Fields(head.data(), places, true).at<int32_t>(0) == int32_t(places.size);
  if (!isBig && Fields(head.data(), places, false).at<int32_t>(0) != int32_t(places.size))
    return damaged("its header has another size than NIfTI's");
  const Fields fields(head.data(), places, isBig);

  NiftiHeader header;
  header.isBigEndian = isBig;
  auto type = storedOf(fields.at<int16_t>(places.datatype));
  if (!type)
    return type.error();
  header.type = *type;
  const int64_t rank = fields.integer(places.dim);
  if (rank < 1 || rank > 7)
    return damaged("it has " + std::to_string(rank) + " axes");
  auto size = int64_t(sizeOf(*type));
  for (size_t axis = 0; axis < 7; ++axis) {
    header.extents[axis] = int64_t(axis) < rank ? fields.integer(places.dim, axis + 1) : 1;
    constexpr const char *names = "xyztuvw";
    if (header.extents[axis] < 1)
      return damaged(std::string("axis ") + names[axis] + " has " +
                     std::to_string(header.extents[axis]) + " elements");
    if (__builtin_mul_overflow(size, header.extents[axis], &size))
      return damaged("its shape is impossible");
  }
  const double offset = places.isWide ? double(fields.at<int64_t>(places.voxOffset))
                                      : double(fields.at<float>(places.voxOffset));
  const size_t least_offset = places.size + 4;
  if (!(offset >= double(least_offset)) || offset != std::floor(offset) || offset > 0x1p53)
    return damaged("its voxels cannot begin where it says");
  header.offset = uint64_t(offset);
  if (header.offset + uint64_t(size) > file.size())
    return Error{Code::Truncated, "truncated NIfTI file: it has " + std::to_string(file.size()) +
                                      " bytes of " +
                                      std::to_string(header.offset + uint64_t(size))};

  const double slope = fields.real(places.slope), inter = fields.real(places.inter);
  if (slope != 0 && std::isfinite(slope)) {
    if (!std::isfinite(inter))
      return damaged("what is added to its numbers is no number");
    header.slope = slope;
    header.inter = inter;
  }
  const int64_t units = places.isWide ? fields.at<int32_t>(places.units) : head[places.units];
  std::array<double, 4> pixdim{};
  for (size_t axis = 0; axis < 4; ++axis) {
    pixdim[axis] = std::abs(fields.real(places.pixdim, axis + 1));
    header.distances[axis] = int64_t(axis) < rank ? pixdim[axis] * unitOf(units, axis == 3) : 0;
  }

  Matrix affine{};
  if (fields.code(places.sformCode) > 0) {
    for (size_t row = 0; row < 3; ++row)
      for (size_t column = 0; column < 3; ++column)
        affine[row][column] = fields.real(places.srow, 4 * row + column);
  } else if (fields.code(places.qformCode) > 0) {
    const double handed = fields.real(places.pixdim) < 0 ? -1 : 1;
    std::array<double, 4> steps = pixdim; // of an axis of one slice there may be none
    std::replace(steps.begin(), steps.end(), 0.0, 1.0);
    const auto rotation =
        ofQuaternion(fields.real(places.quaternion), fields.real(places.quaternion, 1),
                     fields.real(places.quaternion, 2), steps, handed);
    if (!rotation)
      return damaged("the quaternion of its orientation is longer than 1");
    affine = *rotation;
  } else {
    for (size_t axis = 0; axis < 3; ++axis)
      affine[axis][axis] = axis == 0 ? -1 : 1;
  }
  header.upright = orientationOf(affine);
  return header;
}

} // namespace penstock::runtime
