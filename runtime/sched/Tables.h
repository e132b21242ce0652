// SPDX-License-Identifier: Apache-2.0
//
// The opened tables of a plan.
#pragma once

#include "runtime/abi/kernel.h"
#include "runtime/abi/plan_generated.h"
#include "runtime/core/Buffer.h"
#include "runtime/media/jpeg/Checkpoints.h"
#include "runtime/sched/Options.h"
#include "runtime/sched/Report.h"
#include "runtime/sources/ExternalSource.h"
#include "runtime/sources/HeaderIndex.h"
#include "runtime/sources/Source.h"
#include "runtime/sources/TrackStore.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::runtime {

/// One member per source of the plan. Rows lie within length(); columns are
/// numbered as in the plan. Callable from any thread.
class Tables {
public:
  /// Opens all sources; may list folders. `params` are values by number.
  static Result<std::unique_ptr<Tables>> open(const plan::PlanT &tree,
                                              const std::vector<plan::ArgumentT> &params,
                                              const SessionOptions &options);

  int64_t length(int source) const { return tables[size_t(source)].source->length(); }
  /// The table of a caller, whose rows are read as a whole: nothing of what follows up to
  /// video() is called for it. Null for all others.
  const ExternalSource *external(int source) const { return tables[size_t(source)].external; }
  /// Returns a scalar field as a parameter of the block holds it.
  Result<int64_t> scalar(int source, int64_t row, int column) const;
  /// The extent of a tensor field's axis. Never blocks.
  Result<int64_t> extent(int source, int64_t row, int column, int axis) const;
  /// A tensor field, with storageSlack readable bytes behind it: in memory that
  /// lives as long as this, or in `scratch`.
  Status tensor(int source, int64_t row, int column, Buffer &scratch, pst_tensor &out) const;
  /// Prefetches a field for scalar() or tensor(), which will be called within microseconds.
  void prefetch(int source, int64_t row, int column) const {
    const Table &table = tables[size_t(source)];
    table.source->prefetch(row, table.columns[size_t(column)]);
  }
  /// Reads a bytes field. May block on files.
  Status fetch(int source, int64_t row, int column, Buffer &out) const;
  /// Returns the file of a bytes field, to read parts of it, as Source::place().
  Result<MediaPlace> place(int source, int64_t row, int column) const;
  /// The index of the video at that place: the source's, one that is kept, or made.
  /// Blocks.
  Result<VideoStore::Found> video(int source, int64_t row, int column,
                                  const MediaPlace &place) const;
  /// As video(), for sound.
  Result<SoundStore::Found> sound(int source, const MediaPlace &place) const;
  /// Returns the kept header numbers of a source's files, `width` per row; null where none can be
  /// kept.
  /// \param name  identifies the numbers. Blocks.
  std::unique_ptr<HeaderIndex> headers(int source, const std::string &name, size_t width) const;
  /// Returns the number of indexes that were made, and the bytes that were read for them.
  VideoCounts videoCounts() const;
  /// Returns the checkpoints that a row's JPEG files may have; null if there are none.
  Checkpoints *checkpoints(int source, int64_t row) const;
  /// Most bytes of memory that checkpoints take; new ones wait in it to be written.
  uint64_t checkpointBytes() const;
  /// Keeps the checkpoints that were made; blocks.
  void saveCheckpoints() const;
  /// Lists stored files that could not be used; a line each.
  const std::vector<std::string> &warnings() const { return complaints; }
  /// As Source::classNames().
  std::vector<std::string> classNames(int source) const {
    return tables[size_t(source)].source->classNames();
  }
  /// A text column, or another text that belongs to the row (Source::otherText()).
  Result<std::string> text(int source, int64_t row, std::string_view column) const;
  /// Returns a row's name in messages: its file, or "row 17".
  std::string name(int source, int64_t row) const;
  /// Returns the name of the file of one of its columns; "" where the table has none.
  std::string fileName(int source, int64_t row, int column) const;

private:
  struct Table {
    std::unique_ptr<Source> source;
    const ExternalSource *external = nullptr; // the same
    std::unique_ptr<Checkpoints> checkpoints;
    std::unique_ptr<VideoStore> videos; // null where nothing of it is decoded as a video
    std::unique_ptr<SoundStore> sounds; // or as sound
    std::vector<int> columns;           // the source's number of the plan's column
    CacheFolder kept;                   // for kept header numbers
    std::string name;                   // the same in every run
    std::vector<const Table *> parts;   // of a ConcatSource
  };
  /// Opens a source of the plan, after those of a lower kind: parts before what they are parts of.
  Status add(const plan::PlanT &tree, size_t number, const std::vector<plan::ArgumentT> &params,
             const SessionOptions &options, size_t &given);
  Result<std::unique_ptr<Source>> openConcat(const plan::SourceT &source) const;

  FileSystem *files = nullptr;
  std::vector<Table> tables;
  std::vector<std::string> complaints;
};

} // namespace penstock::runtime
