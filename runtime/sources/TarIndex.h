// SPDX-License-Identifier: Apache-2.0
//
// The rows of a list of tar files, compact, and its file in the cache.
#pragma once

#include "runtime/core/FileSystem.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Rows of tar files in the manner of WebDataset: members that follow one
/// another and have the same name up to the first dot of its last part are one
/// row; what stands behind that dot, its capital letters made small, tells its
/// fields apart. Members without a dot, and those of names that begin with `__`,
/// are left out.
///
/// Layout, little endian: Header; Shard[shards]; Row[rows + 1];
/// Member[members]; u64[extensions + 1] ends in the text; text (the shards'
/// paths, extensions, rows' names and small contents).
class TarIndex {
public:
  /// Contents up to this size are kept in the index: labels need no reading.
  static constexpr uint64_t smallBytes = 32;
  /// Different extensions of members.
  static constexpr size_t mostExtensions = 65535;

  /// The member that holds checkpoints of the others.
  static constexpr std::string_view checkpointsName = "__checkpoints__";

  struct Shard {
    uint64_t path; ///< where it begins in the text
    uint64_t pathLength;
    uint64_t size;
    int64_t modifiedNs;
    uint64_t firstRow;
    uint64_t checkpoints;     ///< where the member of that name begins
    uint64_t checkpointsSize; ///< 0: there is none
    uint64_t isTold;          ///< 1: by the index beside it; what is read of it has to fit
  };
  struct Field {
    uint64_t offset = 0;
    uint64_t size = 0;
    std::string_view contents; ///< of a small one
  };

  /// Reads all headers of all shards, several at a time; `paths` in order.
  static Result<TarIndex> scan(FileSystem &files, const std::vector<std::string> &paths);
  /// As scan(), of one shard, with neither its folder nor its time: the file that is to lie beside
  /// it, wherever both are copied.
  static Result<TarIndex> ofShard(FileSystem &files, const std::string &path);
  /// The path of that file. For shards that URLs point to, it is read in place of their headers if
  /// it is there, of a shard of this size, and not older than the shard by more than an hour.
  static std::string pathBeside(const std::string &shard) { return shard + ".index"; }
  /// Takes the bytes of a cache file, if they are whole and of these shards.
  static Result<TarIndex> parse(Mapping mapping, const std::vector<std::string> &paths);

  /// Returns false if a shard has another size or time than when it was read.
  bool isCurrent(FileSystem &files) const;
  /// The latest change of any shard.
  int64_t lastChangeNs() const;

  uint64_t rowCount() const;
  std::span<const Shard> shards() const;
  std::string shardPath(const Shard &shard) const;
  const Shard &shardOf(uint64_t row) const;
  std::string_view rowName(uint64_t row) const;
  std::vector<std::string> extensions() const;
  /// Returns the extension in the letters of extensions(), as WebDataset has them too.
  static std::string extensionOf(std::string_view written);
  /// Finds the field of a row whose extension is the first of `wanted` (numbers of extensions())
  /// that the row has; false if it has none.
  bool find(uint64_t row, std::span<const uint32_t> wanted, Field &field) const;

  std::span<const uint8_t> bytes() const { return mapping.bytes; }

private:
  struct Header;
  struct Row;
  struct Member;
  struct Found;

  explicit TarIndex(Mapping mapping) : mapping(std::move(mapping)) {}
  static Result<Found> readShard(FileSystem &files, const std::string &path);
  static Result<Found> readHeaders(FileSystem &files, const std::string &path);
  static Result<bool> readBeside(FileSystem &files, const std::string &path, Found &found);
  static Result<TarIndex> join(const std::vector<std::string> &paths,
                               const std::vector<Found> &found);
  const Header &header() const;
  std::span<const Row> rows() const;
  std::span<const Member> members() const;
  std::span<const Member> membersOf(uint64_t row) const;
  const uint64_t *extensionEnds() const;
  std::string_view text() const;

  Mapping mapping;
};

} // namespace penstock::runtime
