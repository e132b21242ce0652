// SPDX-License-Identifier: Apache-2.0
//
// Functions, nests and statements.
#include "codegen/cuda/KernelText.h"
#include "codegen/cuda/Finite.h"
#include "compiler/Dialect/UserPlaces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;
using namespace penstock::conversion;

/// Longer expressions get a variable of their own.
static constexpr size_t longestInline = 60;
static constexpr size_t longestLine = 110;

static bool isMemory(Type type) { return llvm::isa<MemRefType>(type); }
static Type elementOf(Value memory) {
  return llvm::cast<MemRefType>(memory.getType()).getElementType();
}

//===--- names -------------------------------------------------------------===//

std::string KernelText::fresh(StringRef stem) {
  std::string name = stem.str();
  for (int number = 2; !taken.insert(name).second; ++number)
    name = stem.str() + "_" + std::to_string(number);
  return name;
}

/// Axes have any name of the language; some are words of C++.
std::string KernelText::axisName(StringRef axis) {
  static constexpr StringRef words[] = {
      "and",     "asm",     "auto",     "bool",     "break",   "case",    "char",     "class",
      "const",   "default", "delete",   "do",       "double",  "else",    "enum",     "extern",
      "false",   "float",   "for",      "friend",   "goto",    "if",      "inline",   "int",
      "long",    "new",     "not",      "operator", "or",      "private", "public",   "register",
      "return",  "short",   "signed",   "sizeof",   "static",  "struct",  "switch",   "template",
      "this",    "throw",   "true",     "try",      "typedef", "union",   "unsigned", "using",
      "virtual", "void",    "volatile", "while",    "xor",     "u8",      "i8",       "u16",
      "i16",     "u32",     "i32",      "u64",      "i64",     "f16",     "bf16",     "f32",
      "f64",     "end",     "at"};
  return llvm::is_contained(words, axis) ? axis.str() + "_" : axis.str();
}

/// `train.pipe:7 resize, 8 flip`.
void KernelText::place(Location location) {
  std::string text, file, entry;
  for (FileLineColLoc user : pipe::userPlacesOf(location)) {
    const std::string before = std::exchange(entry, std::to_string(user.getLine()));
    if (const std::string word = options.wordAt ? options.wordAt(user) : std::string();
        !word.empty())
      entry += " " + word;
    const StringRef name = user.getFilename().getValue();
    if (file == name && entry == before)
      continue;
    text += text.empty() ? "" : ", ";
    if (file != name)
      text += name.substr(name.rfind('/') + 1).str() + ":";
    text += entry;
    file = name.str();
  }
  if (text.empty() || text == lastPlace)
    return;
  lastPlace = text;
  line() << "// " << text << "\n";
}

//===--- the function ------------------------------------------------------===//

/// The type of the field of the sample's record that an argument comes from; all have 8 bytes.
std::string KernelText::fieldType(BlockArgument argument, const KernelArgument &from) {
  if (from.source == ArgumentSource::scratch)
    return "i8 *";
  if (from.source != ArgumentSource::data)
    return llvm::isa<FloatType>(argument.getType()) ? "f64 " : "i64 ";
  const bool isInput = *from.number < inputs;
  return (isInput ? "const " : "") + memoryType(elementOf(argument)) + " *";
}

void KernelText::argument(BlockArgument argument, const KernelArgument &from) {
  const StringRef stem = from.name;
  const std::string name = fresh(stem), field = "sample." + stem.str();
  texts[argument] = {name, bindAll};
  if (from.source != ArgumentSource::scalar) {
    const std::string type = fieldType(argument, from);
    line() << (type == "i64 " ? "const i64 " + name + " = " + field
                              : type + name + " = pst_global(" + field + ")")
           << ";\n";
    return;
  }
  Type type = argument.getType();
  line() << "const " << registerType(type) << " " << name << " = ";
  if (type.isF16() || type.isBF16())
    os << (type.isF16() ? "pst_to_half(" : "pst_to_brain(") << field << ");\n";
  else if (type.isInteger(1))
    os << field << " != 0;\n";
  else
    os << (type.isSignlessInteger(64) || type.isF64() ? "" : "(" + registerType(type) + ")")
       << field << ";\n";
}

