// SPDX-License-Identifier: Apache-2.0
//
// The medium of files that hold arrays, whatever their headers are.
#pragma once

#include "runtime/media/numbers/StoredArray.h"

#include <vector>

namespace penstock::runtime {

/// A file of which nothing has been read. What is a file to ArrayMedium has this, and:
///
///   Status open();                                      // reads the header
///   void say(media::Record &numbers) const;             // the header's numbers; or a Status
///   Result<StoredArray> array(const MediumRequest &);   // or columns: std::vector<StoredArray>
///
/// Whether it is good must not depend on what is read of it.
class ArrayFile {
public:
  explicit ArrayFile(const MediumInput &input) : file(input) {}

  /// What arrays lie in.
  MediaBytes &bytes() { return *file; }
  /// Returns whether bytes() are made of all of the file, from its beginning to its end.
  bool isPacked() const { return false; }
  /// Reads what is left of a packed file.
  Status checkEnd() { return {}; }
  uint64_t size() { return (*file).size(); }

protected:
  OpenedMedia file;
};

template <typename File> class ArrayMedium final : public Medium {
public:
  explicit ArrayMedium(MediumHost &) {}

  static Status probe(const MediumInput &input, const ImageLimits &, media::Record &numbers) {
    File file(input);
    Status status = file.open();
    return status ? file.say(numbers) : status;
  }

  static Status parts(const MediumInput &input, const MediumRequest &request,
                      std::vector<ByteRange> &parts) {
    File file(input);
    auto array = openedArray(file, request);
    if (!array)
      return array.error();
    if (file.isPacked())
      parts.push_back({0, file.size()});
    else
      addParts(*array, request, parts);
    return {};
  }

  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override {
    File file(input);
    auto array = openedArray(file, request);
    if (!array)
      return array.error();
    const Status status = readArray(file.bytes(), *array, request, layout, out, room);
    const Status end = file.checkEnd();
    return end ? status : end;
  }

  Status accepts(const MediumInput &input, const MediumRequest &request) override {
    File file(input);
    auto array = openedArray(file, request);
    return array ? Status() : Status(array.error());
  }

  Status checkEnd(const MediumInput &input) override {
    File file(input);
    Status status = file.open();
    return status ? file.checkEnd() : status;
  }

private:
  static auto openedArray(File &file, const MediumRequest &request)
      -> decltype(file.array(request)) {
    Status status = file.open();
    if (!status)
      return status.error();
    return file.array(request);
  }

  std::vector<uint8_t> room;
};

} // namespace penstock::runtime
