# SPDX-License-Identifier: Apache-2.0
"""Histories of one document, and whether an order of their events explains every answer."""
import dataclasses

READ, WRITE, SWAP, EXCHANGE = "read", "write", "swap", "exchange"
NEVER = float("inf")


@dataclasses.dataclass
class Event:
    """One operation as its client saw it. `done` None: the answer never came, it may have happened or not."""
    kind: str
    old: int  # read: what was seen; swap: what it asked for; exchange: what was there
    new: int  # what was written
    done: bool | None = True  # swap: whether it found `old`
    called: float = 0
    returned: float = NEVER


def outcomes(event, value):
    """The values after the event when it happens on `value`; none when the answer contradicts it."""
    if event.kind == READ:
        return [value] if event.done is None or event.old == value else []
    if event.kind == WRITE:
        return [event.new]
    if event.kind == EXCHANGE:
        return [event.new] if event.done is None or event.old == value else []
    found = event.old == value
    if event.done is None or event.done == found:
        return [event.new if found else value]
    return []


def linearizable(events, value=0):
    """Searches for an order that respects the times. Events without an answer may be left out."""
    events = sorted(events, key=lambda e: e.called)
    answered = sum(1 << i for i, e in enumerate(events) if e.done is not None)
    failed = set()
    stack = [((1 << len(events)) - 1, value)]
    while stack:
        left, value = stack.pop()
        if not left & answered:
            return True
        if (left, value) in failed:
            continue
        failed.add((left, value))
        earliest = min(e.returned for i, e in enumerate(events) if left >> i & 1)
        for i, event in enumerate(events):
            if left >> i & 1 and event.called < earliest:
                stack += [(left & ~(1 << i), after) for after in outcomes(event, value)]
    return False
