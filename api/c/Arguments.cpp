// SPDX-License-Identifier: Apache-2.0
#include "api/c/Arguments.h"
#include "runtime/core/Path.h"
#include "runtime/sources/Source.h"
#include <algorithm>
#include <cstring>
#include <limits>

using namespace penstock;
using namespace penstock::api;
using runtime::Status;

static runtime::Error wrong(std::string message) {
  return {runtime::Code::InvalidArgument, std::move(message)};
}

/// The first one that fails.
static Status all(std::initializer_list<Status> checks) {
  for (const Status &check : checks)
    if (!check)
      return check;
  return {};
}

Status api::checkText(const char *text, const char *name) {
  return text ? Status() : wrong("`" + std::string(name) + "` is NULL");
}

Status api::checkPath(const char *path, const char *name) {
  if (Status status = checkText(path, name); !status)
    return status;
  if (!*path)
    return wrong("`" + std::string(name) + "` is empty, and no path");
  return runtime::isUrl(path) ? wrong(std::string(path) +
                                      " is a URL, which sessions alone read; "
                                      "`" +
                                      name + "` is a path of this machine")
                              : Status();
}

Status api::checkArray(const void *array, size_t count, const char *name) {
  if (array || count == 0)
    return {};
  return wrong("`" + std::string(name) + "` is NULL, and there are " + std::to_string(count) +
               " of them");
}

static std::string element(const char *array, size_t number) {
  return std::string(array) + "[" + std::to_string(number) + "]";
}

Status api::checkTexts(const char *const *texts, size_t count, const char *name) {
  Status status = checkArray(texts, count, name);
  for (size_t i = 0; i < count && status; ++i)
    status = checkText(texts[i], element(name, i).c_str());
  return status;
}

/// Folders that are open: an empty name would be the current one.
static Status checkFolders(const char *const *folders, size_t count) {
  const char *const name = "allowed_folders";
  Status status = checkTexts(folders, count, name);
  for (size_t i = 0; i < count && status; ++i)
    if (!*folders[i])
      status = wrong("`" + element(name, i) + "` is empty; the current folder is `.`");
  return status;
}

/// What is smaller than its own size was not begun with the macro.
static Status checkSize(size_t size, const char *macro) {
  return size > sizeof size ? Status()
                            : wrong("`size` of the options is " + std::to_string(size) +
                                    ": begin with " + macro + ", or they would not be read");
}

Status api::checkParameters(const pst_parameter *given, size_t count) {
  if (Status status = checkArray(given, count, "parameters"); !status)
    return status;
  for (size_t i = 0; i < count; ++i) {
    if (!given[i].name)
      return wrong("`" + element("parameters", i) + "` has no name");
    const std::string name = "parameter `" + std::string(given[i].name) + "`";
    if (!given[i].value)
      return wrong(name + " has no value");
    if (std::any_of(given, given + i, [&](const pst_parameter &before) {
          return std::strcmp(before.name, given[i].name) == 0;
        }))
      return wrong(name + " is given twice");
  }
  return {};
}

Status api::checkOptions(const pst_compile_options &given) {
  return all({checkSize(given.size, "PST_COMPILE_OPTIONS_INIT"),
              checkParameters(given.parameters, given.parameter_count),
              checkTexts(given.disabled_passes, given.disabled_pass_count, "disabled_passes")});
}

Status api::checkOptions(const pst_prepare_options &given) {
  constexpr int32_t mostThreads = 4096; // as of a session
  return all({checkSize(given.size, "PST_PREPARE_OPTIONS_INIT"),
              given.threads >= 0 && given.threads <= mostThreads
                  ? Status()
                  : wrong("`threads` is " + std::to_string(given.threads) + ", and not 0 to " +
                          std::to_string(mostThreads)),
              given.out ? checkPath(given.out, "out") : Status(),
              given.root ? checkPath(given.root, "root") : Status(),
              checkFolders(given.allowed_folders, given.allowed_folder_count)});
}

/// What the column holds is checked where its type is known.
static Status checkColumns(const pst_memory_column *columns, size_t count) {
  if (Status status = checkArray(columns, count, "columns"); !status)
    return status;
  for (size_t i = 0; i < count; ++i) {
    const pst_memory_column &column = columns[i];
    if (!column.name)
      return wrong("`" + element("columns", i) + "` has no name");
    if (std::any_of(columns, columns + i, [&](const pst_memory_column &before) {
          return std::strcmp(before.name, column.name) == 0;
        }))
      return wrong("column `" + std::string(column.name) + "` in memory is given twice");
    if (column.rank < 0 || (column.rank > 0 && !column.extents))
      return wrong("column `" + std::string(column.name) + "` in memory has no extents");
    if (column.rank > runtime::TensorView::maxRank + 1)
      return wrong("column `" + std::string(column.name) + "` in memory has " +
                   std::to_string(column.rank) + " axes, the limit is " +
                   std::to_string(runtime::TensorView::maxRank + 1) + " with that of the rows");
  }
  return {};
}

static Status checkTables(const pst_external_table *tables, size_t count) {
  Status status = checkArray(tables, count, "tables");
  for (size_t i = 0; i < count && status; ++i) {
    const pst_external_table &table = tables[i];
    status = all({checkArray(table.bytes, table.bytes_count, "bytes"),
                  checkColumns(table.columns, table.column_count)});
    for (size_t k = 0; status && k < table.bytes_count; ++k)
      if (!table.bytes[k].name)
        status = wrong("`" + element("bytes", k) + "` has no name");
  }
  return status;
}

/// An enumeration's values begin with 0.
template <typename Enumeration>
static Status checkWord(const Enumeration &written, Enumeration last, const char *name) {
  const int value = numberOf(written);
  if (value >= 0 && value <= last)
    return {};
  return wrong("`" + std::string(name) + "` is " + std::to_string(value) + ", and not 0 to " +
               std::to_string(last));
}

Status api::checkOptions(const pst_session_options &given) {
  return all({checkSize(given.size, "PST_SESSION_OPTIONS_INIT"),
              checkParameters(given.parameters, given.parameter_count),
              checkColumns(given.columns, given.column_count),
              checkFolders(given.allowed_folders, given.allowed_folder_count),
              checkTables(given.tables, given.table_count),
              checkWord(given.device, PST_DEVICE_CUDA, "device"),
              checkWord(given.held, PST_HELD_GROW, "held"),
              checkWord(given.order, PST_ORDER_CALLER, "order"),
              checkWord(given.last, PST_LAST_PAD, "last")});
}
