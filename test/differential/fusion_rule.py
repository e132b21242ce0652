# SPDX-License-Identifier: Apache-2.0
"""Random DAGs get the kernels and temporaries that docs/rationale/fusion.md predicts.

`predict` is that page, over a plain graph; it shares nothing with the compiler. `Draft` makes a
graph and, beside it, the same DAG as text for penstock-opt. Where page and compiler disagree, one
of them is wrong.
"""
import copy
import random
import re
import subprocess
import sys
import unittest

COUNT = 700
SMALL_REDUCTION = 32
KERNEL_CLASSES = "IPHGRWC"  # W: a tap table; C: a codec


class Node:
    """An op after the branches were taken apart. `reads` holds (node, result, direct), where direct
    says that the op reads element by element, not at computed places."""

    def __init__(self, kind, reads=(), guard=None, in_batch=False, results=1,
                 choice=False, small_map=False, view=False, resample=False, wide=False, differs=False, peers=False,
                 cheap=False, rank=1, rows=None, reduction=None, window=False):
        self.kind = kind  # one of KERNEL_CLASSES, "const", or "runtime": field, peer, peers, switch
        self.reads = list(reads)
        self.guard = guard
        self.in_batch = in_batch
        self.results = results
        self.choice = choice  # a whole choose of two arms that read one tensor each, as one P op
        self.small_map = small_map  # of at most 4096 elements
        self.view = view
        self.cheap = cheap  # a map of a few simple operations
        self.rank = rank
        self.resample = resample
        self.window = window
        self.wide = wide  # a join of more than eight inputs
        self.differs = differs  # between samples, whatever it reads
        self.peers = peers  # the values of all samples
        self.rows = rows  # the axis whose places it treats alone
        self.first = None  # the axis that is outermost in its value
        self.reduction = reduction  # the tensor whose axes it goes through
        self.peer = False  # that of another one

    def is_kernel(self):
        return self.kind in KERNEL_CLASSES


class Kernels:
    """Sets of ops, joined one by one."""

    def __init__(self):
        self.members = {}

    def add(self, node):
        self.members[node] = {node}

    def leave(self, node):
        """For a set of its own."""
        self.members[node].discard(node)
        self.add(node)

    def join(self, a, b):
        union = self.members[a] | self.members[b]
        for node in union:
            self.members[node] = union

    def fit(self, nodes, more, without):
        """True if the kernels of `nodes`, and `more`, may be one kernel."""
        union = set().union({more}, *(self.members[node] for node in nodes))
        return ((sum(node.kind == "G" for node in union) <= 1 or "one gather" in without)
                and (sum(node.resample for node in union) <= 8 or "eight resamples" in without)
                and (sum(node.window for node in union) <= 16 or "sixteen windows" in without)
                and (sum(node.choice for node in union) <= 6 or "ways" in without))


def shared(nodes):
    """Nodes whose value is the same for all samples of a batch."""
    same = set()
    for node in nodes:
        follows = (not node.differs and node.kind != "C" and all(read[0] in same for read in node.reads)
                   and (node.guard is None or node.in_batch))
        if node.kind == "const" or node.peers or follows or (node.peer and node.reads[0][0] in same):
            same.add(node)
    return same


def with_copies(nodes, outputs):
    """An output gets a copy of what no kernel makes, what another output delivers, or what all samples share; so does
    what takes the values of all samples."""
    nodes, taken, delivered, same = list(nodes), set(), [], shared(nodes)

    def made(node):
        return node.is_kernel() and node.kind != "C" and not (node in same and node.in_batch)

    for value in outputs:
        node, result = value
        if made(node) and value not in taken:
            taken.add(value)
            delivered.append(value)
            continue
        moved = Node("I", [(node, result, True)], in_batch=node.in_batch or not node.is_kernel(), view=True,
                     rows=node.first)
        nodes.insert(nodes.index(node) + 1 if node.is_kernel() and not (node in same and node.in_batch) else len(nodes),
                     moved)
        delivered.append((moved, 0))
    copies = {}
    for peers in [node for node in nodes if node.peers or node.peer]:
        node, result, _ = peers.reads[0]
        if node in same and peers.peers:  # a view
            peers.kind, peers.peers, peers.view = "I", False, True
        elif node not in same and (node.peer if peers.peer else not made(node) or (node, result) in delivered):
            if (node, result) not in copies:
                copies[node, result] = Node("I", [(node, result, True)], in_batch=node.in_batch, view=True, rows=node.first)
                nodes.insert(nodes.index(node) + 1, copies[node, result])
            peers.reads = [(copies[node, result], 0, True)]
    for node in nodes:  # another sample's value of these is the same
        node.reads = [(*source.reads[0][:2], direct) if source.peer and source in same else (source, result, direct)
                      for source, result, direct in node.reads]
        if node in same and node.in_batch:
            node.guard = None
    nodes = [node for node in nodes if not (node.peer and node in same)]
    for switch in [node for node in nodes if node.kind == "runtime" and not node.peer and not node.peers]:
        for k, (source, result, direct) in enumerate(switch.reads):
            if source.peer or source.peers:
                view = Node("I", [(source, result, True)], in_batch=True, view=True, rows=source.first)
                nodes.insert(nodes.index(switch), view)
                switch.reads[k] = (view, 0, direct)
    return nodes, delivered


