// SPDX-License-Identifier: Apache-2.0
//
// Signatures that stores and servers of tokens want, by OpenSSL's libcrypto, which is opened where
// something is to be signed.
#pragma once

#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace penstock::runtime {

/// Signs a text by a private RSA key in PEM, as RS256 of JSON Web Tokens has it (RFC 7518, 3.3).
/// Unsupported without OpenSSL's libcrypto, InvalidArgument where the key is none.
Result<std::string> signedByRsa(const std::string &text, const std::string &pem);

/// Signs a text by a key that is written in base64, as HMAC-SHA256 has it (RFC 2104). Fails as
/// signedByRsa().
Result<std::string> signedByHmac(const std::string &text, const std::string &key);

/// base64 (RFC 4648, 4), and base64url without padding (5).
std::string base64(std::string_view bytes);
std::string base64Url(std::string_view bytes);

} // namespace penstock::runtime
