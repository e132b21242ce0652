// SPDX-License-Identifier: Apache-2.0
//
// libcurl, opened by the first request.
#pragma once

#include "runtime/core/Status.h"

#include <curl/curl.h>

namespace penstock::runtime {

/// The functions of libcurl that are used, by their names without `curl_`.
struct Curl {
  decltype(&curl_global_init) globalInit = nullptr;
  decltype(&curl_easy_init) easyInit = nullptr;
  decltype(&curl_easy_setopt) easySetopt = nullptr;
  decltype(&curl_easy_perform) easyPerform = nullptr;
  decltype(&curl_easy_getinfo) easyGetinfo = nullptr;
  decltype(&curl_easy_reset) easyReset = nullptr;
  decltype(&curl_easy_cleanup) easyCleanup = nullptr;
  decltype(&curl_easy_strerror) easyStrerror = nullptr;
  decltype(&curl_slist_append) slistAppend = nullptr;
  decltype(&curl_slist_free_all) slistFreeAll = nullptr;
};

/// Opens libcurl once for the process. Unsupported where there is none, or one before 7.85.
Result<const Curl *> openCurl();

} // namespace penstock::runtime