LogicalResult KernelText::print(func::FuncOp function, bool isKernel, bool isBody) {
  const auto arguments = argumentsOf(function);
  const DeviceLaunch launch = *launchOf(function);
  inputs = *launch.inputs;
  threads = launch.threads;
  isFirstBlock = isBody && launch.isOneBlock();
  const std::string name = cudaKernelName(options, function.getSymName());
  os << "\nstruct " << name << "_sample {\n";
  line() << "i64 entry; // of status\n";
  for (auto [argument, from] : llvm::zip(function.getArguments(), arguments))
    line() << fieldType(argument, from) << from.name.getValue() << ";\n";
  os << "};\n\n";
  for (const char *word : {"samples", "status", "sample", "record"})
    taken.insert(word);
  os << "// "
     << (launch.isOneBlock() ? "One block"
         : launch.blocks     ? "Up to " + std::to_string(*launch.blocks) + " blocks"
                             : "Any number of blocks")
     << " of " << launch.threads << " threads for each sample";
  if (launch.shared)
    os << ", with " << *launch.shared << " bytes of shared memory";
  os << ".\n";
  const std::string bounds =
      std::to_string(launch.threads) +
      (launch.resident ? ", pst_resident(" + std::to_string(*launch.resident) + ", " +
                             std::to_string(launch.shared.value_or(0)) + ")"
                       : std::string());
  const std::string kernel = "PST_KERNEL __launch_bounds__(" + bounds + ") " + name + "(const " +
                             name + "_sample *samples, pst_sample_status *status) {\n";
  if (isBody) {
    os << "PST_BODY " << name << "_body(const void *record, pst_sample_status *status) {\n";
    line() << "const " << name << "_sample &sample = pst_record<" << name << "_sample>(record);\n";
  } else {
    os << kernel;
    line() << "const " << name << "_sample &sample = samples[blockIdx.y];\n";
    line() << "if (pst_left_out(status, sample.entry))\n";
    line() << "  return;\n";
  }
  for (auto [argument, from] : llvm::zip(function.getArguments(), arguments))
    this->argument(argument, from);
  if (failed(block(function.getBody().front())))
    return failure();
  os << "}\n";
  if (isBody && isKernel) {
    os << kernel;
    line() << "if (!pst_left_out(status, samples[blockIdx.y].entry))\n";
    line() << "  " << name << "_body(&samples[blockIdx.y], status);\n";
    os << "}\n";
  }
  return success();
}

//===--- statements --------------------------------------------------------===//

LogicalResult KernelText::block(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(statement(op)))
      return failure();
  return success();
}

/// Returns whether `op` only computes the size of temporaries, which the plan does.
static bool isSizeOnly(Operation &op) {
  return !op.use_empty() && llvm::all_of(op.getUses(), [](OpOperand &use) {
    return llvm::isa<memref::ViewOp>(use.getOwner()) && use.getOperandNumber() >= 2;
  });
}

/// Returns whether `op` only says where neighbours lie that are loaded or stored together with the
/// first of them.
static bool isInsideOfRuns(Operation &op) {
  auto isBehindFirst = [](Operation *user) {
    std::optional<RunAccess> run;
    if (auto load = llvm::dyn_cast<memref::LoadOp>(user))
      run = runOf(load);
    else if (auto store = llvm::dyn_cast<memref::StoreOp>(user))
      run = runOf(store);
    return run && run->place > 0;
  };
  return !op.use_empty() && op.getResult(0).getType().isIndex() &&
         llvm::all_of(op.getUsers(), isBehindFirst);
}

/// Returns whether the text of `op` may stand where its only user stands.
static bool mayMove(Operation &op) {
  if (op.hasTrait<OpTrait::ConstantLike>() || llvm::isa<arith::IndexCastOp>(op))
    return true;
  return op.hasOneUse() && op.getUsers().begin()->getBlock() == op.getBlock();
}

/// A number that is rounded to a storage type where it is stored.
static bool isRoundedByStore(Operation &op) {
  auto cast = llvm::dyn_cast<pipe::CastOp>(op);
  if (!cast || cast.getMode() == pipe::CastMode::bits || !op.hasOneUse())
    return false;
  Type type = cast.getType();
  return (type.isF16() || type.isBF16()) && llvm::isa<memref::StoreOp>(*op.user_begin()) &&
         cast.getValue().getType() != type && op.getBlock() == op.user_begin()->getBlock();
}

