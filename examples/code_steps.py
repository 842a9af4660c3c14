"""What the programs of the shipped problems are made of: operations on a number, a list of numbers or a word."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

LETTERS = "abcde"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One step in words and as a line of Python, short and long; {k} is a digit, {c} and {d} are letters."""

    text: str
    short: str
    long: str


@dataclass(frozen=True, kw_only=True)
class End:
    """What comes out: in words, as what is printed and as what is returned."""

    text: str
    printed: str
    returned: str


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What a program works on: how it is named, read and drawn. Neighbouring operations are easily confused."""

    name: str
    variable: str
    asked: str
    given: str
    read: str
    operations: tuple[Operation, ...]
    ends: tuple[End, ...]
    drawn: Callable[[Random], Any]


def _operations(table: str) -> tuple[Operation, ...]:
    rows = [[cell.strip().replace("/", "\n") for cell in row.split("|")] for row in table.strip().splitlines()]
    return tuple(Operation(text=text, short=short, long=long) for text, short, long in rows)


NUMBER = Kind(
    name="number", variable="n", asked="Read a number n.", given="Write solve(n) for a number n.",
    read="n = int(input())",
    operations=_operations("""
        Add {k} to n.              | n += {k}                | n = n + {k}
        Subtract {k} from n.       | n -= {k}                | n = n - {k}
        Multiply n by {k}.         | n *= {k}                | n = n * {k}
        Take n modulo {k}.         | n %= {k}                | n = n % {k}
        Raise n to at least {k}.   | n = max(n, {k})         | if n < {k}:/    n = {k}
        Lower n to at most {k}.    | n = min(n, {k})         | if n > {k}:/    n = {k}
        If n is odd, add {k}.      | if n % 2:/    n += {k}  | if n % 2 == 1:/    n = n + {k}
        If n is even, add {k}.     | if n % 2 < 1:/    n += {k}  | if n % 2 == 0:/    n = n + {k}
        Square n.                  | n *= n                  | n = n * n
        Double n.                  | n += n                  | n = n + n
        Negate n.                  | n = -n                  | n = 0 - n
    """),
    ends=(End(text="n", printed="n", returned="n"),),
    drawn=lambda random: random.randint(-20, 40),
)  # fmt: skip

LIST = Kind(
    name="list", variable="a", asked="Read a line of numbers.", given="Write solve(a) for a list of numbers.",
    read="a = list(map(int, input().split()))",
    operations=_operations("""
        Add {k} to each.           | a = [x + {k} for x in a]         | for i in range(len(a)):/    a[i] += {k}
        Subtract {k} from each.    | a = [x - {k} for x in a]         | for i in range(len(a)):/    a[i] -= {k}
        Multiply each by {k}.      | a = [x * {k} for x in a]         | for i in range(len(a)):/    a[i] *= {k}
        Take each modulo {k}.      | a = [x % {k} for x in a]         | for i in range(len(a)):/    a[i] %= {k}
        Keep those above {k}.      | a = [x for x in a if x > {k}]    | a = list(filter(lambda x: x > {k}, a))
        Keep those below {k}.      | a = [x for x in a if x < {k}]    | a = list(filter(lambda x: x < {k}, a))
        Append {k}.                | a.append({k})                    | a = a + [{k}]
        Keep the even ones.        | a = [x for x in a if x % 2 < 1]  | a = list(filter(lambda x: x % 2 == 0, a))
        Keep the odd ones.         | a = [x for x in a if x % 2]      | a = list(filter(lambda x: x % 2 == 1, a))
        Sort them.                 | a.sort()                         | a = sorted(a)
        Reverse them.              | a.reverse()                      | a = a[::-1]
        Drop the first.            | a = a[1:]                        | a = a[1:len(a)]
        Drop the last.             | a = a[:-1]                       | a = a[0:-1]
    """),
    ends=(
        End(text="them", printed="*a", returned="a"),
        End(text="their sum", printed="sum(a)", returned="sum(a)"),
        End(text="the largest", printed="max(a)", returned="max(a)"),
        End(text="how many there are", printed="len(a)", returned="len(a)"),
    ),
    drawn=lambda random: [random.randint(-9, 20) for _ in range(random.randint(4, 8))],
)  # fmt: skip

WORD = Kind(
    name="word", variable="s", asked="Read a word s.", given="Write solve(s) for a word s.",
    read="s = input()",
    operations=_operations("""
        Append "{c}" to s.          | s += "{c}"                 | s = s + "{c}"
        Put "{c}" before s.         | s = "{c}" + s              | s = "".join(["{c}", s])
        Replace "{c}" by "{d}".     | s = s.replace("{c}", "{d}")  | s = "{d}".join(s.split("{c}"))
        Reverse s.                  | s = s[::-1]                | s = "".join(reversed(s))
        Sort the letters.           | s = "".join(sorted(s))     | a = list(s)/a.sort()/s = "".join(a)
        Drop the first letter.      | s = s[1:]                  | s = s[1:len(s)]
        Drop the last letter.       | s = s[:-1]                 | s = s[0:-1]
        Write s twice.              | s *= 2                     | s = s + s
    """),
    ends=(
        End(text="s", printed="s", returned="s"),
        End(text="the length of s", printed="len(s)", returned="len(s)"),
        End(text='how often s has "a"', printed='s.count("a")', returned='s.count("a")'),
    ),
    drawn=lambda random: "".join(random.choice(LETTERS) for _ in range(random.randint(4, 7))),
)  # fmt: skip

KINDS = (NUMBER, LIST, WORD)
