"""Rosenblatt's perceptron: a line that is moved by every point it gets wrong.

The unit says +1 where w . x + b > 0. Points are visited in order, again and again; a point with y (w . x + b) <= 0,
y = +1 or -1, is a mistake, and

    w <- w + y x,    b <- b + y

If a line separates the classes, there are at most (R / gamma)^2 mistakes, R the longest point with a 1 appended, gamma
the margin. Source: Rosenblatt 1958; Novikoff 1962.
"""

import numpy as np


def perceptron(x, y, epochs, w=None):
    """w and then b before each visit and after the last (V + 1, d + 1), and which visits were mistakes (V,). y : -1, 1."""
    x = np.column_stack([x, np.ones(len(x))])
    w = np.zeros(x.shape[1]) if w is None else w
    path, mistakes = [w], []
    for _ in range(epochs):
        for point, sign in zip(x, y, strict=True):
            # phase: look
            wrong = sign * (w @ point) <= 0.0
            # phase: move
            w = w + sign * point if wrong else w
            path.append(w)
            mistakes.append(wrong)
        if not any(mistakes[-len(x) :]):
            break
    return np.array(path), np.array(mistakes)


if __name__ == "__main__":
    from engine.readable import beside
    from engine.training.perceptron import learn

    x = beside.stream(0).standard_normal((100, 2))
    y = np.where(x[:, 0] + x[:, 1] > 0.1, 1, -1)
    x += 0.2 * y[:, None]
    beside.report(
        "100 points that a line separates: w and b", lambda: perceptron(x, y, 100)[0], lambda: learn(x, (y > 0).astype(int)).weights
    )
