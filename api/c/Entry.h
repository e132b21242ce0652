// SPDX-License-Identifier: Apache-2.0
//
// What every function of penstock.h that does work goes through.
#pragma once

#include "api/c/Program.h"
#include "api/c/Session.h"
#include "api/c/Text.h"
#include "runtime/core/Memory.h"
#include "runtime/sched/Workers.h"
#include <exception>
#include <new>

namespace penstock::api {

/// What a function says that found no memory for the handle of its messages.
inline constexpr char noHandle[] = "penstock: error: no memory for a handle\n";

/// Does `work`; what is thrown ends here, and `fail` makes of the error what the function returns.
template <typename Work, typename Fail>
auto catching(const Work &work, const Fail &fail) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return fail(runtime::noMemory("for what was asked for"));
  } catch (const std::exception &thrown) {
    return fail(runtime::Error{runtime::Code::Exhausted, thrown.what()});
  }
}

/// As catching(), in the default floating-point mode, whatever the caller's is, which it has again
/// afterwards. What the caller's own functions call needs no mode: they run in this one.
template <typename Work, typename Fail>
auto enter(const Work &work, const Fail &fail) -> decltype(work()) {
  const runtime::FloatMode mode;
  return catching(work, fail);
}

/// `work` gets a new program, which `*out` then holds whatever becomes of it.
template <typename Work> pst_status makeProgram(pst_program **out, const Work &work) {
  *out = nullptr;
  return enter([&] { return work(*(*out = new pst_program)); },
               [&](const runtime::Error &why) {
                 if (!*out)
                   return PST_ERROR;
                 (*out)->transfers.clear();
                 return failWith(**out, why.message);
               });
}

/// As makeProgram(), of a text.
template <typename Work> pst_status makeText(pst_text **out, const Work &work) {
  *out = nullptr;
  return enter([&] { return work(*(*out = new pst_text)); },
               [&](const runtime::Error &why) { return *out ? failWith(**out, why) : PST_ERROR; });
}

/// `work` for a program that there is.
template <typename Work> pst_status useProgram(pst_program &program, const Work &work) {
  return enter(work, [&](const runtime::Error &why) { return failWith(program, why.message); });
}

/// `work` gets what runs behind the handle; an error where nothing does.
template <typename Work> pst_status useSession(pst_session &session, const Work &work) {
  return enter(
      [&] {
        runtime::Session *inner = session.get();
        return inner ? work(*inner) : PST_ERROR;
      },
      [&](const runtime::Error &why) { return session.fail(why); });
}

} // namespace penstock::api
