// SPDX-License-Identifier: Apache-2.0
//
// Collects the messages of one run; see Render.h for how they look.
#pragma once

#include "dsl/Diagnostics/Source.h"

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace penstock::dsl {

enum class Severity { Error, Warning };

/// Evidence for a message, at its own place.
struct Note {
  SourceRange range;
  std::string message;
};

/// One message to the user. Texts are lower case, without a final period, with
/// the user's own words in backquotes.
struct Diagnostic {
  Severity severity = Severity::Error;
  SourceRange range;
  std::string message;
  std::vector<Note> notes;
  std::string hint; ///< empty: none
};

/// The messages of one run, over all files. Not for use from several threads.
///
///     diags.error(range, "unknown name `" + name + "`")
///         .note(declared, "did not see it here")
///         .hint("`" + best + "`");
class Diagnostics {
public:
  /// Adds to the message just reported. Do not keep it past the next report.
  class Report {
  public:
    Report &note(SourceRange range, std::string message);
    /// Sets the hint of a message; a second one replaces the first.
    Report &hint(std::string text);

  private:
    friend class Diagnostics;
    explicit Report(Diagnostic &diagnostic) : diagnostic(&diagnostic) {}
    Diagnostic *diagnostic;
  };

  Report error(SourceRange range, std::string message);
  Report warning(SourceRange range, std::string message);

  /// Takes back what came after the first `count` messages: it was about a trial.
  void forget(size_t count);

  bool hasErrors() const { return errorCount != 0; }
  bool empty() const { return all.empty(); }
  size_t count() const { return all.size(); }

  /// Every message, sorted by file and place; of messages with the same place
  /// and text (a generic function elaborated twice) only the first is kept.
  std::vector<Diagnostic> sorted() const;

private:
  std::deque<Diagnostic> all; // references survive push_back
  size_t errorCount = 0;
};

} // namespace penstock::dsl
