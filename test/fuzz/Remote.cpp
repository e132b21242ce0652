// SPDX-License-Identifier: Apache-2.0
//
// What servers and stores send as texts, and paths that lists name. The first byte chooses.
#include "runtime/remote/HttpStore.h"
#include "runtime/remote/HuggingFace.h"
#include "runtime/remote/S3.h"
#include "test/fuzz/Fuzz.h"

using penstock::fuzz::require;
using namespace penstock::runtime;

static void readPath(std::string_view text) {
  for (const std::string_view folder :
       {"https://host/data/x", "s3://bucket/a", "hf://datasets/a", "/srv/data"}) {
    const std::string path = normalizePath(text, folder);
    require(normalizePath(path, {}) == path, "a normalized path stays as it is");
    require(liesWithin(path, folderOf(path)) || path.find('?') != std::string::npos,
            "a file lies in its folder");
    if (isAbsolutePath(text))
      continue;
    const std::string origin =
        isUrl(folder) ? std::string(folder.substr(0, folder.find('/', 8))) : "/";
    require(liesWithin(path, origin), "nothing leaves a server or bucket");
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
  switch (data[0] % 6) {
  case 0:
    if (const auto listing = readListing(text, "p/"))
      for (const FolderEntry &entry : listing->entries)
        require(!entry.name.empty(), "an entry has a name");
    else
      require(!listing.error().message.empty(), "a refusal has a reason");
    break;
  case 1:
    for (const auto &[name, value] : readProfile(text, "work"))
      require(name.find('\n') == std::string::npos && value.find('\n') == std::string::npos,
              "a setting is of one line");
    break;
  case 2:
    readPath(text);
    break;
  case 3:
    if (const auto tree = readHubTree(text, "a"))
      for (const FolderEntry &entry : *tree)
        require(!entry.name.empty() && entry.name.find('/') == std::string::npos,
                "an entry lies in its folder");
    if (const auto place = readHubUrl(text))
      require(!place->revision.empty(), "a place has a revision");
    nextLink(text);
    break;
  case 4:
    if (const auto rules = readHeaderRules(text))
      for (const HeaderRule &rule : *rules)
        require(rule.header.find('\n') == std::string::npos &&
                    rule.header.find(':') != std::string::npos && isUrl(rule.url),
                "a rule is a URL and a header of one line");
    break;
  default:
    tagIn(text, "Message");
    require(withoutSecrets(text).size() <= text.size(), "nothing is added");
    percentEncoded(text, "/");
  }
  return 0;
}