def host_tables(nodes):
    """Class weights."""
    weights = set()
    for node in nodes:
        sources = [read[0] for read in node.reads if read[0].kind != "const"]
        follows = (node.kind in "IP" and not node.choice and sources
                   and all(source in weights for source in sources))
        if node.kind == "W" or follows or (node.small_map and not sources):
            weights.add(node)
    return weights


def plan(nodes, outputs, without):
    """The kernels, and whether an op reads another within one, by rules 1 to 3."""
    weights = set() if "weights" in without else host_tables(nodes)
    once = {node for node in shared(nodes) if node.in_batch and not any(node is value[0] for value in outputs)}
    users = {node: [] for node in nodes}
    for node in nodes:
        for source, _, direct in node.reads:
            users[source].append((node, direct))

    def is_direct(source, user, element):
        return (source.is_kernel() and user.is_kernel()
                and (element or "computed places" in without)
                and (not user.wide or "eight inputs" in without)
                and (source.kind != "R" or "barriers" in without)
                and ("C" not in (source.kind, user.kind) or "codecs" in without)
                and (source.guard == user.guard or "guards" in without)
                and (source in weights) == (user in weights)
                and ((source in once) == (user in once) or "once" in without)
                and source.in_batch == user.in_batch)

    # Levels, rules 1 and 2.
    level, kernels = {}, Kernels()
    for node in nodes:
        if node.kind == "const":
            continue
        own, direct = 0, []
        for source, _, element in node.reads:
            if source.kind == "const" or (source in weights and node not in weights):
                continue
            if is_direct(source, node, element):
                direct.append(source)
                own = max(own, level[source])
            else:
                own = max(own, level[source] + (1 if source.is_kernel() else 0))
        level[node] = own
        if not node.is_kernel():
            continue
        kernels.add(node)
        producers = [source for source in direct if level[source] == own]
        if not kernels.fit(producers, node, without):
            level[node] += 1
            continue
        for source in producers:
            kernels.join(source, node)

    # Rule 3: waiting.
    for node in reversed(nodes):
        if node.kind not in ("I", "P", "H") or node in weights or "waiting" in without:
            continue
        if any(value[0] is node for value in outputs) or not users[node]:
            continue
        allowed, direct = [], []
        for user, element in users[node]:
            if is_direct(node, user, element):
                direct.append(user)
                allowed.append(level[user])
            else:
                allowed.append(level[user] - 1)
        target = min(allowed)
        pullers = [user for user in direct if level[user] == target]
        if target <= level[node] or not pullers:
            continue
        if not kernels.fit(pullers, node, without):
            continue
        level[node] = target
        kernels.leave(node)
        for user in pullers:
            kernels.join(node, user)

    # Kernels: components of direct edges within a level.
    kernels = Kernels()
    for node in nodes:
        if node.is_kernel():
            kernels.add(node)
    for node in nodes:
        for source, _, element in node.reads:
            if is_direct(source, node, element) and level[source] == level[node]:
                kernels.join(source, node)
    if "reductions beside" not in without:
        join_reductions(nodes, kernels, level, weights, once, without)
    if "rows" not in without:
        join_rows(nodes, kernels, level, weights, once, without)
    return kernels.members, is_direct


def join_reductions(nodes, kernels, level, weights, once, without):
    """Rule 5."""
    last = {}
    for node in nodes:
        if node.kind != "R" or node.reduction is None or node in weights:
            continue
        values, inside = [(node.reads[0][0], node.reads[0][1])], kernels.members[node]
        for source, _ in values: # grows on the way
            if source in inside:
                values += [read[:2] for read in source.reads if read[:2] not in values]
        for value in values:
            if value[0] in inside or value[0].kind == "const" or value[0] in weights:
                continue
            other = last.get((value, node.reduction))
            last[value, node.reduction] = node
            if other is None or level[other] != level[node] or other in kernels.members[node]:
                continue
            alike = (other.guard == node.guard and (other in once) == (node in once) and other.in_batch == node.in_batch)
            both = kernels.members[node] | kernels.members[other]
            if alike and kernels.fit([other, node], node, without) and sum(one.reduction is not None for one in both) <= 8:
                kernels.join(other, node)


