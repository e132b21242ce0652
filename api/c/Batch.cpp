// SPDX-License-Identifier: Apache-2.0
//
// Functions of pst_batch.
#include "api/c/Batch.h"
#include "api/c/Entry.h"

using penstock::api::catching;

uint32_t pst_batch_epoch(const pst_batch *batch) { return (*batch->batch)->epoch(); }
int64_t pst_batch_count(const pst_batch *batch) { return (*batch->batch)->count(); }
size_t pst_batch_output_count(const pst_batch *batch) { return batch->outputs.size(); }
const pst_output *pst_batch_output(const pst_batch *batch, size_t index) {
  return batch->outputs[index];
}
const int64_t *pst_batch_positions(const pst_batch *batch) {
  return (*batch->batch)->positions().data();
}
const int64_t *pst_batch_rows(const pst_batch *batch) { return (*batch->batch)->rows().data(); }
uint64_t pst_batch_content_hash(const pst_batch *batch, int64_t slot) {
  const auto &block = *batch->batch;
  return slot < 0 || slot >= pst_batch_count(batch) ? 0 : block->contentHash(slot);
}
int64_t pst_batch_waited_ns(const pst_batch *batch) { return (*batch->batch)->waitedNs(); }
pst_status pst_batch_host_data(const pst_batch *batch, size_t index, const void **out_data) {
  *out_data = nullptr;
  catching([&] { *out_data = batch->outputs[index] ? (*batch->batch)->onHost(index) : nullptr; },
           [](const penstock::runtime::Error &) {});
  return *out_data ? PST_OK : PST_ERROR;
}
void pst_batch_release(pst_batch *batch) { delete batch; }
void pst_batch_release_on(pst_batch *batch, void *stream) {
  if (batch)
    batch->batch->usedOn(stream);
  delete batch;
}
