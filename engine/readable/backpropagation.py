"""Backpropagation: the derivative of the loss in every weight, by one pass forward and one back.

Forward, layer by layer: z_l = W_l h_(l-1) + b_l, h_l = phi(z_l), h_0 = x; the last layer has no phi. Backward, with
delta_l = dE/dz_l of the loss E = -log p(y | x),

    delta_L = dE/dz_L,   delta_l = phi'(z_l) (W_(l+1)' delta_(l+1)),   dE/dW_l = delta_l h_(l-1)',   dE/db_l = delta_l

Source: Rumelhart, Hinton and Williams 1986; Bishop 2006, section 5.3.
"""

import numpy as np

PHI: dict[str, tuple] = {
    "tanh": (np.tanh, lambda z: 1.0 - np.tanh(z) ** 2),
    "relu": (lambda z: np.maximum(z, 0.0), lambda z: (z > 0.0) * 1.0),
    "sigmoid": (lambda z: 1.0 / (1.0 + np.exp(-z)), lambda z: np.exp(-np.logaddexp(0.0, z) - np.logaddexp(0.0, -z))),
    "linear": (lambda z: z, np.ones_like),
    "elu": (lambda z: np.where(z > 0.0, z, np.exp(np.minimum(z, 0.0)) - 1.0), lambda z: np.exp(np.minimum(z, 0.0))),
}


def backpropagation(layers, x, slope_of_loss, activation="tanh", variant="exact"):
    """dE/dW and dE/db of every layer, summed over the rows of x (n, inputs).

    layers : a list of (W (out, in), b (out,)); slope_of_loss : z_L (n, outputs) -> dE/dz_L
    """
    phi, phi_slope = PHI[activation]
    values, sums, found = [x], [], list[tuple]()
    # phase: forward
    for index, (W, b) in enumerate(layers):
        z = values[-1] @ W.T + b
        sums.append(z)
        values.append(phi(z) if index + 1 < len(layers) else z)
    # phase: backward
    delta = slope_of_loss(sums[-1])
    for index in range(len(layers) - 1, -1, -1):
        bias = np.zeros(len(layers[index][1])) if variant == "no_bias" else delta.sum(axis=0)  # wrong: no_bias
        found.insert(0, (delta.T @ values[index], bias))
        if index > 0:
            slope = 1.0 if variant == "no_slope" else phi_slope(sums[index - 1])  # wrong: no_slope
            delta = slope * (delta @ layers[index][0])
    return found


if __name__ == "__main__":
    from engine.readable import beside

    network, x, y = beside.small_network(width=20)
    target, draws = network.log_likelihood(x, y), beside.stream(0).standard_normal((200, network.dim))
    beside.report(
        f"Gradients of a network's {network.dim} weights at 200 places",
        lambda: np.array([beside.gradient_by(backpropagation, network, theta, x, y) for theta in draws]),
        lambda: np.array([-target.log_density_and_gradient(theta)[1] for theta in draws]),
    )
