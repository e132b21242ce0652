// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/Signing.h"

#include "runtime/core/LibraryFunctions.h"

#include <algorithm>
#include <cstdint>

namespace penstock::runtime {

namespace {

/// The functions that are used, by the names of OpenSSL 3.
struct Crypto {
  void *(*bioOfBytes)(const void *, int);
  int (*bioFree)(void *);
  void *(*readKey)(void *, void **, void *, void *);
  void (*keyFree)(void *);
  void *(*contextNew)();
  void (*contextFree)(void *);
  const void *(*sha256)();
  int (*signInit)(void *, void **, const void *, void *, void *);
  int (*sign)(void *, unsigned char *, size_t *, const unsigned char *, size_t);
  unsigned char *(*hmac)(const void *, const void *, int, const unsigned char *, size_t,
                         unsigned char *, unsigned int *);
  int (*decodeBase64)(unsigned char *, const unsigned char *, int);
  void (*clearErrors)();
};

Result<const Crypto *> openOnce() {
  static Crypto crypto;
  void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{Code::Unsupported, std::string("OpenSSL's libcrypto signs, and there is none (") +
                                        dlerror() + "); hint: install libssl3"};
  LibraryFunctions functions(library);
  functions.take(crypto.bioOfBytes, "BIO_new_mem_buf");
  functions.take(crypto.bioFree, "BIO_free");
  functions.take(crypto.readKey, "PEM_read_bio_PrivateKey");
  functions.take(crypto.keyFree, "EVP_PKEY_free");
  functions.take(crypto.contextNew, "EVP_MD_CTX_new");
  functions.take(crypto.contextFree, "EVP_MD_CTX_free");
  functions.take(crypto.sha256, "EVP_sha256");
  functions.take(crypto.signInit, "EVP_DigestSignInit");
  functions.take(crypto.sign, "EVP_DigestSign");
  functions.take(crypto.hmac, "HMAC");
  functions.take(crypto.decodeBase64, "EVP_DecodeBlock");
  functions.take(crypto.clearErrors, "ERR_clear_error");
  if (functions.missing())
    return Error{Code::Unsupported,
                 std::string("the libcrypto here has no ") + functions.missing()};
  return &crypto;
}

const Result<const Crypto *> &openCrypto() {
  static const Result<const Crypto *> opened = openOnce();
  return opened;
}

const unsigned char *bytesOf(const std::string &text) {
  return reinterpret_cast<const unsigned char *>(text.data());
}

} // namespace

Result<std::string> signedByRsa(const std::string &text, const std::string &pem) {
  const auto &opened = openCrypto();
  if (!opened)
    return opened.error();
  const Crypto &crypto = **opened;
  void *bio = crypto.bioOfBytes(pem.data(), int(pem.size()));
  void *key = bio ? crypto.readKey(bio, nullptr, nullptr, nullptr) : nullptr;
  void *context = key ? crypto.contextNew() : nullptr;
  std::string signature;
  size_t size = 0;
  if (context && crypto.signInit(context, nullptr, crypto.sha256(), nullptr, key) == 1 &&
      crypto.sign(context, nullptr, &size, bytesOf(text), text.size()) == 1) {
    signature.resize(size);
    const bool isSigned = crypto.sign(context, reinterpret_cast<unsigned char *>(signature.data()),
                                      &size, bytesOf(text), text.size()) == 1;
    signature.resize(isSigned ? size : 0);
  }
  crypto.contextFree(context);
  crypto.keyFree(key);
  crypto.bioFree(bio);
  crypto.clearErrors();
  if (signature.empty())
    return Error{Code::InvalidArgument, "it is no private key in PEM"};
  return signature;
}

Result<std::string> signedByHmac(const std::string &text, const std::string &key) {
  const auto &opened = openCrypto();
  if (!opened)
    return opened.error();
  const Crypto &crypto = **opened;
  std::string bytes(key.size() / 4 * 3, 0);
  const int decoded = key.size() % 4
                          ? -1
                          : crypto.decodeBase64(reinterpret_cast<unsigned char *>(bytes.data()),
                                                bytesOf(key), int(key.size()));
  crypto.clearErrors();
  if (decoded <= 0)
    return Error{Code::InvalidArgument, "it is no key in base64"};
  // Padding is decoded to zeros.
  const int size = decoded - int(key.ends_with("==") ? 2 : key.ends_with('='));
  unsigned char signature[32];
  unsigned int count = 0;
  if (!crypto.hmac(crypto.sha256(), bytes.data(), size, bytesOf(text), text.size(), signature,
                   &count))
    return Error{Code::Unsupported, "the libcrypto here has no SHA-256"};
  return std::string(reinterpret_cast<const char *>(signature), count);
}

std::string base64(std::string_view bytes) {
  static constexpr char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (k < count ? uint8_t(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k)
      out += k <= count ? digits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string base64Url(std::string_view bytes) {
  std::string out = base64(bytes);
  out.resize(std::min(out.find('='), out.size()));
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

} // namespace penstock::runtime
