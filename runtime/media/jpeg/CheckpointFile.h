// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of many JPEG files in one file, to be mapped.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/media/jpeg/EntropyIndex.h"

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// A file's entry in the store of checkpoints. Plain data, as stored.
struct CheckpointEntry {
  uint64_t checksum = 0; ///< entropyIndexChecksum() of the whole file
  uint64_t fileSize = 0;
  uint64_t name = 0;       ///< checkpointName() of where it was found; 0: unknown
  uint64_t points = 0;     ///< where its checkpoints begin
  uint32_t pointBytes = 0; ///< 0: it has none, see `state`
  uint32_t pointChecksum = 0;
  uint32_t width = 0, height = 0;
  uint32_t mcusPerRow = 0, mcuRows = 0, step = 0;
  uint8_t state = 0; ///< a CheckpointState
  uint8_t components = 0;
  uint8_t orientation = 1;
  uint8_t reserved = 0;
  std::array<uint8_t, 4> sampling{}; ///< by component: 16 * horizontal + vertical
  uint32_t reserved2 = 0;
};
static_assert(sizeof(CheckpointEntry) == 72);

/// The state of a file's checkpoints: there, or the reason that it has none.
enum class CheckpointState : uint8_t {
  Indexed, ///< the values up to OtherLibrary are those of EntropyPath
  OtherCoding,
  SeveralScans,
  OddHeader,
  NoEnd,
  OddData,
  OtherLibrary,
  TooLarge, ///< more than 512 MB
  OtherFormat,
  Unreadable ///< a header that is damaged, or of a kind that is not read
};
inline constexpr size_t checkpointStateCount = 10;
/// Returns words for people: "progressive or arithmetic coding".
const char *describe(CheckpointState state);

/// Returns a number that identifies a file by its name, size and time.
uint64_t checkpointName(std::string_view name, uint64_t fileSize, int64_t modifiedNs);

/// An entry and its checkpoints as they are stored: for each a u32, the bit, and
/// an i16 per component, the prediction.
struct CheckpointRecord {
  CheckpointEntry entry;
  std::vector<uint8_t> points;
};

/// Makes records. One object serves one thread and keeps its memory.
class CheckpointMaker {
public:
  /// Makes the record of a file. Never fails: without checkpoints, its state has the reason.
  CheckpointRecord make(std::span<const uint8_t> file, uint64_t name,
                        const ImageLimits &limits = {});

private:
  EntropyIndexer indexer;
  EntropyIndex index;
};

/// A sidecar: entries in the order of their checksums, behind them checkpoints.
/// Little endian: magic and version, a checksum of header and entries, the size
/// of the whole; CheckpointEntry[]; checkpoints, with a checksum per file, so that
/// opening reads the entries only.
class CheckpointFile {
public:
  /// Parses a sidecar. Errors: Corrupt for a file that is damaged, cut off, or of another kind;
  /// Unsupported for another version.
  static Result<CheckpointFile> parse(Mapping mapping);

  std::span<const CheckpointEntry> entries() const;
  /// Returns the entry of a file with this checksum and size; null if there is none.
  const CheckpointEntry *find(uint64_t checksum, uint64_t fileSize) const;
  /// The stored checkpoints of one of entries(); empty where they are damaged.
  std::span<const uint8_t> points(const CheckpointEntry &entry) const;
  uint64_t bytes() const { return mapping.bytes.size(); }

private:
  explicit CheckpointFile(Mapping mapping) : mapping(std::move(mapping)) {}
  Mapping mapping;
};

/// Unpacks the checkpoints of an entry. False if there are none, or not as many as there should be.
bool unpack(const CheckpointEntry &entry, std::span<const uint8_t> points, EntropyIndex &index);

/// An entry somewhere, to be written.
struct CheckpointPart {
  CheckpointEntry entry;
  std::span<const uint8_t> points;
};
/// Writes a sidecar to `sink`, sorted, each (file, name) once; returns its size.
Result<uint64_t> streamCheckpoints(std::vector<CheckpointPart> parts,
                                   const std::function<Status(std::span<const uint8_t>)> &sink);
/// As streamCheckpoints(), to a file.
Result<uint64_t> writeCheckpoints(FileSystem &files, std::string_view path,
                                  std::vector<CheckpointPart> parts);

} // namespace penstock::runtime
