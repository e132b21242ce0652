// SPDX-License-Identifier: Apache-2.0
//
// Opens the tables that a plan names.
#pragma once

#include "runtime/abi/plan_generated.h"
#include "runtime/core/CacheFolder.h"
#include "runtime/core/Status.h"
#include "runtime/sched/Options.h"
#include "runtime/sources/ExternalSource.h"
#include "runtime/sources/Source.h"

#include <memory>
#include <string>
#include <vector>

namespace penstock::runtime {

/// The arguments of one source, parameters resolved.
class SourceArguments {
public:
  SourceArguments(const plan::SourceT &source, const std::vector<plan::ArgumentT> &params)
      : source(source), params(params) {}

  /// Null where there is none of that name.
  const plan::ArgumentT *find(const std::string &name) const {
    for (const auto &argument : source.arguments)
      if (argument->name == name)
        return argument->param < 0 ? argument.get() : &params[size_t(argument->param)];
    return nullptr;
  }

private:
  const plan::SourceT &source;
  const std::vector<plan::ArgumentT> &params;
};

/// Returns the caller's memory that takes the place of the file of a `raw` column: given by the
/// name of the file's parameter, unless a column is called so, or else of the column. Null if
/// there is none.
const MemoryColumn *memoryFor(const plan::PlanT &tree, const plan::SourceT &source,
                              const std::string &column, const std::vector<MemoryColumn> &memory);

/// Refuses memory that is no column's, and such for columns of two tables.
Status checkMemory(const plan::PlanT &tree, const std::vector<MemoryColumn> &memory);

Error sourceError(const plan::SourceT &source, std::string message);

/// Returns the folder for a source's index.
Result<CacheFolder> cacheFolder(const plan::SourceT &source, const SourceArguments &arguments,
                                const SessionOptions &options);

/// Opens a table that is no caller's; may list folders.
///
/// Source kinds and their arguments:
///
/// * `image_folder`, `audio_folder`: root; index: a folder for it, or keep_index, where none is
///   to be kept. Likewise for checkpoints of JPEG files, here and for tables
///   and tar files; build_index, where those that are missing are to be made.
/// * `raw`: a path per column, by its name; `<column>.format`: npy. A column of
///   `options.memory` takes its place (memoryFor()).
/// * `synthetic`: length; `<column>.low` and `<column>.end` for columns with a
///   range; seed.
/// * `csv`: list, root; separator; header, where there is none; `<column>.from`,
///   a name or a number. `file_list`: list, root.
/// * `json_lines`: list, root; `<column>.from`, a key.
/// * `cifar10`, `cifar100`: root; train.
/// * `tar_shards`: shards; index, keep_index; `<column>.from`, an extension.
/// * `external_source`: none; `options.external` has its rows.
/// * `video_clips`: root; length, step, every; index, keep_index.
Result<std::unique_ptr<Source>> openSource(const plan::PlanT &tree, const plan::SourceT &source,
                                           const SourceArguments &arguments,
                                           const SessionOptions &options);

/// Opens a table of the caller's. `number`: among those.
Result<std::unique_ptr<ExternalSource>> openGiven(const plan::PlanT &tree,
                                                  const plan::SourceT &source, size_t number,
                                                  const SessionOptions &options);

} // namespace penstock::runtime
