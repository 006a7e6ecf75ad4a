# SPDX-License-Identifier: Apache-2.0
"""Histories of transactions that append to lists and read them (the workload of Adya's and Elle's anomalies).

The order of a list is the order of its versions, so what depends on what is known: ww from one append to the
next, wr from an append to a read that ends with it, rw from a read to the append that came next. Under
snapshot isolation no cycle has fewer than two rw edges.
"""
import collections
import dataclasses


@dataclasses.dataclass(eq=False)
class Transaction:
    actions: list  # ("append", key, number) or ("read", key, (numbers...))
    committed: bool = False  # False: nobody knows


def problems(transactions, final):
    writer = {number: t for t in transactions for kind, _, number in t.actions if kind == "append"}
    order = _version_orders(transactions, final)
    yield from _lost_and_doubled(transactions, final)
    for t in transactions:
        for kind, key, seen in t.actions:
            if t.committed and kind == "read":
                foreign = tuple(n for n in seen if writer.get(n) is not t)
                if foreign != tuple(n for n in order[key][:len(seen)] if n in set(foreign)):
                    yield f"a read of list {key} saw {seen}, which is no beginning of {order[key]}"
    edges = _edges(transactions, order, writer)
    for allowed, name in (({"ww", "wr"}, "G1c"), ({"ww", "wr", "rw"}, "G-single")):
        for cycle in _cycles(edges, allowed, at_most_one_rw=name == "G-single"):
            yield f"{name}: {[t.actions for t in cycle]}"


def _version_orders(transactions, final):
    orders = collections.defaultdict(tuple, final)
    for t in transactions:
        for kind, key, seen in t.actions:
            if kind == "read" and t.committed and len(seen) > len(orders[key]):
                orders[key] = seen
    return orders


def _lost_and_doubled(transactions, final):
    for key, numbers in final.items():
        if len(set(numbers)) != len(numbers):
            yield f"list {key} holds something twice: {numbers}"
    for t in transactions:
        for kind, key, number in t.actions:
            if t.committed and kind == "append" and number not in final.get(key, ()):
                yield f"append of {number} to list {key} was acknowledged and is lost"


def _edges(transactions, order, writer):
    """{from: {to: kinds}} between transactions that happened."""
    edges = collections.defaultdict(lambda: collections.defaultdict(set))

    def add(kind, one, other):
        if one is not None and other is not None and one is not other:
            edges[one][other].add(kind)

    for numbers in order.values():
        for first, second in zip(numbers, numbers[1:]):
            add("ww", writer.get(first), writer.get(second))
    for t in transactions:
        for kind, key, seen in t.actions:
            if kind != "read" or not t.committed:
                continue
            if seen:
                add("wr", writer.get(seen[-1]), t)
            following = order[key][len(seen):]
            if following:
                add("rw", t, writer.get(following[0]))
    return edges


def _cycles(edges, allowed, at_most_one_rw):
    """A cycle of each strongly connected part, if its kinds allow it."""
    for start in list(edges):
        found = _back_to(start, edges, allowed, at_most_one_rw)
        if found:
            yield found
            return


def _back_to(start, edges, allowed, at_most_one_rw):
    """A shortest way from `start` to itself with at most one rw edge (or none beside `allowed`)."""
    queue = collections.deque([(start, 0)])
    came = {(start, 0): None}
    while queue:
        node, rw = queue.popleft()
        for other, kinds in edges[node].items():
            cost = 0 if kinds & {"ww", "wr"} else 1
            if cost and ("rw" not in allowed or (at_most_one_rw and rw + cost > 1)):
                continue
            if other is start:
                return _way((node, rw), came)
            if (other, rw + cost) not in came:
                came[(other, rw + cost)] = (node, rw)
                queue.append((other, rw + cost))
    return None


def _way(at, came):
    path = []
    while at is not None:
        path.append(at[0])
        at = came[at]
    return path[::-1]
