// SPDX-License-Identifier: Apache-2.0
//
// Tables written as text, numbers in them, and headers of .npy files. The first
// byte chooses the separator.
#include "runtime/core/TextValue.h"
#include "runtime/media/numbers/Npy.h"
#include "runtime/sources/Csv.h"
#include "runtime/sources/Json.h"
#include "runtime/sources/TextList.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::require;
using namespace penstock::runtime;
namespace plan = penstock::plan;

static void readTable(std::string_view text, char separator) {
  CsvReader reader(text, separator);
  std::vector<CsvCell> cells;
  uint64_t line = 0;
  for (size_t rows = 0; rows <= text.size(); ++rows) {
    const Result<bool> more = reader.next(cells);
    if (!more) {
      require(!more.error().message.empty(), "a refusal has a reason");
      return;
    }
    if (!*more)
      return;
    require(!cells.empty(), "a row has cells");
    require(reader.line() > line && reader.rowStart() < text.size(), "rows follow one another");
    line = reader.line();
    // A row is the same where it is read alone.
    CsvReader alone(text, separator);
    alone.seek(reader.rowStart());
    std::vector<CsvCell> again;
    const Result<bool> found = alone.next(again);
    require(found.ok() && *found && again.size() == cells.size(), "a row can be read alone");
    for (size_t i = 0; i < cells.size(); ++i) {
      require(again[i].raw == cells[i].raw, "with the same cells");
      cells[i].text();
      for (plan::DType type : {plan::DType::u8, plan::DType::i64, plan::DType::f16,
                               plan::DType::f32, plan::DType::boolean})
        if (const auto value = parseValue(type, cells[i].raw); !value)
          require(!value.error().message.empty(), "a refusal has a reason");
    }
  }
  require(false, "a text has no more rows than bytes");
}

/// A line: a value that is found is one where it stands alone.
static void readLine(std::string_view text) {
  const std::string keys[] = {"a", "x y"};
  std::string_view values[2];
  if (const Status status = readJsonObject(text, keys, values); !status) {
    require(!status.error().message.empty(), "a refusal has a reason");
    return;
  }
  for (std::string_view value : values) {
    if (value.empty())
      continue;
    const std::string again = "{\"a\":" + std::string(value) + "}";
    std::string_view found[2];
    require(bool(readJsonObject(again, keys, found)) && found[0] == value,
            "a value can be read alone");
    if (const auto string = jsonText(value); !string)
      require(!string.error().message.empty(), "a refusal has a reason");
    const Extent dims[] = {{0, 1000}, {2, 2}};
    for (size_t rank : {1, 2})
      for (plan::DType type : {plan::DType::u8, plan::DType::f32}) {
        const auto count = parseList(type, {dims, rank}, value, rank == 1, nullptr);
        if (!count) {
          require(!count.error().message.empty(), "a refusal has a reason");
          continue;
        }
        std::vector<uint8_t> out(size_t(*count) * (rank == 2 ? 2 : 1) *
                                 (type == plan::DType::u8 ? 1 : 4));
        require(*parseList(type, {dims, rank}, value, rank == 1, out.data()) == *count,
                "a list has one length");
      }
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::vector<uint8_t> rest(data + 1, data + size);
  static constexpr char separators[] = {',', '\t', ';', '\0'};
  readTable({reinterpret_cast<const char *>(rest.data()), rest.size()}, separators[data[0] % 4]);
  readLine({reinterpret_cast<const char *>(rest.data()), rest.size()});
  MediaSpan file(rest);
  if (const auto header = readNpyHeader(file)) {
    require(!header->shape.empty() && header->data <= rest.size(), "an array lies in its file");
    header->typeText();
  }
  return 0;
}