def join_rows(nodes, kernels, level, weights, once, without):
    """Rule 6."""
    place = {node: number for number, node in enumerate(nodes)}
    rows, lowest = {}, {}

    def of(node):
        return id(kernels.members[node])

    groups = {of(node): kernels.members[node] for node in nodes if node in kernels.members}
    for key, group in groups.items():
        axes = {node.rows for node in group}
        one = next(iter(group))
        if len(axes) == 1 and axes != {None} and one not in weights:
            rows[key] = (axes.pop(), one.guard, one in once, one.in_batch)
        lowest[key] = level[one]
    for group in sorted(groups.values(), key=lambda group: (level[next(iter(group))], min(place[node] for node in group))):
        mine = id(group)
        sources = {of(source) for node in group for source, *_ in node.reads
                   if source.is_kernel() and source not in weights}
        sources = {key for key in sources - {mine} if mine in rows and rows.get(key) == rows[mine]}
        together = set().union(group, *(groups[key] for key in sources))
        low = min([lowest[mine], *(lowest[key] for key in sources)])

        def waits(source):
            return level[source] + 1 if source.is_kernel() else level[source]

        beside = [source for node in together for source, *_ in node.reads
                  if source.kind != "const" and source not in weights and source not in together]
        if (not sources or (any(waits(source) > low for source in beside) and "rows beside" not in without)
                or (sum(node.reduction is not None for node in together) > 8 and "eight reductions" not in without)):
            continue
        for node in together:
            kernels.members[node] = together
        key = id(together)
        groups[key], rows[key], lowest[key] = together, rows[mine], low


def with_own_views(nodes, outputs, members, is_direct, without):
    """Rule 4, and whether there was any."""
    nodes, any_copy, members = list(nodes), False, dict(members)
    weights = set() if "weights" in without else host_tables(nodes)
    known = {}

    def reads_of(node):
        """How many reads having its result again takes; None: it is not at hand."""
        if node not in known:
            same = [read[0] for read in node.reads if node.view or read[0].rank == node.rank]
            known[node] = None
            if same and (node.view or (node.cheap and node not in weights and "own maps" not in without)):
                each = [reads_of(source) if source.is_kernel() else 0 for source in same]
                if None not in each:
                    known[node] = sum(0 if reads > 4 and "four reads" not in without else reads for reads in each) + (0 if node.view else len(same))
        return known[node]

    def copied(node):
        reads = reads_of(node)
        return reads is not None and (reads <= 4 or "four reads" in without)

    for own in [node for node in reversed(nodes) if copied(node)]:
        readers = {}
        for user in nodes:
            for source, _, element in user.reads:
                if source is own and user.is_kernel() and members[user] is not members[own]:
                    readers.setdefault(id(members[user]), []).append((user, element))
        for uses in readers.values():
            if not all(is_direct(own, user, element) for user, element in uses):
                continue
            mine = copy.copy(own)
            mine.reads = list(own.reads)
            nodes.insert(nodes.index(own) + 1, mine)
            members[mine] = members[uses[0][0]]
            known[mine] = known[own]
            for user, _ in uses:
                user.reads = [(mine, *read[1:]) if read[0] is own else read for read in user.reads]
            any_copy = True
        read = any(own is source for node in nodes for source, *_ in node.reads)
        if not read and not any(own is node for node, _ in outputs):
            nodes.remove(own)
    return nodes, any_copy


def predict(nodes, outputs, without=()):
    """(kernels, temporaries) by the page. `without` leaves rules out, to see that they matter."""
    nodes, outputs = with_copies(*copy.deepcopy((nodes, outputs)))
    members, is_direct = plan(nodes, outputs, without)
    if "own views" not in without:
        nodes, any_copy = with_own_views(nodes, outputs, members, is_direct, without)
        if any_copy:
            members, _ = plan(nodes, outputs, without)
    stored = set()
    for node in nodes:
        for source, result, _ in node.reads:
            inside = node.is_kernel() and node in members.get(source, ())
            if source.is_kernel() and not inside:
                stored.add((source, result))
    return len({id(one) for one in members.values()}), len(stored)


