"""What several networks say together, and of what they are unsure: p_r(c | x) of R networks, averaged.

    total      H[mean_r p_r]             entropy of the average
    aleatoric  mean_r H[p_r]             what each network is unsure of: the classes overlap
    epistemic  total - aleatoric >= 0    what they disagree about: the networks do not know

with H[p] = -sum_c p_c log p_c, in nats: the epistemic part is the mutual information of the class and the network.
Source: Depeweg et al. 2018, section 3; Houlsby et al. 2011.
"""

import numpy as np


def uncertainty(p, variant="exact"):
    """Average (m, classes), total, aleatoric and epistemic (m,) of probabilities p (R, m, classes)."""
    if variant == "one_network":  # wrong: one_network
        p = p[:1]
    if variant == "log_average":  # wrong: log_average
        average = np.exp(np.log(p).mean(axis=0))
        average = average / average.sum(axis=1, keepdims=True)
    else:
        average = p.mean(axis=0)
    total = entropy(average)
    aleatoric = entropy(p).mean(axis=0)
    epistemic = total if variant == "total_as_epistemic" else total - aleatoric  # wrong: total_as_epistemic
    return average, total, aleatoric, epistemic


def entropy(p):
    """In nats; where p is 0, p log p is 0."""
    return -(p * np.log(np.where(p > 0.0, p, 1.0))).sum(axis=-1)


if __name__ == "__main__":
    from engine.readable import beside
    from engine.scores import decompose

    p = beside.stream(0).dirichlet(np.ones(10), (200, 1000))
    beside.report("200 networks, 1000 images, 10 classes: the average", lambda: uncertainty(p)[0], lambda: decompose(p).mean)
