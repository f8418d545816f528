"""The No-U-Turn Sampler: Hamiltonian Monte Carlo that finds out by itself how far to go.

The trajectory grows by doubling, forwards or backwards in time by a coin, until it turns. A state weighs
w = exp(H0 - H). In an extension the draw is taken in proportion to the weights; between the trajectory and a whole
extension it is the extension's with probability min(1, w_new / w_old). The trajectory goes on while

    v- . rho > 0  and  v+ . rho > 0,    v = M^-1 p at both ends, rho the sum of all momenta in between,

for the whole of it, and for each half with the nearest state of the other one. An extension that turns or diverges
inside is thrown away. In the slice form w is 1 if log u <= H0 - H and else 0, and the ends must move apart:
(q+ - q-) . p >= 0. Source: Hoffman and Gelman 2014, algorithm 3 (slice); Betancourt 2017, appendix A.
"""

import math
from typing import Any, NamedTuple

import numpy as np


class State(NamedTuple):
    q: Any
    p: Any
    log_pi: float
    g: Any


class Tree(NamedTuple):
    """States in a row: the first and the last in time, the sum of their momenta, the draw among them, log w of all:
    a chain that starts far away gains more than w itself has room for."""

    minus: State
    plus: State
    rho: Any
    draw: State
    log_w: float


def nuts(target, q, n, rng, step_size, inverse_mass=1.0, **settings):
    """n draws (n, dim) from pi, from q (dim,) on. target(q) gives log pi and its gradient (dim,).

    inverse_mass : M^-1, its diagonal, a number or (dim,), or all of it (dim, dim); settings : see `transition`
    """
    W = np.broadcast_to(inverse_mass, q.shape) if np.ndim(inverse_mass) < 2 else np.asarray(inverse_mass)
    x, draws = State(q, None, *target(q)), []
    for _ in range(n):
        x, _ = transition(target, x, rng, step_size, W, **settings)
        draws.append(x.q)
    return np.array(draws)


def transition(target, x, rng, epsilon, W, max_depth=10, sampling="multinomial", variant="exact", max_energy_error=1000.0):
    """The next state, and the mean of min(1, exp(H0 - H)) over all that were made. W : M^-1 as above."""
    # phase: momentum
    root = np.sqrt(1.0 / W) if W.ndim < 2 else np.linalg.cholesky(np.linalg.inv(W))
    start = x._replace(p=times(root, rng.standard_normal(x.q.size)))
    h0 = 0.5 * sum(start.p * times(W, start.p)) - start.log_pi
    sliced, accepts = sampling == "slice", []
    log_u = math.log(1.0 - rng.random()) if sliced else 0.0
    tree = Tree(start, start, start.p, start, 0.0)
    sense = -1.0 if variant == "reversed_dot" else 1.0  # wrong: reversed_dot

    def leapfrog(state, step):
        # phase: grow/leapfrog, extension
        p = state.p + 0.5 * step * state.g
        q = state.q + step * times(W, p)
        log_pi, g = target(q)
        return State(q, p + 0.5 * step * g, log_pi, g)

    def build(state, depth, sign):
        """An extension of 2**depth states behind `state`, and its last one; None if it turns or diverges inside."""
        # phase: grow/leapfrog, extension
        if depth == 0:
            new = leapfrog(state, sign * epsilon)
            log_w = h0 - (0.5 * sum(new.p * times(W, new.p)) - new.log_pi)
            accepts.append(math.exp(min(log_w, 0.0)) if log_w == log_w else 0.0)
            if not (math.isfinite(log_w) and -log_w <= max_energy_error - log_u):
                return None, new  # it diverges
            return Tree(new, new, new.p, new, (0.0 if log_u <= log_w else -math.inf) if sliced else float(log_w)), new
        # phase: grow/join, extension
        old, end = build(state, depth - 1, sign)
        if old is None:
            return None, end
        new, end = build(end, depth - 1, sign)
        if new is None:
            return None, end
        one_p = end.p if variant == "aliased_momentum" else None  # wrong: aliased_momentum
        if turns(old, new, sign, one_p):
            return None, end
        return join(old, new, sign, rng.random() < math.exp(new.log_w - float(np.logaddexp(old.log_w, new.log_w)))), end

    def turns(old, new, sign, one_p=None):
        # phase: grow/join, extension
        left, right = (old, new) if sign > 0 else (new, old)
        a, b, c, d = (s if one_p is None else s._replace(p=one_p) for s in (left.minus, left.plus, right.minus, right.plus))
        if sliced:
            return not (sum((d.q - a.q) * a.p) >= 0.0 and sense * sum((d.q - a.q) * d.p) >= 0.0)
        spans = [(a, d, left.rho + right.rho), (a, c, left.rho + c.p), (b, d, right.rho + b.p)]
        return not all(sum(times(W, s.p) * rho) > 0.0 and sense * sum(times(W, e.p) * rho) > 0.0 for s, e, rho in spans)

    for depth in range(max_depth):
        # phase: grow/coin
        sign = 1 if rng.random() < 0.5 else -1
        new, _ = build(tree.plus if sign > 0 else tree.minus, depth, sign)
        if new is None:
            break
        # phase: grow/join, extension
        took_new, done = rng.random() < math.exp(min(new.log_w - tree.log_w, 0.0)), turns(tree, new, sign)
        tree = join(tree, new, sign, took_new)
        if done:
            break
    # phase: draw
    accept, draw = sum(accepts) / len(accepts), tree.draw
    if variant == "final_accept" and not rng.random() < accept:  # wrong: final_accept
        draw = start
    return draw, accept


def times(W, p):
    """W p, where a diagonal W is (dim,)."""
    return W * p if W.ndim < 2 else W @ p


def join(old, new, sign, took_new):
    # phase: grow/join, extension
    left, right = (old, new) if sign > 0 else (new, old)
    return Tree(left.minus, right.plus, old.rho + new.rho, new.draw if took_new else old.draw, float(np.logaddexp(old.log_w, new.log_w)))


if __name__ == "__main__":
    from engine.readable import beside

    beside.sampler(nuts, beside.with_gradient, {"step_size": 0.3})