std::string KernelText::stored(Value value) {
  Type type = value.getType();
  if (type.isF16() || type.isBF16()) {
    const std::string bits = std::string(isFinite(value) ? "pst_finite_" : "pst_") +
                             (type.isF16() ? "half_bits(" : "brain_bits(");
    Operation *made = value.getDefiningOp();
    if (!made || !isRoundedByStore(*made))
      return bits + use(value) + ")";
    Value source = llvm::cast<pipe::CastOp>(made).getValue();
    return bits +
           (registerType(source.getType()) == "f32" ? use(source) : rounded("pst_odd", source)) +
           ")";
  }
  return llvm::isa<FloatType>(type) && !isFinite(value) ? "pst_canonical(" + use(value) + ")"
                                                        : use(value);
}

static bool isInRegisters(Value memory) {
  auto array = memory.getDefiningOp<memref::AllocaOp>();
  return array && conversion::isInRegisters(array);
}

/// The first of a run loads all of it.
void KernelText::load(memref::LoadOp op) {
  Type type = op.getType();
  const char *widen = type.isF16() ? "pst_half(" : type.isBF16() ? "pst_brain(" : "";
  if (isInRegisters(op.getMemref())) {
    texts[op.getResult()] = {widen + use(op.getMemref(), bindAll) + ".at(" +
                                 use(op.getIndices()[0]) + (*widen ? "))" : ")"),
                             bindAll};
    return;
  }
  const auto inRun = conversion::runOf(op);
  if (!inRun) {
    const std::string name = numbered();
    line() << "const " << registerType(type) << " " << name << " = " << widen
           << use(op.getMemref(), bindAll) << "[" << use(op.getIndices()[0]) << "]"
           << (*widen ? ")" : "") << ";\n";
    texts[op.getResult()] = {name, bindAll};
    return;
  }
  std::string &name = loadedRuns[inRun->number];
  if (name.empty()) {
    name = fresh("r" + std::to_string(next++));
    line() << "const pst_run<" << memoryType(type) << ", " << inRun->length << "> " << name
           << " = pst_take<" << inRun->length;
    if (inRun->alignment)
      os << ", " << inRun->alignment;
    os << ">(&" << use(op.getMemref(), bindAll) << "[" << use(op.getIndices()[0]) << "]";
    if (inRun->place)
      os << " - " << inRun->place;
    os << ");\n";
  }
  texts[op.getResult()] = {
      widen + name + ".at(" + std::to_string(inRun->place) + (*widen ? "))" : ")"), bindAll};
}

/// Bytes of one run are taken from it together.
Expression KernelText::bytes(ValueRange values) {
  std::string run, places;
  for (Value value : values) {
    auto load = value.getDefiningOp<memref::LoadOp>();
    auto inRun = load ? conversion::runOf(load) : std::nullopt;
    if (!inRun || (!run.empty() && run != loadedRuns[inRun->number]))
      return called("pst_bytes", values);
    run = loadedRuns[inRun->number];
    places += (places.empty() ? "" : ", ") + std::to_string(inRun->place);
  }
  return {"pst_bytes<" + places + ">(" + run + ")", bindAll};
}

/// The numbers, none of them NaN, that a run of an even number of halves from its first store on
/// rounds; nothing where it is another one.
static SmallVector<Value> halvesFrom(memref::StoreOp first, int64_t length) {
  SmallVector<Value> numbers;
  if (!first.getValue().getType().isF16() || length % 2 != 0)
    return {};
  for (Operation *op = first; op && static_cast<int64_t>(numbers.size()) < length;
       op = op->getNextNode()) {
    auto store = llvm::dyn_cast<memref::StoreOp>(op);
    if (!store)
      continue;
    auto made = store.getValue().getDefiningOp<pipe::CastOp>();
    if (!made || !isRoundedByStore(*made) || !isFinite(made) || !made.getValue().getType().isF32())
      return {};
    numbers.push_back(made.getValue());
  }
  return numbers;
}

