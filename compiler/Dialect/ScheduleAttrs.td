// SPDX-License-Identifier: Apache-2.0
//
// How kernels become loops, as attributes ---*- tablegen.
#ifndef PENSTOCK_SCHEDULE_ATTRS_TD
#define PENSTOCK_SCHEDULE_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Schedule_Dialect : Dialect {
  let name = "schedule";
  let cppNamespace = "::penstock::pipe";
  let summary = "How a kernel becomes loops on a CPU";
  let description = [{
    Attributes of the ops in a `pipe.kernel` from the stage `schedule` on. `compiler/Schedules`
    writes them, verifiers check them, `compiler/Conversion` obeys. None of them changes a result.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Schedule_TailEnum : I32EnumAttr<"Tail", "how rows end that are no whole number of vectors", [
    I32EnumAttrCase<"overlap", 0>, I32EnumAttrCase<"single", 1>, I32EnumAttrCase<"narrow", 2>]> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}

def Schedule_LoopsAttr : AttrDef<Schedule_Dialect, "Loops"> {
  let mnemonic = "loops";
  let summary = "The loops that compute and store a tensor";
  let description = [{
    Axes are gone through from the outermost inwards, with `lanes` elements along the axis `along`
    at once, and those of the axis `unroll` side by side. An axis that is shorter than a vector takes half as many lanes, and
    half of these, until they fit.

    With `across`, what is computed goes in squares: as many indices of both axes as a register has elements are computed with
    lanes along `across`, along which inputs lie, transposed in registers and stored along `along`. Where there are fewer, it goes as without.

    Some things differ from sample to sample and not from element to element. The loops are written
    for each combination of the arms of choices, for as many as `arms` at most. `versions` names what else they are
    written twice for, where it is met below the tensor: "bounded", numbers of the sample that are no
    larger than 65,536, of which no NaN comes; "strides", a distance between lanes of 1 or -1 (flips), or
    that of a dense input whose outermost axis they go along; "rows", rows that a pad makes up.

    `tail` says how rows end: with a last vector that overlaps the one before it ("overlap"), element by
    element ("single"), or with a vector of half as many lanes, or half of these, as long as they hold the rest
    ("narrow"; "overlap" where nobody knows how long a row is).

    Constraints:

    - (C1) `lanes` is a power of two up to 64.
    - (C2) `arms` is 1 to 16.
    - (C3) `versions` are "bounded", "strides" and "rows", each at most once.
    - (C4) `along`, `unroll` and `across` are different axes, and with `lanes` stands `along`; `across` stands with lanes, and not with `unroll`.

    Example: `#schedule.loops<along = "w", lanes = 32, unroll = "c", arms = 2, versions = ["rows"], tail = overlap>`
  }];
  let parameters = (ins
    OptionalParameter<"::mlir::StringAttr">:$along,
    DefaultValuedParameter<"int64_t", "1">:$lanes,
    OptionalParameter<"::mlir::StringAttr">:$unroll,
    OptionalParameter<"::mlir::StringAttr">:$across,
    DefaultValuedParameter<"int64_t", "1">:$arms,
    OptionalParameter<"::mlir::ArrayAttr">:$versions,
    EnumParameter<Schedule_TailEnum>:$tail);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether `versions` names it.
    bool hasVersion(llvm::StringRef name) const;
  }];
}

def Schedule_WayEnum : I32EnumAttr<"Way", "how a reduction goes through results and elements", [
    I32EnumAttrCase<"across", 0>, I32EnumAttrCase<"rows", 1>, I32EnumAttrCase<"lanes", 2>,
    I32EnumAttrCase<"single", 3>]> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}

def Schedule_ReductionSumsEnum : I32EnumAttr<"ReductionSums", "where the partial sums of a reduction live", [
    I32EnumAttrCase<"registers", 0>, I32EnumAttrCase<"memory", 1>]> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}
def Schedule_ReductionSums : EnumParameter<Schedule_ReductionSumsEnum> {
  let defaultValue = "ReductionSums::registers";
}

