// Tables written as text, numbers in them, and headers of .npy files. The first
// byte chooses the separator.
#include "runtime/sources/Csv.h"
#include "runtime/sources/Npy.h"
#include "runtime/sources/TextValue.h"
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::vector<uint8_t> rest(data + 1, data + size);
  static constexpr char separators[] = {',', '\t', ';', '\0'};
  readTable({reinterpret_cast<const char *>(rest.data()), rest.size()}, separators[data[0] % 4]);
  if (const auto header = readNpyHeader(rest)) {
    require(!header->shape.empty() && header->data <= rest.size(), "an array lies in its file");
    header->typeText();
  }
  return 0;
}
