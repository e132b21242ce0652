// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/Curl.h"

#include <dlfcn.h>
#include <string>
#include <type_traits>

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
  const char *missing = nullptr;
  auto one = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (!function)
      missing = name;
  };
  one(curl.globalInit, "curl_global_init");
  one(curl.easyInit, "curl_easy_init");
  one(curl.easySetopt, "curl_easy_setopt");
  one(curl.easyPerform, "curl_easy_perform");
  one(curl.easyGetinfo, "curl_easy_getinfo");
  one(curl.easyReset, "curl_easy_reset");
  one(curl.easyCleanup, "curl_easy_cleanup");
  one(curl.easyStrerror, "curl_easy_strerror");
  one(curl.slistAppend, "curl_slist_append");
  one(curl.slistFreeAll, "curl_slist_free_all");
  decltype(&curl_version_info) versionInfo = nullptr;
  one(versionInfo, "curl_version_info");
  if (missing)
    return unusable(std::string("the one here has no ") + missing);
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
