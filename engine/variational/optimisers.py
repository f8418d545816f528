"""Step rules for climbing a noisy gradient: plain steps, momentum, AdaGrad, RMSProp, Adam, and the decaying step size of
automatic differentiation variational inference.

All keep their running averages in arrays that belong to the state of a run, and move parameters, averages and step in
one fused pass. They *ascend*: hand them the gradient of the ELBO, or minus that of a loss. Arrays may be float32 or
float64, all of one kind.

Sources: Robbins and Monro 1951 (plain); Polyak 1964 (momentum); Nesterov 1983, in the form of Sutskever et al. 2013;
Duchi, Hazan and Singer 2011 (AdaGrad); Tieleman and Hinton 2012 (RMSProp); Kingma and Ba 2015 (Adam); Kucukelbir et al.
2017, eq. 10 = Steyn 2018, eq. 5.14 (decaying).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from engine.kernels import inlined
from engine.spec import SpecError

ADAM, DECAYING, PLAIN, MOMENTUM, NESTEROV, RMSPROP, ADAGRAD = range(7)


class Rule(NamedTuple):
    """A step rule as kernels take it: which one, its step size and three more numbers (see the rules below)."""

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
        _share("beta1", self.beta1)
        _share("beta2", self.beta2)
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


@dataclass(frozen=True)
class Sgd:
    """The step is step_size g: gradient descent, stochastic where g comes from a minibatch."""

    name: ClassVar[str] = "sgd"
    step_size: float = 0.01

    def rule(self) -> Rule:
        """For kernels. Raises SpecError naming a wrong setting."""
        _positive("step_size", self.step_size)
        return Rule(PLAIN, float(self.step_size), 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Momentum:
    """v = momentum v + g; the step is step_size v, or with `nesterov` step_size (g + momentum v).

    Along a constant gradient the steps grow to step_size g / (1 - momentum).
    """

    name: ClassVar[str] = "momentum"
    step_size: float = 0.01
    momentum: float = 0.9
    nesterov: bool = False

    def rule(self) -> Rule:
        """For kernels. Raises SpecError naming a wrong setting."""
        _positive("step_size", self.step_size)
        _share("momentum", self.momentum)
        return Rule(NESTEROV if self.nesterov else MOMENTUM, float(self.step_size), float(self.momentum), 0.0, 0.0)


@dataclass(frozen=True)
class RmsProp:
    """v = decay v + (1 - decay) g**2; the step is step_size g / (sqrt(v) + epsilon)."""

    name: ClassVar[str] = "rmsprop"
    step_size: float = 0.01
    decay: float = 0.9
    epsilon: float = 1e-8

    def rule(self) -> Rule:
        """For kernels. Raises SpecError naming a wrong setting."""
        _positive("step_size", self.step_size)
        _positive("epsilon", self.epsilon)
        _share("decay", self.decay)
        return Rule(RMSPROP, float(self.step_size), float(self.decay), float(self.epsilon), 0.0)


@dataclass(frozen=True)
class AdaGrad:
    """v = v + g**2; the step is step_size g / (sqrt(v) + epsilon): along a constant gradient step t is step_size / sqrt(t)."""

    name: ClassVar[str] = "adagrad"
    step_size: float = 0.1
    epsilon: float = 1e-8

    def rule(self) -> Rule:
        """For kernels. Raises SpecError naming a wrong setting."""
        _positive("step_size", self.step_size)
        _positive("epsilon", self.epsilon)
        return Rule(ADAGRAD, float(self.step_size), float(self.epsilon), 0.0, 0.0)


Optimiser = Adam | Decaying | Sgd | Momentum | RmsProp | AdaGrad
OPTIMISERS: dict[str, Any] = {"adam": Adam, "decaying": Decaying, "sgd": Sgd, "momentum": Momentum, "rmsprop": RmsProp, "adagrad": AdaGrad}


@inlined
def ascend(rule, step, parameters, gradient, first, second):
    """Move `parameters` (n,) up along `gradient` (n,) by step number `step`, counted from 1.

    first, second : (n,), running averages of the gradient and of its square, zeros before step 1; a rule that does not
        use one leaves it alone
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
    elif rule.which == PLAIN:
        length = kind(rule.step_size)
        for i in range(parameters.size):
            parameters[i] += length * gradient[i]
    elif rule.which == MOMENTUM or rule.which == NESTEROV:
        length, kept = kind(rule.step_size), kind(rule.a)
        # How much of the step is the gradient itself, and how much is the velocity.
        fresh, carried = (one, kept) if rule.which == NESTEROV else (kind(0.0), one)
        for i in range(parameters.size):
            first[i] = kept * first[i] + gradient[i]
            parameters[i] += length * (fresh * gradient[i] + carried * first[i])
    elif rule.which == RMSPROP:
        length, kept, epsilon = kind(rule.step_size), kind(rule.a), kind(rule.b)
        for i in range(parameters.size):
            g = gradient[i]
            second[i] = kept * second[i] + (one - kept) * g * g
            parameters[i] += length * g / (kind(math.sqrt(second[i])) + epsilon)
    elif rule.which == ADAGRAD:
        length, epsilon = kind(rule.step_size), kind(rule.a)
        for i in range(parameters.size):
            g = gradient[i]
            second[i] += g * g
            parameters[i] += length * g / (kind(math.sqrt(second[i])) + epsilon)
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


def _share(name: str, value: float) -> None:
    if not 0.0 <= value < 1.0:
        raise SpecError(name, f"{value!r} is not a number from 0 to below 1")