def Schedule_ReductionAttr : AttrDef<Schedule_Dialect, "Reduction"> {
  let mnemonic = "reduction";
  let summary = "How a reduction goes through its results and their elements";
  let description = [{
    There are four ways:

    - "across": each lane makes a result of its own. `lanes` neighbours along `along`, an axis of the result, are made
      at once, and those of its axis `unroll` side by side.
    - "rows": the last `run` axes of the result are a row in memory, and so are the elements that are read for it. What
      the row has so far lives in memory, `lanes` results of it are taken on at a time, by `beside` rows of elements.
    - "lanes": `lanes` neighbours along the last reduced axis are taken in at once, and what the lanes have meets at the
      end. `beside` results along the last axis that stays are made at once; or, if elements are channels in a last
      axis that stays, those of all channels, which `unroll` then names.
    - "single": one result after the other, and one element after the other.

    The last `run` reduced axes are gone through as one, in the ways "lanes" and "single"; with `unroll`, the last one and
    the channels. Where they are not one run of elements wherever they are read, that is an error of the lowering.

    Rows that are `period` apart read the same elements of a table, as filters of a resampling do: `sharing` of them are
    made at once then, and `beside` neighbours of what is left.

    Where it is `unrolled`, each element of a result has code of its own, in no loop. With `pieces`, several results are
    made of the elements of one vector, where the last reduced axis lies inside of `along` in memory, as columns of
    tiles do.

    A sum of floats has 32 partial sums. In the ways "across" and "lanes" they live in "registers", or with `sums` in
    "memory", where nobody knows to which of them an element goes; in "rows", and "single" that is not unrolled, they live in memory.

    Sums of i64 and counts are taken in 32 bits, `small` elements in each lane at a time, and then added to what there
    is, and all lanes of a result that takes no more; 0: each element is added in 64 bits. That so many fit is an error of the lowering where their ranges do not say so.

    What is `joined` goes by the loops of the reduction before it, as far as those go through the same indices: what both
    read is read once.

    Constraints:

    - (C1) `lanes` is a power of two up to 128, `beside` one up to 16, `run` at least 1, and `small` 0 to 2,147,483,647.
    - (C2) `along` stands with the way "across", and with no other.
    - (C3) `unroll` stands with "across" or "lanes", `unrolled` and `pieces` with "across" or "single"; `beside` is 1 with
      other ways than "rows" and "lanes", `run` with "across", and `lanes` with "single".
    - (C4) `period` and `sharing` are 1, or stand together with the way "lanes" and results beside, 2 or more, and `sharing` is a
      power of two up to 16.
    - (C5) `small` stands with "lanes", and `sums = memory` with that or "across"; neither does where it is `unrolled`.

    Example: `#schedule.reduction<way = across, along = "w", lanes = 16, unroll = "c", unrolled = true>`
  }];
  let parameters = (ins
    EnumParameter<Schedule_WayEnum>:$way,
    OptionalParameter<"::mlir::StringAttr">:$along,
    DefaultValuedParameter<"int64_t", "1">:$lanes,
    OptionalParameter<"::mlir::StringAttr">:$unroll,
    DefaultValuedParameter<"int64_t", "1">:$run,
    DefaultValuedParameter<"int64_t", "1">:$beside,
    DefaultValuedParameter<"bool", "false">:$unrolled,
    DefaultValuedParameter<"bool", "false">:$pieces,
    DefaultValuedParameter<"int64_t", "1">:$period,
    DefaultValuedParameter<"int64_t", "1">:$sharing,
    Schedule_ReductionSums:$sums,
    DefaultValuedParameter<"int64_t", "0">:$small,
    DefaultValuedParameter<"bool", "false">:$joined);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same but for where partial sums live.
    ReductionAttr withSums(ReductionSums sums) const;
    /// The same but for how many elements are added in 32 bits.
    ReductionAttr withSmall(int64_t small) const;
    /// The same but for whether it goes by the loops of the one before.
    ReductionAttr withJoined(bool joined) const;
  }];
  let builders = [AttrBuilder<(ins "Way":$way, "::mlir::StringAttr":$along, "int64_t":$lanes,
                                   "::mlir::StringAttr":$unroll, "int64_t":$run, "int64_t":$beside,
                                   "bool":$unrolled, "bool":$pieces, "int64_t":$period,
                                   "int64_t":$sharing), [{
    return $_get($_ctxt, way, along, lanes, unroll, run, beside, unrolled, pieces, period, sharing,
                 ReductionSums::registers, 0, false);
  }]>];
}

