// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Npy.h"

#include <algorithm>
#include <charconv>
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

/// The dictionary of a header, `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`, as
/// Python's literals: each value as it is written.
class Dictionary {
public:
  static Result<Dictionary> read(std::string_view text) {
    Dictionary result;
    text.remove_prefix(1); // the brace
    for (text = behindBlanks(text); text != "}"; text = behindBlanks(text)) {
      const std::string_view key = takeValue(text);
      text = behindBlanks(text);
      if (key.empty() || !isQuote(key[0]) || !text.starts_with(':'))
        return corrupt("its header is no dictionary");
      text = behindBlanks(text.substr(1));
      const std::string_view value = takeValue(text);
      text = behindBlanks(text);
      if (value.empty() || !(text.starts_with(',') || text == "}"))
        return corrupt("its header is no dictionary");
      text.remove_prefix(text != "}");
      const auto known = std::find(std::begin(keys), std::end(keys), key.substr(1, key.size() - 2));
      if (known == std::end(keys))
        return corrupt("its header says more than a type, an order and a shape");
      std::string_view &mine = result.values[size_t(known - std::begin(keys))];
      if (!mine.empty())
        return corrupt("its header says something twice");
      mine = value;
    }
    for (std::string_view value : result.values)
      if (value.empty())
        return corrupt("its header lacks a type, an order or a shape");
    return result;
  }

  std::string_view type() const { return values[0]; }
  std::string_view order() const { return values[1]; }
  std::string_view shape() const { return values[2]; }

private:
  static constexpr std::string_view keys[] = {"descr", "fortran_order", "shape"};

  static bool isQuote(char c) { return c == '\'' || c == '"'; }
  /// Takes a text in quotes, what stands in brackets, or a word; nothing where it has no end.
  static std::string_view takeValue(std::string_view &text) {
    size_t end = 0, depth = 0;
    char quote = 0;
    for (; end < text.size(); ++end) {
      const char c = text[end];
      const bool isWord =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (quote) {
        if (c != quote)
          continue;
        quote = 0;
      } else if (isQuote(c)) {
        if (depth == 0 && end > 0)
          break;
        quote = c;
        continue;
      } else if (c == '(' || c == '[') {
        if (depth == 0 && end > 0)
          break;
        ++depth;
        continue;
      } else if ((c == ')' || c == ']') && depth > 0) {
        --depth;
      } else if (depth > 0 || isWord) {
        continue;
      } else {
        break;
      }
      if (depth == 0) {
        ++end;
        break;
      }
    }
    const std::string_view value = quote || depth ? std::string_view() : text.substr(0, end);
    text.remove_prefix(value.size());
    return value;
  }

  std::string_view values[std::size(keys)];
};

struct Element {
  DType type;
  bool isBigEndian;
};

Result<Element> elementOf(std::string_view written) {
  const char quote = written.empty() ? '\0' : written[0];
  if (quote != '\'' && quote != '"')
    return Error{Code::Unsupported, ".npy file of records is not read"};
  const std::string name(written.substr(1, std::min<size_t>(written.size() - 2, 19)));
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

/// A tuple: `()`, `(3,)`, `(3, 4)` or `(3, 4,)`.
Result<std::vector<int64_t>> shapeOf(std::string_view written) {
  const Error unreadable = corrupt("its shape cannot be read");
  if (!written.starts_with('(') || !written.ends_with(')'))
    return unreadable;
  std::vector<int64_t> shape;
  bool hasComma = true;
  for (std::string_view rest = behindBlanks(written.substr(1)); rest != ")";) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), extent);
    const size_t digits = size_t(end - rest.data());
    if (error != std::errc() || !hasComma || rest[0] == '-' || (rest[0] == '0' && digits > 1))
      return unreadable;
    rest.remove_prefix(digits);
    rest.remove_prefix(rest.starts_with('L')); // as Python 2 wrote them
    rest = behindBlanks(rest);
    hasComma = rest.starts_with(',');
    rest = behindBlanks(rest.substr(hasComma));
    shape.push_back(extent);
  }
  if (shape.size() == 1 && !hasComma)
    return unreadable; // a number in brackets
  return shape;
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
  const auto dictionary = Dictionary::read(written);
  if (!dictionary)
    return dictionary.error();

  NpyHeader header;
  header.data = begin + length;
  auto element = elementOf(dictionary->type());
  if (!element)
    return element.error();
  header.type = element->type;
  header.isBigEndian = element->isBigEndian;
  auto extents = shapeOf(dictionary->shape());
  if (!extents)
    return extents.error();
  header.shape = std::move(*extents);
  if (header.shape.empty())
    return Error{Code::Unsupported, ".npy file of a single value is not read"};
  const bool isTrue = dictionary->order() == "True";
  if (!isTrue && dictionary->order() != "False")
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
