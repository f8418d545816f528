"""MC dropout: a network whose units come and go, read as a distribution over networks.

What enters layer l is multiplied by z c, z ~ Bernoulli(p_l), c = 1 / p_l, a new draw for every row, unit and step, so that
on average it says the same. A step of Adam climbs

    log p(y | x, W, z) - sum_l p_l c^2 |W_l|^2 / (2 s^2) - |biases|^2 / (2 s^2)

s the prior's sd. To predict, draw masks again: each is a network. With p learned (concrete dropout) the masks are
z = sigmoid((logit p + logit u) / t), through which p has a slope, and the entropy of the masks joins.

Source: Gal and Ghahramani 2016; Gal, Hron and Kendall 2017. The kernel counts in single precision.
"""

import numpy as np

BETA1, BETA2 = 0.9, 0.999


def dropout(x, y, layers, keep, uniforms, paces, noise_sd=1.0, prior_sd=1.0, temperature=0.1, learn=None, variant="exact"):
    """The layers and p before each step and after the last, from layers, a list of (inputs + 1, outputs), biases last, on.

    keep : (layers,), p; uniforms(t) : u of step t = 1, 2, ..., a list of (rows, inputs); paces : the step sizes
    learn : step sizes of logit p, None keeps p
    """
    keep = np.array(keep, float)
    with np.errstate(divide="ignore"):
        logit = np.log(keep) - np.log1p(-keep)
    drops, adams, adam_p, path = np.isfinite(logit), [Adam() for _ in layers], Adam(), [(layers, keep)]
    for t, pace in enumerate(paces, start=1):
        # phase: mask
        c = np.ones_like(keep) if variant == "unscaled" else 1.0 / keep  # wrong: unscaled
        masks = uniforms(t)
        for l in range(len(layers)):
            soft = learn is not None and drops[l]
            masks[l] = sigmoid((logit[l] + np.log(masks[l]) - np.log1p(-masks[l])) / temperature) if soft else masks[l] < keep[l]
        # phase: forward
        h, entered = x, []
        for l, W in enumerate(layers):
            entered.append(np.column_stack([h * masks[l] * c[l], np.ones(len(x))]))
            out = entered[-1] @ W
            h = np.tanh(out)
        # phase: backward
        delta, slopes, p_slope = (y - out) / noise_sd**2, list[np.ndarray](), np.zeros_like(keep)
        for l in range(len(layers) - 1, -1, -1):
            slopes.insert(0, entered[l].T @ delta)
            back = delta @ layers[l][:-1].T
            if learn is not None and drops[l]:
                p, W2 = keep[l], 0.5 * (layers[l][:-1] ** 2).sum() / prior_sd**2
                pull, moment = (0.0, p * (1.0 - p)) if variant == "unscaled" else (1.0 - p, -(1.0 - p) / p)
                p_slope[l] = (back * entered[l][:, :-1] * ((1.0 - masks[l]) / temperature - pull)).sum()
                p_slope[l] += -p * (1.0 - p) * logit[l] * len(layers[l][:-1]) - W2 * moment
            if l > 0:
                value = entered[l][:, :-1] / np.where(masks[l] > 0, masks[l] * c[l], 1.0)
                delta = back * masks[l] * c[l] * (1.0 - value**2)
        # phase: step
        if learn is not None:
            logit = logit + adam_p(p_slope, learn[t - 1], 1e-8, 0.0)
            keep = sigmoid(logit)
        moments = keep if variant == "unscaled" else 1.0 / keep
        shrink = [np.append(np.full(len(W) - 1, m), 1.0)[:, None] / prior_sd**2 for W, m in zip(layers, moments, strict=True)]
        parts = zip(layers, adams, slopes, shrink, strict=True)
        layers = [W + adam(slope - s * W, pace, 0.0, 1e-16) for W, adam, slope, s in parts]
        path.append((layers, keep))
    return path


def sigmoid(a):
    return 1.0 / (1.0 + np.exp(-a))


class Adam:
    """Steps along a noisy gradient: its running average over the root of that of its square."""

    t, first, second = 0, 0.0, 0.0

    def __call__(self, g, step_size, outside, under):
        # phase: step
        self.t += 1
        self.first = BETA1 * self.first + (1.0 - BETA1) * g
        self.second = BETA2 * self.second + (1.0 - BETA2) * g * g
        root = np.sqrt(self.second / (1.0 - BETA2**self.t) + under) + outside
        return step_size / (1.0 - BETA1**self.t) * self.first / root


if __name__ == "__main__":
    from engine.readable import beside

    beside.report(
        "500 steps of a network under dropout: its weights",
        lambda: beside.dropped(dropout, 500),
        lambda: beside.dropped_by_kernel(500),
        rows=30,
    )
