// SPDX-License-Identifier: Apache-2.0
//
// Stages of a `|>` chain.
#pragma once

#include "dsl/AST/Node.h"

namespace penstock::dsl {

enum class Target { Cpu, Gpu, Auto };

/// `on gpu`.
struct Place {
  SourceRange range;
  Target target = Target::Auto;
};

enum class StageKind { Call, Group, Choose, Repeat };

/// One step after `|>`; it takes the value so far and gives the next one.
struct Stage {
  const StageKind kind;
  SourceRange range; ///< with the trailing `if` and `on`
  ExprPtr condition; ///< of a trailing `if`; null: always
  std::optional<Place> place;

  virtual ~Stage() = default;
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;

  template <typename T> const T *as() const {
    return kind == T::Kind ? static_cast<const T *>(this) : nullptr;
  }
  template <typename T> const T &cast() const {
    assert(kind == T::Kind);
    return static_cast<const T &>(*this);
  }

protected:
  explicit Stage(StageKind kind) : kind(kind) {}
};
using Chain = std::vector<std::unique_ptr<Stage>>; ///< at least one stage

template <StageKind K> struct StageOf : Stage {
  static constexpr StageKind Kind = K;
  StageOf() : Stage(K) {}
};

/// `flip(w)`, `grayscale`, `u8.clamp`: the value goes before the arguments.
struct CallStage : StageOf<StageKind::Call> {
  std::vector<Name> path;      ///< one name, or several joined by dots
  std::optional<ArgList> args; ///< none: no parentheses were written
};

/// `{ a |> b }`.
struct GroupStage : StageOf<StageKind::Group> {
  Chain chain;
};

/// `choose { 2 => a |> b, 1 => c }`.
struct ChooseStage : StageOf<StageKind::Choose> {
  struct Arm {
    SourceRange range;
    ExprPtr weight;
    Chain chain;
  };
  std::vector<Arm> arms;
};

/// `repeat(n) { chain }`.
struct RepeatStage : StageOf<StageKind::Repeat> {
  ExprPtr count;
  Chain chain;
};

} // namespace penstock::dsl
