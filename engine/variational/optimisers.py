"""Step rules for climbing a noisy gradient: Adam, and the decaying step size of automatic differentiation variational
inference.

Both keep their running averages in arrays that belong to the state of a run, and move parameters, averages and step in
one fused pass. They *ascend*: hand them the gradient of the ELBO. Arrays may be float32 or float64, all of one kind.

Sources: Kingma and Ba 2015 (Adam); Kucukelbir et al. 2017, eq. 10 = Steyn 2018, eq. 5.14 (decaying).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from engine.kernels import fast_kernel
from engine.spec import SpecError

ADAM, DECAYING = 0, 1


class Rule(NamedTuple):
    """A step rule as kernels take it: which one, its step size and three more numbers (see `Adam` and `Decaying`)."""

    which: int
    step_size: float
    a: float
    b: float
    c: float


@dataclass(frozen=True)
class Adam:
    """m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g**2; the step is step_size m' / (sqrt(v') + epsilon),
    where m' = m / (1 - beta1**t) and v' = v / (1 - beta2**t).

    step_size : about how far a parameter moves in one step
    """

    name: ClassVar[str] = "adam"
    step_size: float = 0.05
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def rule(self) -> Rule:
        """For kernels. Raises SpecError naming a wrong setting."""
        _positive("step_size", self.step_size)
        _positive("epsilon", self.epsilon)
        for name in ("beta1", "beta2"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise SpecError(name, f"{getattr(self, name)!r} is not a number from 0 to below 1")
        return Rule(ADAM, float(self.step_size), float(self.beta1), float(self.beta2), float(self.epsilon))


@dataclass(frozen=True)
class Decaying:
    """s = alpha g**2 + (1 - alpha) s, beginning with g**2; step t is step_size t**(-1/2) g / (tau + sqrt(s)).

    The sum of the steps is infinite while they shrink, so that the noise dies out (Robbins and Monro 1951). The papers
    write t**(-1/2 + 1e-16), which is the same number in double precision, and choose step_size among 0.01, 0.1, 1, 10
    and 100.
    """

    name: ClassVar[str] = "decaying"
    step_size: float = 0.1
    alpha: float = 0.1
    tau: float = 1.0

    def rule(self) -> Rule:
        """For kernels. Raises SpecError naming a wrong setting."""
        _positive("step_size", self.step_size)
        _positive("tau", self.tau)
        if not 0.0 < self.alpha <= 1.0:
            raise SpecError("alpha", f"{self.alpha!r} is not a number above 0, at most 1")
        return Rule(DECAYING, float(self.step_size), float(self.alpha), float(self.tau), 0.0)


OPTIMISERS: dict[str, Any] = {"adam": Adam, "decaying": Decaying}


@fast_kernel
def ascend(rule, step, parameters, gradient, first, second):
    """Move `parameters` (n,) up along `gradient` (n,) by step number `step`, counted from 1.

    first, second : (n,), running averages of the gradient and of its square, zeros before step 1; `Decaying` leaves
        `first` alone
    """
    kind = parameters.dtype.type
    one = kind(1.0)
    if rule.which == ADAM:
        b1, b2, epsilon = kind(rule.a), kind(rule.b), kind(rule.c)
        length = kind(rule.step_size / (1.0 - rule.a**step))
        scale = kind(1.0 / math.sqrt(1.0 - rule.b**step))
        for i in range(parameters.size):
            g = gradient[i]
            first[i] = b1 * first[i] + (one - b1) * g
            second[i] = b2 * second[i] + (one - b2) * g * g
            parameters[i] += length * first[i] / (kind(math.sqrt(second[i])) * scale + epsilon)
    else:
        old, tau = kind(1.0 - rule.a if step > 1 else 0.0), kind(rule.b)
        length = kind(rule.step_size / math.sqrt(step))
        for i in range(parameters.size):
            g = gradient[i]
            second[i] = old * second[i] + (one - old) * g * g
            parameters[i] += length * g / (tau + kind(math.sqrt(second[i])))


def _positive(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 < value < math.inf:
        raise SpecError(name, f"{value!r} is not a number above 0")
