"""Metropolis-Hastings on a ring of islands: who lives where decides how long the walker stays.

From island i the coin proposes the neighbour to the right with probability p, else the one to the left. With w the
people of the islands and u ~ U(0, 1) the walker goes there if u < r,

    r = w_j q(i | j) / (w_i q(j | i)),    q of the way back over q of the way there: (1 - p) / p or p / (1 - p)

and otherwise stays: the island counts once more. Source: Hastings 1970, section 2.
"""


def islands(w, i, n, rng, p=0.5, variant="exact"):
    """n islands, from island i on, 0-based; w : (islands,), people on each."""
    draws = list[int]()
    while len(draws) < n:
        # phase: propose
        right = rng.random() < p
        j = (i + 1 if right else i - 1) % len(w)
        # phase: ratio
        q = (1.0 - p) / p if right else p / (1.0 - p)
        r = w[j] / w[i] * (1.0 if variant == "no_hastings" else q)  # wrong: no_hastings
        # phase: u
        u = rng.random()
        # phase: decide
        if u < r:
            i = j
        elif variant == "drop_rejections":  # wrong: drop_rejections
            continue  # i is not counted again
        draws.append(i)
    return draws


if __name__ == "__main__":
    import numpy as np

    from engine.readable import beside
    from engine.samplers.islands import walk_islands

    people = np.arange(1.0, 8.0)
    beside.report(
        "2000 days on seven islands with 1 to 7 people",
        lambda: np.array(islands(people, 3, 2000, beside.stream(0)), float),
        lambda: walk_islands(people, 2000, 0, start=3).draws.astype(float),
    )
