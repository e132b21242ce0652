// Any text through everything that `penstock check` does, with the real library.
#include "mlir/IR/Verifier.h"
#include "test/fuzz/Fuzz.h"
#include "test/unit/compiler/ImportText.h"

using penstock::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  penstock::test::Imported imported(std::string(reinterpret_cast<const char *>(data), size));
  if (!imported.result.module)
    require(!imported.messages.empty(), "a refused file gets a message");
  else
    require(mlir::succeeded(mlir::verify(*imported.result.module)), "an imported module is valid");
  return 0;
}