/// Neighbours follow each other, and are one store.
void KernelText::store(memref::StoreOp op) {
  const auto inRun = conversion::runOf(op);
  std::string value = stored(op.getValue());
  if (isInRegisters(op.getMemref())) {
    line() << use(op.getMemref(), bindAll) << ".set(" << use(op.getIndices()[0]) << ", " << value
           << ");\n";
    return;
  }
  if (!inRun) {
    line() << use(op.getMemref(), bindAll) << "[" << use(op.getIndices()[0]) << "] = " << value
           << ";\n";
    return;
  }
  if (inRun->place == 0) {
    inPairs = !halvesFrom(op, inRun->length).empty();
    run = (inPairs ? "pst_put_finite_halves(&" : "pst_put(&") + use(op.getMemref(), bindAll) + "[" +
          use(op.getIndices()[0]) + "]";
  }
  if (inPairs)
    value = use(op.getValue().getDefiningOp<pipe::CastOp>().getValue());
  const size_t column = run.size() - (run.rfind('\n') + 1);
  run += column + value.size() > longestLine ? ",\n" + std::string(indent + 8, ' ') : ", ";
  run += value;
  if (inRun->place + 1 == inRun->length)
    line() << run << ");\n";
}

LogicalResult KernelText::statement(Operation &op) {
  if (isRoundedByStore(op) ||
      (op.getNumResults() == 1 && op.use_empty() && isMemoryEffectFree(&op)))
    return success();
  if (auto made = expression(op)) {
    Value result = op.getResult(0);
    if (isSizeOnly(op) || isInsideOfRuns(op) ||
        (mayMove(op) &&
         (made->text.size() <= longestInline || op.hasTrait<OpTrait::ConstantLike>()))) {
      texts[result] = *made;
      return success();
    }
    place(op.getLoc());
    const std::string name = numbered();
    line() << "const " << registerType(result.getType()) << " " << name << " = " << made->text
           << ";\n";
    texts[result] = {name, bindAll};
    return success();
  }
  place(op.getLoc());
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case<scf::ParallelOp>([&](auto typed) { return nest(typed); })
      .Case<scf::ForOp, scf::WhileOp>([&](auto typed) { return loop(typed); })
      .Case<scf::IfOp, scf::IndexSwitchOp>([&](auto typed) { return branch(typed); })
      .Case([&](memref::LoadOp typed) {
        load(typed);
        return success();
      })
      .Case([&](memref::StoreOp typed) {
        store(typed);
        return success();
      })
      .Case([&](memref::AtomicRMWOp typed) {
        line() << "atomicAdd(&" << use(typed.getMemref(), bindAll) << "["
               << use(typed.getIndices()[0]) << "], " << use(typed.getValue()) << ");\n";
        return success();
      })
      .Case([&](memref::ViewOp typed) {
        const std::string name = fresh("t" + std::to_string(temporaries++)),
                          type = memoryType(elementOf(typed)) + " *";
        line() << type << name << " = (" << type << ")";
        if (matchPattern(typed.getByteShift(), m_Zero()))
          os << use(typed.getSource(), bindUnary) << ";\n";
        else
          os << "(" << use(typed.getSource(), bindAdd) << " + "
             << use(typed.getByteShift(), bindMul) << ");\n";
        texts[typed.getResult()] = {name, bindAll};
        return success();
      })
      .Case([&](gpu::DynamicSharedMemoryOp typed) {
        texts[typed.getResult()] = {"pst_shared()", bindAll};
        return success();
      })
      .Case([&](memref::AllocaOp typed) {
        if (conversion::isInRegisters(typed)) {
          const std::string name = fresh("s" + std::to_string(strips++));
          line() << "pst_run<" << memoryType(elementOf(typed)) << ", "
                 << typed.getType().getDimSize(0) << "> " << name << " = {};\n";
          texts[typed.getResult()] = {name, bindAll};
          return success();
        }
        const std::string name = fresh("lanes");
        line() << memoryType(elementOf(typed)) << " " << name << "["
               << typed.getType().getDimSize(0) << "];\n";
        texts[typed.getResult()] = {name, bindAll};
        return success();
      })
      .Case([&](memref::GetGlobalOp typed) {
        texts[typed.getResult()] = {cudaKernelName(options, typed.getName()), bindAll};
        return success();
      })
      .Case([&](gpu::BarrierOp) {
        line() << "__syncthreads();\n";
        return success();
      })
      .Case([&](func::CallOp typed) {
        auto module = op.getParentOfType<ModuleOp>();
        auto callee = module.lookupSymbol<func::FuncOp>(typed.getCallee());
        const StringRef name = deviceNameOf(callee);
        if (name == "pst_fail") {
          line() << "pst_fail(status, sample.entry, " << use(typed.getOperand(0)) << ", "
                 << use(typed.getOperand(1)) << ", " << use(typed.getOperand(2)) << ");\n";
          return success();
        }
        if (typed.getNumResults() == 0 || typed.getResult(0).use_empty()) {
          line() << called(name, typed.getOperands()).text << ";\n";
          return success();
        }
        if (isWantedAsSum(typed))
          return success();
        Value result = typed.getResult(0);
        const std::string variable = numbered();
        line() << "const " << registerType(result.getType()) << " " << variable << " = "
               << (name == "pst_bytes" ? bytes(typed.getOperands())
                                       : called(name, typed.getOperands()))
                      .text
               << ";\n";
        texts[result] = {variable, bindAll};
        return success();
      })
      .Default([](Operation *other) -> LogicalResult {
        return other->emitOpError("has no text in CUDA C++");
      });
}

