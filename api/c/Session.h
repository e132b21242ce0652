// SPDX-License-Identifier: Apache-2.0
//
// Implementation of pst_session.
#pragma once

#include "api/c/Process.h"
#include "api/c/Program.h"
#include "runtime/core/FileSystem.h"
#include "runtime/sched/Session.h"
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

struct pst_session {
  penstock::api::OwnProcess process;
  std::unique_ptr<penstock::runtime::FileSystem> files;
  std::unique_ptr<penstock::runtime::FileSystem>
      anywhere;                                        ///< for rows of the caller's; may be null
  std::unique_ptr<penstock::runtime::Session> session; // null after a failed open
  /// The program's, for parameters that come later.
  std::shared_ptr<const penstock::runtime::Plan> plan;
  std::vector<penstock::api::Parameter> parameters;
  std::string error;
  const std::string elsewhere = "this session belongs to process " +
                                std::to_string(process.number()) +
                                ", whose threads a forked child has not got; open a session here";
  std::string warnings;
  std::vector<std::string> classes;
  std::string rowText;
  std::string state;
  std::string stateBefore;
  std::string transfer;
  std::vector<penstock::runtime::BadSample> badSamples;
  std::vector<pst_bad_sample> badViews;
  std::vector<penstock::runtime::Statistics::Kernel> kernels;
  std::vector<pst_kernel_statistics> kernelViews;

  /// The session, or null where opening it failed, and in a forked child: there its
  /// locks may be held for ever.
  penstock::runtime::Session *get() const { return process.isThis() ? session.get() : nullptr; }

  pst_status fail(const penstock::runtime::Error &why) {
    error = penstock::runtime::withoutSecrets(why.message);
    std::replace(error.begin(), error.end(), '\0', ' '); // of a name: the caller's text ends there
    return why.code == penstock::runtime::Code::Cancelled ? PST_CANCELLED : PST_ERROR;
  }
};
