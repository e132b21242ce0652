// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/Buckets.h"

#include "runtime/core/TextValue.h"

#include <algorithm>
#include <expat.h>

namespace penstock::runtime {

namespace {

/// Decodes `%20` and the like, and `+`, which stands for a blank in listings.
std::string percentDecoded(std::string_view text) {
  auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool isCode =
        text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0;
    out += isCode           ? char(digit(text[i + 1]) * 16 + digit(text[i + 2]))
           : text[i] == '+' ? ' '
                            : text[i];
    i += isCode ? 2 : 0;
  }
  return out;
}

/// Reads a listing as expat walks through it.
struct ListingReader {
  std::string_view prefix;
  BucketListing listing;
  std::vector<std::string> path; // of elements
  std::string text;
  bool isS3 = false, isAzure = false, isTruncated = false;
  std::string oddKey;
  // of the entry that is read
  std::string key;
  bool isFile = false, isEncoded = false;

  void begin(const std::string &name, const XML_Char **attributes) {
    if (path.empty()) {
      isS3 = name == "ListBucketResult";
      isAzure = name == "EnumerationResults";
    }
    const bool isOfFile = name == (isS3 ? "Contents" : "Blob");
    if (isOfFile || name == (isS3 ? "CommonPrefixes" : "BlobPrefix")) {
      isFile = isOfFile;
      key.clear();
      isEncoded = isS3;
    }
    for (; isAzure && name == "Name" && *attributes; attributes += 2)
      isEncoded |=
          attributes[0] == std::string_view("Encoded") && attributes[1] == std::string_view("true");
    path.push_back(name);
    text.clear();
  }

  void end() {
    const std::string &name = path.back();
    const std::string_view above = path.size() > 1 ? path[path.size() - 2] : std::string_view();
    const bool isOfEntry = above == "Contents" || above == "CommonPrefixes" || above == "Blob" ||
                           above == "BlobPrefix";
    if (isOfEntry && (name == "Key" || name == "Prefix" || name == "Name"))
      key = isEncoded ? percentDecoded(text) : text;
    else if (name == "ResourceType" && text == "directory") // of a hierarchical namespace
      isFile = false;
    else if (name == "Contents" || name == "CommonPrefixes" || name == "Blob" ||
             name == "BlobPrefix")
      take();
    else if (name == "IsTruncated" && path.size() == 2)
      isTruncated = text == "true";
    else if ((name == "NextContinuationToken" || name == "NextMarker") && path.size() == 2)
      listing.next = text;
    path.pop_back();
    text.clear();
  }

  void take() {
    std::string inner = key.starts_with(prefix) ? key.substr(prefix.size()) : "";
    if (!isFile && inner.ends_with('/'))
      inner.pop_back();
    // A key that is the prefix itself is how some tools write an empty folder.
    const bool isMark = isFile && key == prefix;
    if (key.starts_with(prefix) && !isMark && (inner.empty() || inner == "." || inner == ".."))
      oddKey = key;
    else if (!inner.empty())
      listing.entries.push_back(
          {std::move(inner), isFile ? FileKind::File : FileKind::Folder, Link::None});
  }
};

} // namespace

Result<BucketListing> readListing(std::string_view text, std::string_view prefix) {
  ListingReader reader;
  reader.prefix = prefix;
  XML_Parser parser = XML_ParserCreate(nullptr);
  if (!parser)
    return Error{Code::Exhausted, "no memory for a listing"};
  XML_SetUserData(parser, &reader);
  XML_SetElementHandler(
      parser,
      [](void *to, const XML_Char *name, const XML_Char **attributes) {
        static_cast<ListingReader *>(to)->begin(name, attributes);
      },
      [](void *to, const XML_Char *) { static_cast<ListingReader *>(to)->end(); });
  XML_SetCharacterDataHandler(parser, [](void *to, const XML_Char *bytes, int size) {
    static_cast<ListingReader *>(to)->text.append(bytes, size_t(size));
  });
  const bool isRead = XML_Parse(parser, text.data(), int(text.size()), 1) == XML_STATUS_OK &&
                      (reader.isS3 || reader.isAzure);
  const XML_LChar *why = XML_ErrorString(XML_GetErrorCode(parser)); // null: none
  XML_ParserFree(parser);
  if (!isRead)
    return Error{Code::Corrupt,
                 std::string("the answer is no listing") + (why ? ": " : "") + (why ? why : "")};
  if (!reader.oddKey.empty())
    return Error{Code::Unsupported, "`" + reader.oddKey +
                                        "` has an empty part, `.` or `..`, which "
                                        "is the name of no folder"};
  if (reader.isTruncated && reader.listing.next.empty())
    return Error{Code::Corrupt, "the answer says that there is more, and not where"};
  return std::move(reader.listing);
}

std::string tagIn(const std::string &text, const std::string &tag) {
  const size_t begin = text.find("<" + tag + ">"), from = begin + tag.size() + 2;
  const size_t end = text.find("</" + tag + ">", begin == std::string::npos ? 0 : from);
  return begin == std::string::npos || end == std::string::npos ? ""
                                                                : text.substr(from, end - from);
}

BucketStore::Object BucketStore::objectOf(const std::string &url) const {
  const size_t begin = scheme.size(), slash = std::min(url.find('/', begin), url.size());
  return {url.substr(begin, slash - begin), url.substr(std::min(slash + 1, url.size()))};
}

Error BucketStore::noBucket(const std::string &url) const {
  return {Code::InvalidArgument, url + " names no " +
                                     inSmallLetters(form.substr(0, form.find('/'))) +
                                     "; a URL is " + scheme + form};
}

std::string BucketStore::listingQuery(const std::string &prefix, int most,
                                      const std::string &next) const {
  // In the order of the signature.
  std::string query = "?";
  if (!next.empty())
    query += "continuation-token=" + percentEncoded(next, "") + "&";
  query += "delimiter=%2F&encoding-type=url&list-type=2";
  if (most)
    query += "&max-keys=" + std::to_string(most);
  return query + "&prefix=" + percentEncoded(prefix, "");
}

Result<HttpResponse> BucketStore::get(const std::string &url, HttpRequest request, Buffer &out) {
  const Object object = objectOf(url);
  return object.bucket.empty() ? noBucket(url) : send(object, "", std::move(request), out);
}

Result<std::vector<FolderEntry>> BucketStore::list(const std::string &url, int most) {
  const Object object = objectOf(url);
  if (object.bucket.empty())
    return noBucket(url);
  const std::string prefix = object.key.empty() ? "" : object.key + "/";
  std::vector<FolderEntry> entries;
  std::string next;
  do {
    Buffer out;
    HttpRequest request;
    request.mostBytes = 64 << 20;
    auto answer =
        send({object.bucket, ""}, listingQuery(prefix, most, next), std::move(request), out);
    if (!answer)
      return answer.error();
    if (answer->status != 200)
      return refused(url + "/", *answer);
    auto listing = readListing({reinterpret_cast<const char *>(out.data()), out.size()}, prefix);
    if (!listing)
      return Error{listing.error().code, "cannot list " + url + "/: " + listing.error().message};
    for (FolderEntry &entry : listing->entries)
      entries.push_back(std::move(entry));
    if (!next.empty() && listing->next == next)
      return Error{Code::Corrupt, "cannot list " + url + "/: the store gives the same part again"};
    next = listing->next;
  } while (!next.empty() && !(most && int(entries.size()) >= most));
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry &a, const FolderEntry &b) { return comesBefore(a.name, b.name); });
  return entries;
}

} // namespace penstock::runtime