//===--- nests and loops ---------------------------------------------------===//

/// The product of extents, where all are known.
static std::optional<int64_t> productOf(ValueRange extents) {
  int64_t all = 1;
  for (Value extent : extents) {
    APInt number;
    if (!matchPattern(extent, m_ConstantInt(&number)) || number.getSExtValue() > INT32_MAX)
      return std::nullopt;
    all *= number.getSExtValue();
    if (all > INT32_MAX)
      return std::nullopt;
  }
  return all;
}

/// Returns the number of a worker that shares the elements of a nest, and that of all workers.
static std::pair<StringRef, StringRef> workersOf(StringRef workers, bool isFirstBlock) {
  if (workers == "block" || (workers == "threads" && isFirstBlock))
    return {"threadIdx.x", "blockDim.x"};
  if (workers == "warps" && isFirstBlock)
    return {"threadIdx.x / 32", "blockDim.x / 32"};
  if (workers == "blocks") // the first one does what all would
    return isFirstBlock ? std::pair<StringRef, StringRef>("0", "1")
                        : std::pair<StringRef, StringRef>("blockIdx.x", "gridDim.x");
  return workers == "warps" ? std::pair<StringRef, StringRef>("pst_warp()", "pst_warps()")
                            : std::pair<StringRef, StringRef>("pst_thread()", "pst_threads()");
}

/// The first of the last axes that share out the threads of a block evenly, and the places that
/// these have; one place where none does.
static std::pair<size_t, int64_t> insideOfThreads(scf::ParallelOp op, int64_t threads) {
  size_t axis = op.getUpperBound().size();
  int64_t places = 1;
  for (; axis > 1; --axis) {
    const auto extent = productOf(op.getUpperBound()[axis - 1]);
    if (!extent || *extent < 1 || threads % (places * *extent) != 0 || places * *extent > threads)
      break;
    places *= *extent;
  }
  return {axis, places};
}

/// Declares the variables of some axes, of which a place has a number, row-major.
void KernelText::divide(scf::ParallelOp op, size_t first, size_t end, StringRef number,
                        ArrayRef<std::string> axes, NumberKind kind) {
  std::string stride;
  bool isProduct = false;
  for (size_t axis = end; axis-- > first;) {
    Value extent = op.getUpperBound()[axis];
    const std::string size =
        (kind.isNarrow && !productOf(extent) ? "(u32)" : "") + use(extent, bindUnary);
    const bool isRest = axis == first && kind.isBelow;
    os.indent(indent + 2) << "const i64 " << axes[axis] << " = " << number
                          << (stride.empty() ? "" : " / " + stride) << (isRest ? "" : " % " + size)
                          << ";\n";
    const auto factor = productOf(extent);
    if (stride.empty()) {
      stride = size;
    } else if (factor && StringRef(stride).find_first_not_of("0123456789") == StringRef::npos) {
      stride = std::to_string(std::stoll(stride) * *factor);
    } else {
      stride =
          (isProduct ? stride.substr(0, stride.size() - 1) : "(" + stride) + " * " + size + ")";
      isProduct = true;
    }
  }
}