def Schedule_ScanWayEnum : I32EnumAttr<"ScanWay", "how a scan goes through rows and their elements", [
    I32EnumAttrCase<"across", 0>, I32EnumAttrCase<"transposed", 1>, I32EnumAttrCase<"single", 2>]> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}

def Schedule_ScanAttr : AttrDef<Schedule_Dialect, "Scan"> {
  let mnemonic = "scan";
  let summary = "How a scan goes through rows and their elements";
  let description = [{
    A row is what lies along the scan's axis: each of its elements waits for the one before it. There are three ways:

    - "across": each lane has a row of its own, `lanes` neighbours along `along`, another axis. Where it is `unrolled`,
      each element of a row has code of its own, in no loop. With a `band`, so many neighbours are taken on by one
      element, and then by the next: what they have so far lives in memory.
    - "transposed": likewise, where elements of a row are neighbours: squares of `lanes` rows and as many elements are
      transposed in registers, and back.
    - "single": element by element, of `beside` rows at once, neighbours along the last other axis.

    Constraints:

    - (C1) `lanes` is a power of two up to 64, `beside` one up to 16.
    - (C2) `along` stands with the way "across", and with no other.
    - (C3) `unrolled` stands with "across"; `beside` is 1 with other ways than "single", and `lanes` with that.
    - (C4) `band` is 0, or a multiple of `lanes` with the way "across" that is not unrolled.

    Example: `#schedule.scan<way = across, along = "w", lanes = 16, band = 256>`
  }];
  let parameters = (ins
    EnumParameter<Schedule_ScanWayEnum>:$way,
    OptionalParameter<"::mlir::StringAttr">:$along,
    DefaultValuedParameter<"int64_t", "1">:$lanes,
    DefaultValuedParameter<"int64_t", "1">:$beside,
    DefaultValuedParameter<"bool", "false">:$unrolled,
    DefaultValuedParameter<"int64_t", "0">:$band);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Schedule_TurnsAttr : AttrDef<Schedule_Dialect, "Turns"> {
  let mnemonic = "turns";
  let summary = "Among how many tables elements are counted, or added up";
  let description = [{
    Neighbours take turns among so many `tables`, which are added up at the end: what comes to the same place need not
    wait for the one before it. Of `skip` neighbours, more than 1, that are all 0 none is added up.

    Constraints:

    - (C1) there are 1 to 8 tables.
    - (C2) `skip` is a power of two up to 64.

    Example: `#schedule.turns<tables = 4, skip = 32>`
  }];
  let parameters = (ins "int64_t":$tables, DefaultValuedParameter<"int64_t", "1">:$skip);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Schedule_ProductSumsEnum : I32EnumAttr<"ProductSums", "where the partial sums of a product live", [
    I32EnumAttrCase<"unrolled", 0>, I32EnumAttrCase<"registers", 1>, I32EnumAttrCase<"stored", 2>,
    I32EnumAttrCase<"memory", 3>]> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}

def Schedule_ContractAttr : AttrDef<Schedule_Dialect, "Contract"> {
  let mnemonic = "contract";
  let summary = "How a matrix product goes through its results";
  let description = [{
    `lanes` are results along the axis `along`; `beside` of them along `unroll`, another one, are made together and share
    what they read. Partial sums are

    - "unrolled": code is written for each product, in no loop.
    - "registers": as many partial sums at a time are carried as there are registers for.
    - "stored": one partial sum of each result at a time is carried, and stored; they meet when all have been made.
    - "memory": they are read and written for each product, however many there are.

    With `bands` it is looked when running whether the matrix is 0 but for a run of rows in each column, and these alone
    are gone through then, with lanes along `unroll`, so many of whose rows are transposed at a time for that.

    Constraints:

    - (C1) `lanes` is a power of two up to 64, `beside` one up to 16, and `bands` 0 or one up to 64.
    - (C2) `along` and `unroll` are different axes, and with more lanes, or results beside, than one these stand.

    Example: `#schedule.contract<along = "mel", lanes = 16, unroll = "t", beside = 4, sums = stored, bands = 8>`
  }];
  let parameters = (ins
    OptionalParameter<"::mlir::StringAttr">:$along,
    DefaultValuedParameter<"int64_t", "1">:$lanes,
    OptionalParameter<"::mlir::StringAttr">:$unroll,
    DefaultValuedParameter<"int64_t", "1">:$beside,
    EnumParameter<Schedule_ProductSumsEnum>:$sums,
    DefaultValuedParameter<"int64_t", "0">:$bands);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Schedule_WeightsAttr : AttrDef<Schedule_Dialect, "Weights"> {
  let mnemonic = "weights";
  let summary = "Outputs of a resampling whose weights are made at once";
  let description = [{
    The weights of `lanes` outputs that follow each other are made at once, tap by tap.

    Constraints:

    - (C1) `lanes` is a power of two up to 64.

    Example: `#schedule.weights<lanes = 4>`
  }];
  let parameters = (ins "int64_t":$lanes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Schedule_FftAttr : AttrDef<Schedule_Dialect, "Fft"> {
  let mnemonic = "fft";
  let summary = "How Fourier transforms go through their values";
  let description = [{
    With `along`, each lane has a transform of its own: `lanes` neighbours along that axis are made at once. Squares of so
    many elements are transposed in registers on the way in, but with `across`, which reads neighbours along `along` as
    they lie, and on the way out, but where `along` stands behind the transform's axis. Where only the sample tells how many there are, the
    few that are left over go as without.

    Without `along`, one transform is made after the other, and `lanes` are neighbours of one stage; a stage that has no
    whole number of those goes element by element.

    Constraints:

    - (C1) `lanes` is a power of two up to 64, of 2 at least with `along`.
    - (C2) `across` stands with `along`.

    Example: `#schedule.fft<along = "t", lanes = 8>`
  }];
  let parameters = (ins
    OptionalParameter<"::mlir::StringAttr">:$along,
    DefaultValuedParameter<"int64_t", "1">:$lanes,
    DefaultValuedParameter<"bool", "false">:$across);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Schedule_SortWayEnum : I32EnumAttr<"SortWay", "how rows are sorted", [
    I32EnumAttrCase<"across", 0>, I32EnumAttrCase<"transposed", 1>, I32EnumAttrCase<"merged", 2>,
    I32EnumAttrCase<"digits", 3>]> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}

def Schedule_SortAttr : AttrDef<Schedule_Dialect, "Sort"> {
  let mnemonic = "sort";
  let summary = "How rows are sorted";
  let description = [{
    A row is what lies along the axis that is sorted. There are four ways:

    - "across": each lane has a row of its own, `lanes` neighbours along `along`, another axis. A network of
      comparisons, the same for all, puts them in order.
    - "transposed": likewise, where elements of a row are neighbours: squares of `lanes` rows and as many elements are
      transposed in registers, and back.
    - "merged": row by row, runs that are in order become longer ones.
    - "digits": row by row, elements are put in the order of one byte of their keys after the other.

    Constraints:

    - (C1) `lanes` is a power of two up to 64, of 2 at least with the ways "across" and "transposed", and 1 with "merged" and "digits".
    - (C2) `along` stands with the ways "across" and "transposed", and not with the others.

    Example: `#schedule.sort<way = across, along = "t", lanes = 8>`
  }];
  let parameters = (ins
    EnumParameter<Schedule_SortWayEnum>:$way,
    OptionalParameter<"::mlir::StringAttr">:$along,
    DefaultValuedParameter<"int64_t", "1">:$lanes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

#endif