class Draft:
    """One random DAG: the graph, and the text of a pipeline."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.seed = seed
        self.extent = self.rng.choice([8, 8, 8, 5000])
        self.line, self.number = f"!pipe.tensor<u8[w={self.extent}]>", "!pipe.tensor<u8[]>"
        self.width = self.rng.choice([self.extent, 5000])
        self.sheet, self.column = f"!pipe.tensor<u8[v=6, w={self.width}]>", "!pipe.tensor<u8[v=6]>"
        self.kinds = self.rng.choice(["IPHGR", "IPHR", "PGG"])
        self.recent = self.rng.choice([0.1, 0.5, 0.8])  # long chains, or wide DAGs
        self.names, self.conditions = 0, 0
        self.sample, self.batch = [], []  # nodes in program order
        self.text = {False: [], True: []}  # by `in_batch`: (nodes, their lines)
        self.pool = []  # (name, (node, result), type)
        self.tables = []  # tap tables: (weights name, start name, node)
        self.make()

    def name(self):
        self.names += 1
        return f"%v{self.names}"

    def condition(self, lines):
        """A number of its own, so that guards differ."""
        result, more = self.name(), self.name()
        self.conditions += 1
        lines.append(f"{more} = pipe.constant {self.conditions} : i64 -> i64")
        lines.append(f"{result} = pipe.binary add %i, {more} : i64")
        return result

    def map_text(self, name, inputs, out, loads=(), more=0):
        """A map of (name, type) that adds what it reads."""
        args = [f"%p{k}: ui8" for k in range(len(inputs))]
        if out == self.line:
            args.append("%at: i64")
        lines = [f"{name} = pipe.map ({', '.join(n for n, _ in inputs)}) : "
                 f"({', '.join(t for _, t in inputs)}) -> {out} {{", f"^bb0({', '.join(args)}):"]
        lines.append("  %s0 = pipe.constant 7 : ui8 -> ui8")
        terms = [f"%p{k}" for k in range(len(inputs))]
        for k, table in enumerate(loads):
            lines.append(f"  %l{k} = pipe.load {table}[%at] : {self.line} -> ui8")
            terms.append(f"%l{k}")
        terms += ["%s0"] * more
        for k, term in enumerate(terms):
            lines.append(f"  %s{k + 1} = pipe.binary add %s{k}, {term} : ui8")
        return lines + [f"  pipe.yield %s{len(terms)} : ui8", "}"]

    def flip_map(self):
        return f"affine_map<(d0) -> (-d0 + {self.extent - 1})>"

    def op_text(self, kind, name, source):
        """An op from line to line."""
        types = f"{self.line} -> {self.line}"
        if kind == "I":
            return [f"{name} = pipe.view {source} by {self.flip_map()} [] : {types}"]
        if kind == "P":
            return self.map_text(name, [(source, self.line)], self.line)
        if kind == "H":
            return [f'{name} = pipe.window edge {source} over ["w"] low [-1] high [0] : {types} {{',
                    "^bb0(%p: ui8, %q: ui8, %at: i64):", "  %m = pipe.binary max %p, %q : ui8",
                    "  pipe.yield %m : ui8", "}"]
        if kind == "G":
            return [f'{name} = pipe.gather nearest edge {source} over ["w"] : {types} {{',
                    "^bb0(%at: i64):", "  %f = pipe.cast value %at : i64 -> f64",
                    "  pipe.yield %f : f64", "}"]
        return [f'{name} = pipe.scan sum {source} along "w" : {types}']

    # -- values ---------------------------------------------------------------

    def pick(self, kind=None, recent=None):
        pool = [value for value in self.pool if kind in (None, value[2])]
        return pool[-1] if self.rng.random() < (recent or self.recent) else self.rng.choice(pool)

    def add(self, node, lines, results, in_batch):
        (self.batch if node.in_batch else self.sample).append(node)
        self.text[in_batch].append((node, lines))
        node.first = {self.line: "w", self.sheet: "v", self.column: "v", self.number: None}[results[0][1]]
        for result, (name, kind) in enumerate(results):
            self.pool.append((name, (node, result), kind))

    def depends(self, *values):
        """An op stays in the batch if it depends on a peer."""
        return any(value[1][0].in_batch for value in values)

    # -- steps ----------------------------------------------------------------

    def simple(self, in_batch, source=None, kind=None):
        kind, source, name = kind or self.rng.choice(self.kinds), source or self.pick(self.line), self.name()
        node = Node(kind, [(*source[1], kind != "G")], in_batch=self.depends(source),
                    small_map=kind == "P" and self.extent <= 4096, view=kind == "I", cheap=kind == "P",
                    rows="w" if kind == "P" else None, window=kind == "H")
        self.add(node, self.op_text(kind, name, source[0]), [(name, self.line)], in_batch)

    def sheets(self, in_batch):
        """Rows, numbers of rows, and both together; now and then the rows change places, or one goes on as a line."""
        if not any(value[2] == self.sheet for value in self.pool):
            self.add(Node("runtime", differs=True, rank=2), [f'%sheet = pipe.field %row "sheet" : {self.sheet}'],
                     [("%sheet", self.sheet)], False)
        if self.rng.random() < 0.2:
            self.around_scan(in_batch)
        norms = self.rng.random() < 0.4  # each of the sheet before
        for number in range(self.rng.choice([10, 20, 30] if norms else [4, 8, 12])):
            source, name, turn = self.pick(self.sheet, recent=norms), self.name(), self.rng.random()
            columns = [value for value in self.pool if value[2] == self.column]
            if norms and self.rng.random() < 0.95:
                turn, columns = [0.1, 0.5][number % 2], columns[-1:]
            scope = self.depends(source)
            if turn < 0.15 and columns and not norms:
                self.scan_column(in_batch, columns[-1])
            elif turn < 0.35:
                self.reduce_rows(in_batch, source)
            elif turn < 0.8 or not columns:
                self.map_rows(in_batch, [source, *self.rng.sample(columns, min(len(columns), self.rng.randint(int(norms), 2)))])
            elif turn < 0.9:
                sources = list({value[0]: value for value in self.rng.choices(columns, k=2)}.values())
                scope = self.depends(*sources)
                node = Node("P", [(*value[1], True) for value in sources], in_batch=scope, cheap=True, rows="v",
                            small_map=True)
                self.add(node, self.sheet_map(name, sources, self.column), [(name, self.column)], in_batch)
            else:
                turned, out = self.rng.choice([
                    ("(d0, d1) -> (-d0 + 5, d1)", self.sheet), (f"(d0, d1) -> (d0, -d1 + {self.width - 1})", self.sheet),
                    *[("(d0) -> (3, d0)", self.line)] * (self.width == self.extent)])
                node = Node("I", [(*source[1], True)], in_batch=scope, rank=1 if out == self.line else 2, view=True,
                            rows="v" if "(d0, -d1" in turned else None)
                self.add(node, [f"{name} = pipe.view {source[0]} by affine_map<{turned}> [] : {self.sheet} -> {out}"],
                         [(name, out)], in_batch)

    def scan_column(self, in_batch, source):
        name = self.name()
        line = f'{name} = pipe.scan sum {source[0]} along "v" : {self.column} -> {self.column}'
        node = Node("R", [(*source[1], True)], in_batch=self.depends(source))
        self.add(node, [line], [(name, self.column)], in_batch)

    def reduce_rows(self, in_batch, source):
        name = self.name()
        line = f'{name} = pipe.reduce max {source[0]} over ["w"] : {self.sheet} -> {self.column}'
        node = Node("H" if self.width <= SMALL_REDUCTION else "R", [(*source[1], True)], in_batch=self.depends(source),
                    rows="v", reduction=self.sheet)
        self.add(node, [line], [(name, self.column)], in_batch)

    def map_rows(self, in_batch, sources):
        name = self.name()
        node = Node("P", [(*value[1], True) for value in sources], in_batch=self.depends(*sources), rank=2, cheap=True,
                    rows="v", small_map=6 * self.width <= 4096)
        self.add(node, self.sheet_map(name, sources, self.sheet), [(name, self.sheet)], in_batch)

    def around_scan(self, in_batch):
        """A number of each row, read by what reads a scan of it as well."""
        source = self.pick(self.sheet)
        self.reduce_rows(in_batch, source)
        column = self.pool[-1]
        self.scan_column(in_batch, column)
        self.map_rows(in_batch, [source, column, self.pool[-1]])

    def sheet_map(self, name, sources, out):
        args = [f"%p{k}: ui8" for k in range(len(sources))] + [f"%at{k}: i64" for k in range(1 + (out == self.sheet))]
        lines = [f"{name} = pipe.map ({', '.join(value[0] for value in sources)}) : "
                 f"({', '.join(value[2] for value in sources)}) -> {out} {{", f"^bb0({', '.join(args)}):",
                 "  %s0 = pipe.constant 7 : ui8 -> ui8"]
        lines += [f"  %s{k + 1} = pipe.binary add %s{k}, %p{k} : ui8" for k in range(len(sources))]
        return lines + [f"  pipe.yield %s{len(sources)} : ui8", "}"]

    def diamond(self, in_batch):
        """Two ways from one value to a map."""
        start, ends = self.pick(self.line), []
        for _ in range(2):
            self.pool.append(start)
            for _ in range(self.rng.randint(1, 2)):
                self.simple(in_batch, self.pool[-1])
            ends.append(self.pool[-1])
        self.map(in_batch, ends)

    def around_barrier(self, in_batch):
        """A view or map of the input, read before and after a reduction of it."""
        source, name, kind = self.pool[0], self.name(), self.rng.choice("IP")
        node = Node(kind, [(*source[1], True)], view=kind == "I", cheap=kind == "P",
                    small_map=kind == "P" and self.extent <= 4096, rows="w" if kind == "P" else None)
        self.add(node, self.op_text(kind, name, source[0]), [(name, self.line)], in_batch)
        view = self.pool[-1]
        self.simple(in_batch, view)
        self.reduce(in_batch, self.pool[-1])
        self.map(in_batch, [view, self.pool[-1]])

    def links(self, in_batch):
        """A chain of which each link waits for a reduction of the one before."""
        value = self.pick(self.line)
        for _ in range(self.rng.randint(3, 9)):
            self.reduce(in_batch, value)
            self.map(in_batch, [value, self.pool[-1]])
            value = self.pool[-1]

    def map(self, in_batch, sources=None):
        flat = [value for value in self.pool if value[2] in (self.line, self.number)]
        sources = sources or [flat[-1] if self.rng.random() < self.recent else self.rng.choice(flat)
                              for _ in range(self.rng.randint(1, 3))]
        sources = list({value[0]: value for value in sources}.values())
        table = self.pick(self.line, recent=0.2)
        out = self.line if any(value[2] == self.line for value in sources) else self.number
        loads = [table] if out == self.line and self.rng.random() < 0.3 else []
        reads = [(*value[1], value not in loads) for value in sources]
        reads += [(*value[1], False) for value in loads if value not in sources]
        name = self.name()
        more = self.rng.choice([0, 0, 0, 3])
        node = Node("P", reads, in_batch=self.depends(*sources, *loads),
                    small_map=self.extent <= 4096 or out == self.number, rank=int(out == self.line),
                    cheap=not loads and len(sources) + more <= 4,
                    rows="w" if out == self.line and not loads else None)
        lines = self.map_text(name, [(value[0], value[2]) for value in sources], out,
                              [value[0] for value in loads], more)
        self.add(node, lines, [(name, out)], in_batch)

    def place(self, in_batch):
        a, b, name = self.pick(self.line), self.pick(self.line), self.name()
        node = Node("I", [(*a[1], True), (*b[1], True)], in_batch=self.depends(a, b))
        line = (f'{name} = pipe.place {a[0]} into {b[0]} over ["w"] at (%zero) : {self.line}, '
                f"{self.line} -> {self.line}")
        self.add(node, [line], [(name, self.line)], in_batch)

    def codec(self, in_batch):
        """An image of one row through JPEG, between the views that make and unmake it."""
        source, image = self.pick(self.line), f"!pipe.tensor<u8[h=1, w={self.extent}]>"
        row, again, name = self.name(), self.name(), self.name()
        in_scope = self.depends(source)
        view = Node("I", [(*source[1], True)], in_batch=in_scope, view=True)
        codec = Node("C", [(view, 0, True)], in_batch=in_scope)
        (self.batch if in_scope else self.sample).extend([view, codec])
        lines = [f"{row} = pipe.view {source[0]} by affine_map<(d0, d1) -> (d1)> [] : {self.line} -> {image}"]
        self.text[in_batch].append((view, lines))
        self.text[in_batch].append((codec, [f"{again} = pipe.recompress {row} quality(%i) : {image} -> {image}"]))
        node = Node("I", [(codec, 0, True)], in_batch=in_scope, view=True)
        self.add(node, [f"{name} = pipe.view {again} by affine_map<(d0) -> (0, d0)> [] : {image} -> {self.line}"],
                 [(name, self.line)], in_batch)

    def reduce(self, in_batch, source=None):
        source, name = source or self.pick(self.line), self.name()
        line = f'{name} = pipe.reduce max {source[0]} over ["w"] : {self.line} -> {self.number}'
        kind = "H" if self.extent <= SMALL_REDUCTION else "R"
        node = Node(kind, [(*source[1], True)], in_batch=self.depends(source), rank=0, reduction=self.line)
        self.add(node, [line], [(name, self.number)], in_batch)

    def small_table(self, in_batch):
        name = self.name()
        node = Node("P", small_map=self.extent <= 4096, rows="w")
        self.add(node, self.map_text(name, [], self.line), [(name, self.line)], in_batch)

    def constant(self, in_batch):
        name = self.name()
        line = f"{name} = pipe.constant dense<3> : tensor<{self.extent}xui8> -> {self.line}"
        self.add(Node("const"), [line], [(name, self.line)], in_batch)

    def resample(self, in_batch, source=None):
        weights, start = self.name(), self.name()
        weights_type = f"!pipe.tensor<f64[w={self.extent}, k=?]>"
        start_type = f"!pipe.tensor<i32[w={self.extent}]>"
        if self.tables and self.rng.random() < 0.4:
            weights, start, table, shift = self.rng.choice(self.tables)
        else:
            taps = self.name()
            lines = [
                f"{taps} = pipe.taps bilinear %extent to %extent antialias(true)",
                f"{weights}, {start} = pipe.weights bilinear %extent to %extent antialias(true) "
                f"sizes({taps}) : {weights_type}, {start_type}"]
            table = shift = Node("W", results=2)
            self.sample.append(table)
            if self.rng.random() < 0.5:
                shift = Node("I", [(table, 1, True)], view=True)
                old, start = start, self.name()
                self.sample.append(shift)
                lines.append(f"{start} = pipe.view {old} by {self.flip_map()} [] : {start_type} -> "
                             f"{start_type}")
            self.text[False].append((table, lines))
            self.tables.append((weights, start, table, shift))
        source, name = source or self.pick(self.line), self.name()
        lines = [f'{name} = pipe.resample exact {source[0]} along "w" with {weights}, {start} : '
                 f"{self.line}, {weights_type}, {start_type} -> {self.line}"]
        reads = [(*source[1], True), (table, 0, True), (shift, 0 if shift is not table else 1, True)]
        node = Node("H", reads, in_batch=self.depends(source), resample=True)
        self.add(node, lines, [(name, self.line)], in_batch)

    def resamples(self, in_batch):
        """A chain of them, some with other ops between."""
        for _ in range(self.rng.randint(6, 14)):
            self.resample(in_batch, self.pool[-1] if self.pool[-1][2] == self.line else None)
            if self.rng.random() < 0.2:
                self.simple(in_batch, self.pool[-1])

    def windows(self, in_batch):
        """A chain of them."""
        self.pool.append(self.pick(self.line))
        for _ in range(self.rng.randint(14, 24)):
            self.simple(in_batch, self.pool[-1], "H" if self.rng.random() < 0.95 else None)

    def join(self, in_batch):
        """A stack of some lines, of which one is taken."""
        inputs = [self.pick(self.line) for _ in range(self.rng.choice([3, 8, 9, 12]))]
        stack, name, scope = self.name(), self.name(), self.depends(*inputs)
        tall = f"!pipe.tensor<u8[v={len(inputs)}, w={self.extent}]>"
        joined = Node("I", [(*value[1], True) for value in inputs], in_batch=scope, wide=len(inputs) > 8)
        (self.batch if scope else self.sample).append(joined)
        values, types = ", ".join(value[0] for value in inputs), ", ".join(self.line for _ in inputs)
        self.text[in_batch].append((joined, [f'{stack} = pipe.stack "v" ({values}) : {types} -> {tall}']))
        self.add(Node("I", [(joined, 0, True)], in_batch=scope, view=True),
                 [f"{name} = pipe.view {stack} by affine_map<(d0) -> (1, d0)> [] : {tall} -> {self.line}"],
                 [(name, self.line)], in_batch)

    # -- branches -------------------------------------------------------------

    def arm(self):
        """The kinds of a chain of ops."""
        kinds = self.rng.choice(["IP", self.kinds])
        return [self.rng.choice(kinds) for _ in range(self.rng.randint(0, 3))]

    def arm_text(self, ops, value):
        lines = []
        for kind in ops:
            before, value = value, self.name()
            lines += self.op_text(kind, value, before)
        return lines + [f"pipe.yield {value} : {self.line}"]

    def arm_nodes(self, ops, value, guard):
        for kind in ops:
            node, result = value
            value = (Node(kind, [(node, result, kind != "G")], guard, node.in_batch,
                          small_map=kind == "P" and self.extent <= 4096, view=kind == "I", cheap=kind == "P",
                          rows="w" if kind == "P" else None, window=kind == "H"), 0)
            (self.batch if node.in_batch else self.sample).append(value[0])
        return value

    def choose(self, in_batch, source=None):
        lines = []
        index, name = self.condition(lines), self.name()
        if source:
            arms = [(["P"], source), (["I"], source)]
        else:
            source, other = self.pick(self.line), self.pick(self.line)
            arms = [(self.arm(), source), (self.arm(), self.rng.choice([source, other]))]
        lines.append(f"{name} = pipe.choose {index} -> {self.line} {{")
        for number, (ops, value) in enumerate(arms):
            lines += self.arm_text(ops, value[0]) + (["}, {"] if number == 0 else ["}"])
        used = list({value[0]: value for _, value in arms}.values())
        if all(kind in "IP" for ops, _ in arms for kind in ops):
            node = Node("P", [(*value[1], True) for value in used], in_batch=self.depends(*used),
                        choice=True, differs=True)
        else:
            yields = [self.arm_nodes(ops, value[1], (index, number))
                      for number, (ops, value) in enumerate(arms)]
            node = Node("runtime", [(*value, True) for value in yields], differs=True,
                        in_batch=any(value[0].in_batch for value in yields))
        self.add(node, lines, [(name, self.line)], in_batch)

    def repeat(self, in_batch):
        lines = []
        count, name, source = self.condition(lines), self.name(), self.pick(self.line)
        ops, bound, carried = self.arm() or ["P"], self.rng.randint(1, 2), self.name()
        lines.append(f"{name} = pipe.repeat {count} bound {bound} ({source[0]}) : ({self.line}) -> "
                     f"({self.line}) {{")
        lines += [f"^bb0(%n{name[2:]}: i64, {carried}: {self.line}):"]
        lines += self.arm_text(ops, carried) + ["}"]
        if all(kind in "IP" for kind in ops):
            node = Node("P", [(*source[1], True)], in_batch=self.depends(source), differs=True)
            self.add(node, lines, [(name, self.line)], in_batch)
            return
        value = source[1]
        for turn in range(bound):
            runs = self.arm_nodes(ops, value, (count, turn))
            node = Node("runtime", [(*value, True), (*runs, True)], differs=True,
                        in_batch=value[0].in_batch or runs[0].in_batch)
            (self.batch if node.in_batch else self.sample).append(node)
            value = (node, 0)
        self.text[in_batch].append((value[0], lines))
        self.pool.append((name, value, self.line))

    def peer(self, in_batch):
        source, name = self.pick(), self.name()
        node = Node("runtime", [(*source[1], True)], in_batch=True, differs=True, rank=source[1][0].rank)
        node.peer = True
        line = f"{name} = pipe.peer {source[0]}[%slot] : {source[2]} -> {source[2]}"
        self.add(node, [line], [(name, source[2])], in_batch)

    def peers(self, in_batch):
        """All samples' values, reduced, or one of them."""
        source, joined, name = self.pick(self.line), self.name(), self.name()
        tall = f"!pipe.tensor<u8[m=2, w={self.extent}]>"
        node = Node("runtime", [(*source[1], True)], in_batch=True, peers=True)
        self.batch.append(node)
        self.text[in_batch].append((node, [f'{joined} = pipe.peers {source[0]} along "m" : {self.line} -> {tall}']))
        if self.rng.random() < 0.7:
            line = f'{name} = pipe.reduce max {joined} over ["m"] : {tall} -> {self.line}'
        else:
            line = f"{name} = pipe.view {joined} by affine_map<(d0) -> (1, d0)> [] : {tall} -> {self.line}"
        self.add(Node("I" if "view" in line else "H", [(node, 0, True)], in_batch=True, view="view" in line), [line],
                 [(name, self.line)], in_batch)

    def make(self):
        for k in range(self.rng.randint(1, 2)):
            self.add(Node("runtime", differs=True), [f'%x{k} = pipe.field %row "x{k}" : {self.line}'],
                     [(f"%x{k}", self.line)], False)
        steps = [self.simple] * 6 + [self.map] * 5 + [self.reduce] * 2 + [self.choose] * 3 + [self.codec] * 2 + [
            self.diamond, self.around_barrier, self.links, self.place, self.small_table, self.constant, self.resample, self.repeat,
            self.join]
        for _ in range(self.rng.randint(1, 12)):
            self.rng.choice(steps)(False)
        if self.rng.random() < 0.1:
            self.resamples(False)
            for _ in range(self.rng.randint(0, 3)):
                self.rng.choice(steps)(False)
        if self.rng.random() < 0.1:
            for _ in range(self.rng.randint(5, 15)):
                self.choose(False, self.pool[-1] if self.pool[-1][2] == self.line else self.pick(self.line))
        if self.rng.random() < 0.3:
            self.sheets(False)
        if self.seed % 10 == 0:
            self.windows(False)
        if self.rng.random() < 0.4:
            for _ in range(self.rng.randint(1, 5)):
                self.rng.choice([self.peer, self.peer, self.peers, self.peers, self.map, self.simple, self.choose])(True)
        self.delivered = [self.pick(recent=0.8) for _ in range(self.rng.randint(1, 3))]

    def graph(self):
        """The nodes that outputs need, in program order, and the outputs."""
        needed, queue = set(), [value[1][0] for value in self.delivered]
        while queue:
            node = queue.pop()
            if node not in needed:
                needed.add(node)
                queue += [read[0] for read in node.reads]
        nodes = [node for node in self.sample + self.batch if node in needed]
        return nodes, [value[1] for value in self.delivered]

    def pipeline(self):
        needed, _ = self.graph()
        body = {scope: [line for node, lines in self.text[scope] if node in needed
                        for line in lines] for scope in (False, True)}
        columns = ", ".join([*(f"x{k} = {self.line}" for k in range(2)), f"sheet = {self.sheet}"])
        lines = [f"pipe.pipeline @p{self.seed} seed 0 substitute 0.0 {{",
                 '%root = pipe.param "root" : !pipe.text',
                 f'%table = pipe.source "raw" (%root) named ["root"] columns {{{columns}, i = i64}} '
                 ': !pipe.text', "%row = pipe.row sequential %table",
                 '%i = pipe.field %row "i" : i64', "%size = pipe.constant 2 : i64 -> i64",
                 "%zero = pipe.constant 0 : i64 -> i64",
                 f"%extent = pipe.constant {self.extent} : i64 -> i64", *body[False],
                 "pipe.batch size(%size) last drop {", "%slot = pipe.context slot",
                 *body[True]]
        for k, (name, _, kind) in enumerate(self.delivered):
            axes = {self.line: '["n", "w"]', self.sheet: '["n", "v", "w"]', self.column: '["n", "v"]',
                    self.number: '["n"]'}[kind]
            lines.append(f'pipe.output "o{k}" {name} axes {axes} stored {axes} : {kind}')
        return "\n".join(lines + ["}", "}"])


