"""What the judge is asked about a lesson: functions of a spec that run as jobs, on a page and without one.

They are classes, since a cluster cannot pickle a closure by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.judge import Check, Kernel, proofs
from engine.judge.plant import SHIFTED, STUCK, planted
from engine.spec import Spec, SpecError

Kernels = Callable[[Any], Sequence[Kernel]]
Checks = Callable[[Any, Any], Sequence[Check]]


@dataclass(frozen=True)
class KernelProofs:
    """The kernel's checks: those of the judge for each kernel that runs, then the lesson's own."""

    kernels: Kernels | None
    audit: Checks | None

    def __call__(self, spec: Spec, ticket: Any) -> list[Check]:
        """Every check of kind "kernel" of this spec."""
        found: list[Check] = []
        seed = getattr(spec, "seed", 0)
        for kernel in self.kernels(spec) if self.kernels else ():
            found += proofs(kernel, seed)
        if self.audit is not None and not ticket.is_set():
            found += self.audit(spec, ticket)
        return found


@dataclass(frozen=True)
class Planted:
    """What the checks say of a page with a fault in it, `(number of the kernel, its fault)`, `STUCK`, `SHIFTED`, or the
    name of one of the lesson's own faults.
    """

    kernels: Kernels | None
    audit: Checks | None
    checks: Checks | None
    faults: Callable[[Any], Mapping[str, Spec]] | None
    fault: tuple[int, str] | str

    def __call__(self, spec: Spec, ticket: Any) -> list[Check]:
        """The checks that look for this fault."""
        if isinstance(self.fault, tuple):
            assert self.kernels is not None
            return proofs(self.kernels(spec)[self.fault[0]].planted(self.fault[1]), getattr(spec, "seed", 0))
        if self.fault in (STUCK, SHIFTED):
            kind = "run" if self.fault == STUCK else "numbers"
            with planted(self.fault):
                return [check for check in self.checks(spec, ticket) if check.kind == kind] if self.checks else []
        own = self.faults(spec) if self.faults else {}
        if self.fault not in own:
            raise SpecError("fault", f"“{self.fault}” is not one of {', '.join(own) or 'none'}")
        found = list(self.audit(own[self.fault], ticket)) if self.audit else []
        return found + (list(self.checks(own[self.fault], ticket)) if self.checks else [])


def plantable(lesson: Any, spec: Spec, kind: str) -> dict[str, tuple[int, str] | str]:
    """What can be planted for the checks of one kind, by the words of the menu."""
    if kind == "run":
        return {STUCK: STUCK}
    if kind == "numbers":
        return {SHIFTED: SHIFTED}
    found: dict[str, tuple[int, str] | str] = {}
    kernels = lesson.kernels(spec) if lesson.kernels else ()
    for i, kernel in enumerate(kernels):
        where = f" ({kernel.name.split(' on ')[0]})" if len(kernels) > 1 else ""
        found |= {f"{fault.replace('_', ' ')}{where}": (i, fault) for fault in kernel.faults}
    own = lesson.faults(spec) if lesson.faults else {}
    return found | {name: name for name in own}