/// The elements of a domain are numbered row-major and distributed over the threads by a
/// grid-stride loop. Divisions of 64 bits are slow: numbers have 32 where all fit; of the last axes
/// a thread of a block has one place where they divide its threads.
LogicalResult KernelText::nest(scf::ParallelOp op) {
  const ThreadNest note = nestOf(op);
  const auto [worker, workers] = workersOf(note.workers, isFirstBlock);
  const bool isBlock = worker.starts_with("threadIdx.x");
  const auto count = productOf(op.getUpperBound());
  const bool isNarrow = count || note.isNarrow;
  const std::string type = isNarrow ? "u32" : "i64", narrowed = isNarrow && !isBlock ? "(u32)" : "";
  SmallVector<std::string> axes, scope;
  for (auto [name, variable] : llvm::zip(note.axes, op.getInductionVars())) {
    axes.push_back(fresh(axisName(name)));
    texts[variable] = {axes.back(), bindAll};
  }
  if (axes.size() == 1) {
    line() << "for (i64 " << axes[0] << " = " << worker << "; " << axes[0] << " < "
           << use(op.getUpperBound()[0], bindAdd) << "; " << axes[0] << " += " << workers
           << ") {\n";
  } else if (const auto [inner, places] = insideOfThreads(op, isBlock && isNarrow ? threads : 0);
             places > 1) {
    const std::string at = fresh("at");
    scope = {at};
    line() << "for (u32 " << at << " = threadIdx.x / " << places << "; " << at << " < ";
    for (size_t axis = 0; axis < inner; ++axis)
      os << (axis ? " * " : "(u32)") << use(op.getUpperBound()[axis], bindUnary);
    os << "; " << at << " += " << threads / places << ") {\n";
    divide(op, inner, axes.size(), "threadIdx.x", axes, {true, false});
    divide(op, 0, inner, at, axes, {true, true});
  } else {
    const std::string at = fresh("at"), end = fresh("end");
    scope = {at, end};
    line() << "for (" << type << " " << at << " = " << narrowed << worker << ", " << end << " = ";
    for (auto [axis, extent] : llvm::enumerate(op.getUpperBound()))
      os << (axis ? " * " : isNarrow ? "(u32)" : "(i64)") << use(extent, bindUnary);
    os << "; " << at << " < " << end << "; " << at << " += " << narrowed << workers << ") {\n";
    divide(op, 0, axes.size(), at, axes, {isNarrow, true});
  }
  indent += 2;
  if (failed(block(*op.getBody())))
    return failure();
  indent -= 2;
  line() << "}\n";
  scope.append(axes);
  for (const std::string &name : scope)
    taken.erase(name);
  return success();
}

void KernelText::declare(ValueRange values, ValueRange inits, StringRef stem) {
  for (auto [i, value] : llvm::enumerate(values)) {
    Type type = value.getType();
    const std::string name = stem.empty() ? numbered() : fresh(stem);
    line() << (isMemory(type) ? memoryType(elementOf(value)) + " *" : registerType(type) + " ")
           << name;
    if (!inits.empty())
      os << " = " << use(inits[i]);
    os << ";\n";
    texts[value] = {name, bindAll};
  }
}

/// Returns whether a name stands in an expression.
static bool names(StringRef text, StringRef name) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(name); at != StringRef::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !isPart(text[at - 1])) && (end == text.size() || !isPart(text[end])))
      return true;
  }
  return false;
}

