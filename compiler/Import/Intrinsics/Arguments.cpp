// SPDX-License-Identifier: Apache-2.0
//
// Arguments of intrinsics.
#include "compiler/Import/Intrinsics/Intrinsics.h"
#include "dsl/Diagnostics/Nearest.h"
#include "llvm/ADT/StringSwitch.h"

using namespace penstock::importer;

std::vector<Argument> Intrinsics::ordered(const std::string &function,
                                          const std::vector<Argument> &args,
                                          llvm::ArrayRef<llvm::StringRef> names, size_t required,
                                          dsl::SourceRange range) {
  std::vector<Argument> result(names.size());
  size_t position = 0;
  for (const Argument &arg : args) {
    size_t at = position;
    if (!arg.name.empty())
      at = static_cast<size_t>(std::find(names.begin(), names.end(), arg.name) - names.begin());
    else
      ++position;
    if (at >= names.size() && !arg.name.empty()) {
      std::vector<std::string> known;
      for (llvm::StringRef name : names)
        known.push_back(name.str());
      std::string near = dsl::nearest(arg.name, known);
      fail(arg.range, quote(function) + " has no parameter " + quote(arg.name),
           function == "sort" && llvm::is_contained({"descending", "reverse"}, arg.name)
               ? "`reverse(sort(x, w), w)` begins with the greatest"
           : near.empty() ? ""
                          : quote(near));
    }
    if (at >= names.size())
      fail(arg.range, quote(function) + " takes " + std::to_string(names.size()) +
                          " arguments and gets " + std::to_string(args.size()));
    result[at] = arg;
  }
  for (size_t i = 0; i < required; ++i)
    if (result[i].value.is(Kind::Poison))
      fail(range, quote(function) + " lacks its argument " + quote(names[i].str()));
  return result;
}

std::string Intrinsics::demandAxis(const Argument &arg, const Val *of,
                                   const std::string &function) {
  std::string axis;
  if (const auto *spelled = arg.expr ? arg.expr->as<dsl::NameExpr>() : nullptr)
    axis = axisNamed(spelled->name);
  else if (arg.value.is(Kind::Word))
    axis = arg.value.word;
  else
    fail(arg.range,
         quote(function) + " takes the name of an axis here, and this is " + show(arg.value));
  if (of && !find(dims(of->ir), axis))
    failAxis(arg.range, quote(function), axis, *of, arg.range);
  return axis;
}

/// What other libraries call a border.
static std::string ourWord(const std::string &theirs) {
  return llvm::StringSwitch<std::string>(theirs)
      .Case("mirror", "reflect")
      .Cases("replicate", "nearest", "edge")
      .Cases("circular", "periodic", "wrap")
      .Cases("zero", "zeros", "constant")
      .Default("");
}

std::string Intrinsics::demandWord(const Argument &arg, llvm::ArrayRef<llvm::StringRef> words) {
  std::vector<std::string> known;
  std::string all;
  for (llvm::StringRef word : words) {
    known.push_back(word.str());
    all += (all.empty() ? "" : " ") + word.str();
  }
  if (!arg.value.is(Kind::Word))
    fail(arg.range, "this is one of the words " + all + ", not " + show(arg.value));
  if (llvm::is_contained(words, llvm::StringRef(arg.value.word)))
    return arg.value.word;
  std::string near = ourWord(arg.value.word);
  if (!llvm::is_contained(words, llvm::StringRef(near)))
    near = dsl::nearest(arg.value.word, known);
  const std::vector<dsl::SourceRange> given =
      arg.expr ? userPlaces(*arg.expr) : std::vector<dsl::SourceRange>();
  fail(given.empty() ? arg.range : given.back(), "there is no " + quote(arg.value.word) + " here",
       near.empty() ? "the choices are " + all : quote(near));
}

const Val &Intrinsics::demandTensor(const Argument &arg, const std::string &function) {
  if (!arg.value.is(Kind::Tensor))
    fail(arg.range, quote(function) + " takes a tensor, and this is " + show(arg.value));
  return arg.value;
}

penstock::pipe::Border Intrinsics::borderNamed(const Argument &arg) {
  return *pipe::symbolizeBorder(demandWord(arg, wordsOf("border")));
}
