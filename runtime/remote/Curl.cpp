// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/Curl.h"

#include "runtime/core/LibraryFunctions.h"

#include <string>

namespace penstock::runtime {

namespace {

Error unusable(const std::string &why) {
  return {Code::Unsupported, "URLs are read by libcurl 7.85 or later, and " + why +
                                 "; hint: install libcurl4 (`apt-get install libcurl4`), or name "
                                 "the library in PENSTOCK_LIBCURL"};
}

void *openLibrary(std::string &why) {
  const char *named = std::getenv("PENSTOCK_LIBCURL");
  for (const char *name : {named && *named ? named : "libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library; // stays open: it has caches of its own
    why += (why.empty() ? "" : "; ") + std::string(dlerror());
    if (named && *named)
      break;
  }
  return nullptr;
}

Result<const Curl *> open() {
  static Curl curl;
  std::string why;
  void *library = openLibrary(why);
  if (!library)
    return unusable("there is none (" + why + ")");
  LibraryFunctions functions(library);
  functions.take(curl.globalInit, "curl_global_init");
  functions.take(curl.easyInit, "curl_easy_init");
  functions.take(curl.easySetopt, "curl_easy_setopt");
  functions.take(curl.easyPerform, "curl_easy_perform");
  functions.take(curl.easyGetinfo, "curl_easy_getinfo");
  functions.take(curl.easyReset, "curl_easy_reset");
  functions.take(curl.easyCleanup, "curl_easy_cleanup");
  functions.take(curl.easyStrerror, "curl_easy_strerror");
  functions.take(curl.slistAppend, "curl_slist_append");
  functions.take(curl.slistFreeAll, "curl_slist_free_all");
  decltype(&curl_version_info) versionInfo = nullptr;
  functions.take(versionInfo, "curl_version_info");
  if (functions.missing())
    return unusable(std::string("the one here has no ") + functions.missing());
  if (const CURLcode code = curl.globalInit(CURL_GLOBAL_DEFAULT); code != CURLE_OK)
    return unusable(std::string("the one here does not start: ") + curl.easyStrerror(code));
  const curl_version_info_data *version = versionInfo(CURLVERSION_NOW);
  if (version->version_num < 0x075500)
    return unusable(std::string("this one is ") + version->version);
  return &curl;
}

} // namespace

Result<const Curl *> openCurl() {
  static const Result<const Curl *> opened = open();
  return opened;
}

} // namespace penstock::runtime