/// All at once: what a later one reads of an earlier variable is kept before.
void KernelText::assign(ValueRange to, ValueRange from) {
  SmallVector<std::string> targets, values;
  for (auto [target, value] : llvm::zip(to, from)) {
    targets.push_back(texts[target].text);
    values.push_back(use(value));
  }
  for (auto [number, value] : llvm::enumerate(from)) {
    const bool isLate = llvm::any_of(llvm::seq<size_t>(0, number), [&](size_t before) {
      return targets[before] != values[before] && names(values[number], targets[before]);
    });
    if (!isLate)
      continue;
    const std::string kept = fresh("next" + std::to_string(next++));
    line() << (isMemory(value.getType()) ? memoryType(elementOf(value)) + " *"
                                         : "const " + registerType(value.getType()) + " ")
           << kept << " = " << values[number] << ";\n";
    values[number] = kept;
  }
  for (auto [target, value] : llvm::zip(targets, values))
    if (target != value)
      line() << target << " = " << value << ";\n";
}

LogicalResult KernelText::loop(scf::ForOp op) {
  declare(op.getResults(), op.getInitArgs(), "");
  for (auto [result, carried] : llvm::zip(op.getResults(), op.getRegionIterArgs())) {
    Expression variable = texts[result];
    texts[carried] = variable;
  }
  const std::string name = fresh("k");
  texts[op.getInductionVar()] = {name, bindAll};
  APInt step;
  const bool byOne = matchPattern(op.getStep(), m_ConstantInt(&step)) && step == 1;
  if (auto turns = unrolledBy(op))
    os << "#pragma unroll" << (*turns ? " " + std::to_string(*turns) : "") << "\n";
  line() << "for (i64 " << name << " = " << use(op.getLowerBound()) << "; " << name << " < "
         << use(op.getUpperBound(), bindAdd) << "; "
         << (byOne ? "++" + name : name + " += " + use(op.getStep())) << ") {\n";
  indent += 2;
  if (failed(block(*op.getBody())))
    return failure();
  assign(op.getResults(), op.getBody()->getTerminator()->getOperands());
  indent -= 2;
  line() << "}\n";
  taken.erase(name);
  return success();
}

LogicalResult KernelText::loop(scf::WhileOp op) {
  declare(op.getBeforeArguments(), op.getInits(), "");
  line() << "while (true) {\n";
  indent += 2;
  if (failed(block(*op.getBeforeBody())))
    return failure();
  auto condition = op.getConditionOp();
  line() << "if (!" << use(condition.getCondition(), bindAll) << ")\n";
  os.indent(indent + 2) << "break;\n";
  for (auto [result, after, value, before] : llvm::zip(
           op.getResults(), op.getAfterArguments(), condition.getArgs(), op.getBeforeArguments())) {
    if (value != before)
      return op.emitOpError("with values of its own has no text in CUDA C++");
    Expression variable = texts[before];
    texts[after] = variable;
    texts[result] = variable;
  }
  if (failed(block(*op.getAfterBody())))
    return failure();
  assign(op.getBeforeArguments(), op.getYieldOp().getOperands());
  indent -= 2;
  line() << "}\n";
  return success();
}

//===--- branches ----------------------------------------------------------===//

LogicalResult KernelText::arm(Block &body, ResultRange results) {
  indent += 2;
  if (failed(block(body)))
    return failure();
  assign(results, body.getTerminator()->getOperands());
  indent -= 2;
  return success();
}

LogicalResult KernelText::branch(scf::IfOp op) {
  declare(op.getResults(), {}, "");
  line() << "if (" << use(op.getCondition()) << ") {\n";
  if (failed(arm(*op.thenBlock(), op.getResults())))
    return failure();
  if (op.elseBlock() &&
      !(op.getResults().empty() && op.elseBlock()->without_terminator().empty())) {
    line() << "} else {\n";
    if (failed(arm(*op.elseBlock(), op.getResults())))
      return failure();
  }
  line() << "}\n";
  return success();
}

LogicalResult KernelText::branch(scf::IndexSwitchOp op) {
  declare(op.getResults(), {}, "");
  line() << "switch (" << use(op.getArg()) << ") {\n";
  for (auto [number, region] : llvm::zip(op.getCases(), op.getCaseRegions())) {
    line() << "case " << number << ": {\n";
    if (failed(arm(region.front(), op.getResults())))
      return failure();
    os.indent(indent + 2) << "break;\n";
    line() << "}\n";
  }
  line() << "default: {\n";
  if (failed(arm(op.getDefaultRegion().front(), op.getResults())))
    return failure();
  line() << "}\n";
  line() << "}\n";
  return success();
}
