// SPDX-License-Identifier: Apache-2.0
//
// Functions of pst_sample.
#include "api/c/Entry.h"
#include "api/c/Outputs.h"

using namespace penstock;
using namespace penstock::api;

struct pst_sample {
  explicit pst_sample(runtime::SampleReport made)
      : report(std::move(made)), outputs(report.outputs) {
    for (const runtime::SampleReport::Draw &draw : report.draws)
      draws.push_back({draw.path.c_str(), draw.number(), dtypeOf(draw.type)});
  }
  runtime::SampleReport report;
  Outputs outputs;
  std::vector<pst_draw> draws;
};

pst_status pst_session_sample(pst_session *session, uint32_t epoch, int64_t position,
                              pst_sample **out_sample) {
  *out_sample = nullptr;
  return useSession(*session, [&](runtime::Session &inner) {
    auto report = inner.sample(epoch, position);
    if (!report)
      return session->fail(report.error());
    *out_sample = new pst_sample(std::move(*report));
    return PST_OK;
  });
}

int64_t pst_sample_row(const pst_sample *sample) { return sample->report.row; }
const char *pst_sample_name(const pst_sample *sample) { return sample->report.name.c_str(); }
size_t pst_sample_output_count(const pst_sample *sample) { return sample->outputs.size(); }
const pst_output *pst_sample_output(const pst_sample *sample, size_t index) {
  return sample->outputs[index];
}
size_t pst_sample_draw_count(const pst_sample *sample) { return sample->draws.size(); }
const pst_draw *pst_sample_draw(const pst_sample *sample, size_t index) {
  return index < sample->draws.size() ? &sample->draws[index] : nullptr;
}
uint64_t pst_sample_content_hash(const pst_sample *sample) { return sample->report.contentHash; }
const char *pst_sample_bad_reason(const pst_sample *sample) {
  return sample->report.bad.empty() ? "" : sample->report.bad.front().reason.c_str();
}
void pst_sample_release(pst_sample *sample) { delete sample; }
