// SPDX-License-Identifier: Apache-2.0
//
// OpenSSL's libcrypto, opened where something is to be signed.
#include "runtime/core/LibraryFunctions.h"
#include "runtime/remote/GoogleToken.h"

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
  void (*clearErrors)();
};

Result<const Crypto *> open() {
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
  functions.take(crypto.clearErrors, "ERR_clear_error");
  if (functions.missing())
    return Error{Code::Unsupported,
                 std::string("the libcrypto here has no ") + functions.missing()};
  return &crypto;
}

} // namespace

Result<std::string> signedByRsa(const std::string &text, const std::string &pem) {
  static const Result<const Crypto *> opened = open();
  if (!opened)
    return opened.error();
  const Crypto &crypto = **opened;
  void *bio = crypto.bioOfBytes(pem.data(), int(pem.size()));
  void *key = bio ? crypto.readKey(bio, nullptr, nullptr, nullptr) : nullptr;
  void *context = key ? crypto.contextNew() : nullptr;
  std::string signature;
  const auto *bytes = reinterpret_cast<const unsigned char *>(text.data());
  size_t size = 0;
  if (context && crypto.signInit(context, nullptr, crypto.sha256(), nullptr, key) == 1 &&
      crypto.sign(context, nullptr, &size, bytes, text.size()) == 1) {
    signature.resize(size);
    const bool isSigned = crypto.sign(context, reinterpret_cast<unsigned char *>(signature.data()),
                                      &size, bytes, text.size()) == 1;
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

} // namespace penstock::runtime
