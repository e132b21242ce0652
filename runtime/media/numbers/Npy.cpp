// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Npy.h"

#include <algorithm>
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

std::string_view behindBlanks(std::string_view text) {
  return text.substr(std::min(text.size(), text.find_first_not_of(" \t\n")));
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
      if (found == std::string_view::npos || found == 0 ||
          std::string_view("{, \t\n").find(text[found - 1]) == std::string_view::npos)
        continue;
      std::string_view rest = behindBlanks(text.substr(found + wanted.size()));
      if (!rest.starts_with(':'))
        continue;
      return behindBlanks(rest.substr(1));
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

struct Element {
  DType type;
  bool isBigEndian;
};

Result<Element> elementOf(std::string_view written) {
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
  const bool hasOrder = name.starts_with('<') || name.starts_with('>') || name.starts_with('|') ||
                        name.starts_with('=');
  const std::string_view kind = std::string_view(name).substr(hasOrder);
  for (const Known &one : known) {
    if (one.name != kind)
      continue;
    return Element{one.type, name[0] == '>' && one.name[1] != '1'};
  }
  return Error{Code::Unsupported, ".npy file of `" + name + "` is not read"};
}

Result<std::vector<int64_t>> shapeOf(std::string_view written) {
  std::vector<int64_t> shape;
  if (!written.starts_with('('))
    return corrupt("its shape cannot be read");
  size_t at = 1;
  auto skip = [&] {
    while (at < written.size() &&
           std::string_view(" \t\n").find(written[at]) != std::string_view::npos)
      ++at;
  };
  for (;;) {
    skip();
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
    skip();
    if (at < written.size() && written[at] == ',')
      ++at;
    else if (at == written.size() || written[at] != ')')
      return corrupt("its shape cannot be read");
  }
}

} // namespace

Result<NpyHeader> readNpyHeader(MediaBytes &file) {
  constexpr std::string_view magic = "\x93NUMPY";
  uint8_t head[12] = {};
  const uint64_t known = std::min<uint64_t>(file.size(), sizeof head);
  if (Status status = file.read(0, std::span(head).first(known)); !status)
    return status.error();
  if (!std::string_view(reinterpret_cast<const char *>(head), known).starts_with(magic))
    return Error{Code::Unsupported, "it is no .npy file"};
  const Error truncated{Code::Truncated, "truncated .npy file: it ends inside its header"};
  if (known < sizeof head)
    return truncated;
  const int version = head[6];
  if (version < 1 || version > 3)
    return Error{Code::Unsupported,
                 ".npy file of version " + std::to_string(version) + " is not read"};
  const uint64_t begin = version == 1 ? 10 : 12;
  uint64_t length = uint64_t(head[8]) | uint64_t(head[9]) << 8;
  if (version > 1)
    length |= uint64_t(head[10]) << 16 | uint64_t(head[11]) << 24;
  if (length > file.size() - begin)
    return truncated;
  if (head[7] != 0)
    return Error{Code::Unsupported, ".npy file of version " + std::to_string(version) + "." +
                                        std::to_string(head[7]) + " is not read"};
  constexpr uint64_t longest = 1 << 20; // of records of many fields, which are not read
  if (length > longest)
    return Error{Code::Unsupported,
                 ".npy file with a header of " + std::to_string(length) + " bytes is not read"};
  std::string text(length, '\0');
  if (Status status = file.read(begin, {reinterpret_cast<uint8_t *>(text.data()), size_t(length)});
      !status)
    return status.error();
  const size_t first = text.find_first_not_of(" \t\r\n"), last = text.find_last_not_of(" \t\r\n");
  const std::string_view written = first == text.npos
                                       ? std::string_view()
                                       : std::string_view(text).substr(first, last - first + 1);
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
  auto element = elementOf(*type);
  if (!element)
    return element.error();
  header.type = element->type;
  header.isBigEndian = element->isBigEndian;
  auto extents = shapeOf(*shape);
  if (!extents)
    return extents.error();
  header.shape = std::move(*extents);
  if (header.shape.empty())
    return Error{Code::Unsupported, ".npy file of a single value is not read"};
  const bool isTrue = order->starts_with("True");
  if (!isTrue && !order->starts_with("False"))
    return corrupt("its order is neither `True` nor `False`");
  header.isFirstFastest = isTrue && header.shape.size() > 1;
  int64_t size = sizeOf(header.type);
  for (int64_t extent : header.shape)
    if (__builtin_mul_overflow(size, extent, &size))
      return corrupt("its shape is impossible");
  if (uint64_t(size) > file.size() - header.data)
    return Error{Code::Truncated, "truncated .npy file: it has " + std::to_string(file.size()) +
                                      " bytes of " + std::to_string(header.data + uint64_t(size))};
  return header;
}

Status NpyFile::open() {
  auto read = readNpyHeader(bytes());
  if (!read)
    return read.error();
  header = std::move(*read);
  return {};
}

Status NpyFile::say(media::Record &numbers) const {
  if (header.shape.size() > PST_MAX_RANK)
    return Error{Code::Unsupported, ".npy file of " + std::to_string(header.shape.size()) +
                                        " axes is not read: tensors have " +
                                        std::to_string(PST_MAX_RANK) + " at most"};
  numbers[media::npyRank] = int64_t(header.shape.size());
  for (size_t axis = 0; axis < PST_MAX_RANK; ++axis)
    numbers[media::npyExtent + axis] = axis < header.shape.size() ? header.shape[axis] : 1;
  return {};
}

Result<StoredArray> NpyFile::array(const MediumRequest &request) const {
  if (header.type != request.type)
    return Error{Code::Unsupported, "the file has elements of " + std::string(nameOf(header.type)) +
                                        ", and " + nameOf(request.type) + " are wanted"};
  if (!std::ranges::equal(header.shape, request.extents))
    return Error{Code::InvalidArgument,
                 "the request is not of the file's shape, " + header.typeText()};
  StoredArray array{storedAs(header.type), header.isBigEndian, header.data};
  if (header.isFirstFastest)
    array.packFirstFastest(header.shape);
  else
    array.packLastFastest(header.shape);
  return array;
}

} // namespace penstock::runtime