def measure(text):
    """(launches, their results that something else than an output reads)."""
    launches = re.findall(r"^ *(%\S+?)(?::(\d+))? = pipe\.launch ", text, re.M)
    made = {name for name, _ in launches}
    results = {}
    for line in text.splitlines():
        used = line.split(" = ", 1)[-1]
        for name, number in re.findall(r"(%\w+)(#\d+)?", used):
            if name in made:
                results.setdefault((name, number), set()).add("pipe.output" in line)
    return len(launches), sum(False in kinds for kinds in results.values())


class FusionRule(unittest.TestCase):
    tool = None

    @classmethod
    def setUpClass(cls):
        cls.drafts = [Draft(seed) for seed in range(COUNT)]
        text = "\n// -----\n".join(draft.pipeline() for draft in cls.drafts)
        done = subprocess.run([cls.tool, "-", "--split-input-file", "--pipe-fuse"], input=text,
                              capture_output=True, text=True)
        cls.errors = done.stderr
        pipelines = re.findall(r"^  pipe\.pipeline @p(\d+) (.*?)^  }$", done.stdout, re.M | re.S)
        cls.found = {int(seed): measure(body) for seed, body in pipelines}

    def test_counts_are_those_of_the_page(self):
        self.assertEqual(self.errors, "")
        for draft in self.drafts:
            with self.subTest(seed=draft.seed):
                self.assertEqual(self.found[draft.seed], predict(*draft.graph()),
                                 f"kernels and temporaries; predicted second\n{draft.pipeline()}")

    def test_every_rule_decides_some_dag(self):
        for rule in ["weights", "computed places", "barriers", "guards", "one gather", "waiting",
                     "own views", "own maps", "four reads", "codecs", "eight resamples", "sixteen windows", "eight inputs", "once", "ways", "rows", "reductions beside",
                     "rows beside", "eight reductions"]:
            with self.subTest(rule=rule):
                changed = [draft.seed for draft in self.drafts
                           if predict(*draft.graph()) != predict(*draft.graph(), [rule])]
                self.assertGreaterEqual(len(changed), 5)

    def test_dags_are_not_all_small(self):
        kernels = [kernels for kernels, _ in self.found.values()]
        self.assertGreater(max(kernels), 8)
        self.assertGreater(sum(count > 2 for count in kernels), COUNT // 4)


if __name__ == "__main__":
    FusionRule.tool = sys.argv.pop(1)
    unittest.main()
