// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Npy.h"

#include "runtime/sources/TextValue.h"

#include <cstring>
#include <optional>
#include <string_view>

namespace penstock::runtime {

using plan::DType;

std::string NpyHeader::typeText() const {
  std::string text = nameOf(type);
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "[") + std::to_string(shape[i]);
  return text + "]";
}

namespace {

Error corrupt(const char *what) {
  return {Code::Corrupt, std::string("damaged .npy file: ") + what};
}

/// The dictionary of a header, `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
class Dictionary {
public:
  explicit Dictionary(std::string_view text) : text(text) {}

  /// Returns the text behind `'key':`, blanks left out.
  std::optional<std::string_view> after(std::string_view key) const {
    for (const char quote : {'\'', '"'}) {
      const std::string wanted = quote + std::string(key) + quote;
      const size_t found = text.find(wanted);
      if (found == std::string_view::npos)
        continue;
      std::string_view rest = text.substr(found + wanted.size());
      rest = rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
      if (!rest.starts_with(':'))
        continue;
      rest.remove_prefix(1);
      return rest.substr(std::min(rest.size(), rest.find_first_not_of(' ')));
    }
    return std::nullopt;
  }

  /// Returns whether a key stands there more than once.
  bool isTwice(std::string_view key) const {
    const size_t first = text.find(key);
    return first != std::string_view::npos &&
           text.find(key, first + key.size()) != std::string_view::npos;
  }

private:
  std::string_view text;
};

Result<DType> typeOf(std::string_view written) {
  const char quote = written.empty() ? '\0' : written[0];
  if (quote != '\'' && quote != '"')
    return Error{Code::Unsupported, ".npy file of records is not read"};
  const std::string name(written.substr(1, std::min<size_t>(written.find(quote, 1), 20) - 1));
  struct Known {
    std::string_view name;
    DType type;
  };
  constexpr Known known[] = {{"u1", DType::u8},  {"i1", DType::i8},  {"b1", DType::boolean},
                             {"u2", DType::u16}, {"i2", DType::i16}, {"i4", DType::i32},
                             {"i8", DType::i64}, {"f2", DType::f16}, {"f4", DType::f32},
                             {"f8", DType::f64}};
  const std::string_view kind = std::string_view(name).substr(std::min<size_t>(1, name.size()));
  for (const Known &one : known) {
    if (one.name != kind)
      continue;
    if (name[0] == '>' && one.name[1] != '1')
      return Error{Code::Unsupported, ".npy file of big-endian `" + name +
                                          "` is not read; `x.astype(x.dtype.newbyteorder('<'))` "
                                          "converts it"};
    return one.type;
  }
  return Error{Code::Unsupported, ".npy file of `" + name + "` is not read"};
}

Result<std::vector<int64_t>> shapeOf(std::string_view written) {
  std::vector<int64_t> shape;
  if (!written.starts_with('('))
    return corrupt("its shape cannot be read");
  size_t at = 1;
  auto skip = [&](char c) {
    while (at < written.size() && written[at] == c)
      ++at;
  };
  for (;;) {
    skip(' ');
    if (at < written.size() && written[at] == ')')
      return shape;
    int64_t extent = 0;
    const size_t begin = at;
    for (; at < written.size() && written[at] >= '0' && written[at] <= '9'; ++at)
      if (__builtin_mul_overflow(extent, 10, &extent) ||
          __builtin_add_overflow(extent, written[at] - '0', &extent))
        return corrupt("its shape cannot be read");
    if (at == begin)
      return corrupt("its shape cannot be read");
    shape.push_back(extent);
    if (at < written.size() && written[at] == 'L') // as Python 2 wrote them
      ++at;
    skip(' ');
    if (at < written.size() && written[at] == ',')
      ++at;
    else if (at == written.size() || written[at] != ')')
      return corrupt("its shape cannot be read");
  }
}

} // namespace

Result<NpyHeader> readNpyHeader(std::span<const uint8_t> bytes) {
  constexpr std::string_view magic = "\x93NUMPY";
  const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
  if (!text.starts_with(magic))
    return Error{Code::Unsupported, "it is no .npy file"};
  const Error truncated{Code::Truncated, "truncated .npy file: it ends inside its header"};
  if (bytes.size() < 12)
    return truncated;
  const int version = bytes[6];
  if (version < 1 || version > 3)
    return Error{Code::Unsupported,
                 ".npy file of version " + std::to_string(version) + " is not read"};
  const size_t begin = version == 1 ? 10 : 12;
  size_t length = size_t(bytes[8]) | size_t(bytes[9]) << 8;
  if (version > 1)
    length |= size_t(bytes[10]) << 16 | size_t(bytes[11]) << 24;
  if (length > bytes.size() - begin)
    return truncated;
  if (bytes[7] != 0)
    return Error{Code::Unsupported, ".npy file of version " + std::to_string(version) + "." +
                                        std::to_string(bytes[7]) + " is not read"};
  const std::string_view written = trimmed(text.substr(begin, length));
  if (!written.starts_with('{') || !written.ends_with('}'))
    return corrupt("its header is no dictionary");
  const Dictionary dictionary(written);
  for (const char *key : {"descr", "fortran_order", "shape"})
    if (dictionary.isTwice(key))
      return corrupt("its header says something twice");
  const auto type = dictionary.after("descr"), order = dictionary.after("fortran_order"),
             shape = dictionary.after("shape");
  if (!type || !order || !shape)
    return corrupt("its header lacks a type, an order or a shape");

  NpyHeader header;
  header.data = begin + length;
  auto element = typeOf(*type);
  if (!element)
    return element.error();
  header.type = *element;
  auto extents = shapeOf(*shape);
  if (!extents)
    return extents.error();
  header.shape = std::move(*extents);
  if (header.shape.empty())
    return Error{Code::Unsupported, ".npy file of a single value is not read"};
  if (order->starts_with("True") && header.shape.size() > 1)
    return Error{Code::Unsupported, ".npy file in Fortran order is not read; "
                                    "`numpy.ascontiguousarray` converts it"};
  int64_t size = sizeOf(header.type);
  for (int64_t extent : header.shape)
    if (__builtin_mul_overflow(size, extent, &size))
      return corrupt("its shape is impossible");
  if (uint64_t(size) > bytes.size() - header.data)
    return Error{Code::Truncated, "truncated .npy file: it has " + std::to_string(bytes.size()) +
                                      " bytes of " + std::to_string(header.data + uint64_t(size))};
  return header;
}

} // namespace penstock::runtime
