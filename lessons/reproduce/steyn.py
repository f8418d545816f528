"""Steyn 2018: Newton steps, three weights by two methods, sizes of networks, and scores that rank alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from datasets import local
from datasets.images import Images, digits
from datasets.letters import letters
from datasets.logistic import INPUT_SD, TRAIN, logistic_pairs
from datasets.transforms import rotate
from engine import scores
from engine.diagnostics import least_ess
from engine.logistic import newton, sigmoid
from engine.networks import Network, network
from engine.networks.predictive import outputs
from engine.samplers import sample
from engine.spec import SpecError
from engine.targets.target import Target
from engine.training import train
from engine.variational import STEYN, Fit, NetworkFit, advi, elbo, fit_network, logistic_regression, start_convolution, start_network
from engine.variational.optimisers import Decaying, RmsProp
from lessons.reproduce.experiment import A_PART, FULL, QUICK, WORDS, Beside, Cell, Experiment, Part, worded
from lessons.reproduce.trained import state_path, trained

# Newton ---------------------------------------------------------------------------------------------------------------

CRITERION, MOST_SETS = 5e-4, 400


WIDE = 4.0  # sd of x, tried in place of 1.5


def _newton(number: int, form: str) -> Part:
    return {**_climb(number, INPUT_SD), **{f"{key}, wide": value for key, value in _climb(number, WIDE).items()}}


def _climb(seed: int, input_sd: float) -> Part:
    pairs = logistic_pairs(seed=seed, input_sd=input_sd)
    found = newton(pairs.x[:TRAIN], pairs.y[:TRAIN], tolerance=CRITERION)
    w = found.path[-1]
    said = sigmoid(w[0] + w[1] * pairs.x[TRAIN:]) > 0.5
    right = 100.0 * float((said == pairs.y[TRAIN:]).mean())
    return {"w0": float(w[0]), "w1": float(w[1]), "right": right, "steps": float(len(found.path) - 1)}


# Three weights, by Metropolis and by ADVI -----------------------------------------------------------------------------

SETTLED = "settled"
BY_WINDOW, FINER_STEP = (f"{SETTLED}, {rule}" for rule in ("windowed", "finer"))  # by other rules than the printed one
CLASSIFIED, CLIMBS, EVERY = 200, 40_000, 100  # points; steps of the optimiser, and how often q is looked at
GRID = (0.01, 0.1, 1.0, 10.0, 100.0)  # step sizes among which the rule chooses, by the ELBO after TRIED steps
TRIED = 1_000
WITHIN = 0.1  # nats below where the ELBO stays in the end: there it has settled
ENOUGH = 100.0  # independent draws, whose mean is known to a tenth of the sd
BURNT, KEPT = 500, 10_000  # transitions, as printed
FINER = Decaying(0.02)  # between two of the grid
WINDOWED = RmsProp(0.001 / math.sqrt(10.0), decay=0.9)  # near the rule that the library has by default


def _three_weights(number: int, form: str) -> Part:
    """Steps until the ELBO has settled, by three rules; and those of Metropolis until the means are known as well."""
    from sklearn.datasets import make_classification

    x, y = make_classification(CLASSIFIED, n_features=2, n_informative=2, n_redundant=0, n_clusters_per_class=1, random_state=number)
    target = logistic_regression(np.column_stack([np.ones(len(x)), x]), y, prior_sd=1.0)
    tried = [_in_the_end(_climbed(target, Decaying(step_size), TRIED, number)[1]) for step_size in GRID]
    best = Decaying(GRID[int(np.argmax(tried))])
    rules: dict[str, Decaying | RmsProp] = {SETTLED: best, FINER_STEP: FINER, BY_WINDOW: WINDOWED}
    climbs = {key: _climbed(target, rule, CLIMBS, number) for key, rule in rules.items()}
    sd = climbs[SETTLED][0].averaged().sd
    scale = 2.4 / math.sqrt(target.dim) * sd
    run = sample(target, "metropolis", chains=1, draws=KEPT, warmup=BURNT, seed=number, init=np.zeros(target.dim), scale=scale)
    return {
        **{key: float(_settled(values)) for key, (_, values) in climbs.items()},
        "metropolis": BURNT + KEPT * ENOUGH / least_ess(run.draws),
    }


def _climbed(target: Target, rule: Decaying | RmsProp, steps: int, seed: int) -> tuple[Fit, np.ndarray]:
    """A fit, and its ELBO by quadrature in every EVERY-th step."""
    fit = advi(target, steps=steps, every=EVERY, seed=seed, optimiser=rule)
    return fit, elbo(target, fit.parameters, nodes=8).value


def _in_the_end(values: np.ndarray) -> float:
    return float(values[len(values) // 2 :].mean())


def _settled(values: np.ndarray) -> int:
    """The first step in which the ELBO is as high as in the end, but for WITHIN."""
    return EVERY * int(np.argmax(values >= _in_the_end(values) - WITHIN))


# Two hidden layers of 5 -----------------------------------------------------------------------------------------------

TABLE = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
XOR = np.array([0, 1, 1, 0])
MOONS, NOISES = 1000, {"": 0.2, ", noisier": 0.3}  # points, half of them to test on; sds


def _truth_table(number: int, form: str) -> Part:
    """Predictions of the four rows by the best of ten small networks: some starts end in a lesser minimum."""
    net = network(2, 1, width=5, depth=2, activation="tanh", likelihood="bernoulli")
    runs = [train(net, TABLE, XOR, epochs=1000, step_size=0.02, seed=seed) for seed in range(10)]
    best = min(runs, key=lambda run: float(run.loss[-1])).path[-1:]
    p = sigmoid(outputs(net, best, TABLE)[0, :, 0])
    return {f"{int(a)}{int(b)}": float(value > 0.5) for (a, b), value in zip(TABLE, p, strict=True)}


def _moons(number: int, form: str) -> Part:
    """Test accuracy of 2-5-5-1 on two moons, by descent, with dropout, and by a mean-field posterior."""
    from sklearn.datasets import make_moons

    found: Part = {}
    net = network(2, 1, width=5, depth=2, activation="relu", likelihood="bernoulli")
    for suffix, noise in NOISES.items():
        x, y = make_moons(MOONS, noise=noise, random_state=number)
        x = (x - x.mean(axis=0)) / x.std(axis=0)
        half = MOONS // 2
        for name, keep in (("descent", 1.0), ("dropout", 0.8)):
            run = train(net, x[:half], y[:half], optimiser="sgd", step_size=0.1, batch=32, epochs=300, keep=keep, seed=number)
            found[name + suffix] = _right(net, run.path[-1:], x[half:], y[half:])
        fit = advi(net.posterior(x[:half], y[:half]), steps=15_000, every=15_000, seed=number, optimiser=Decaying(0.1))
        draws = fit.mean[-1] + fit.sd[-1] * np.random.default_rng(number).standard_normal((200, net.dim))
        found["variational" + suffix] = _right(net, draws, x[half:], y[half:])
    return found


def _right(net: Network, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """Accuracy of the mean prediction, in %."""
    return 100.0 * float(((sigmoid(outputs(net, np.ascontiguousarray(theta), x)[:, :, 0]).mean(axis=0) > 0.5) == y).mean())


# Sizes ----------------------------------------------------------------------------------------------------------------


def weights_of(*layers: int) -> int:
    """Weights of a dense network, biases not counted."""
    return sum(a * b for a, b in pairwise(layers))


def sides(side: int, kernel: int, pool: int, times: int = 2) -> tuple[int, ...]:
    """Sides of the maps of `times` convolutions without padding, each with max-pooling of stride 2: of the image, then
    behind each convolution and each pooling."""
    found = [side]
    for _ in range(times):
        found.append(found[-1] - kernel + 1)
        found.append((found[-1] - pool) // 2 + 1)
    return tuple(found)


def flattened(side: int, filters: int, kernel: int, pool: int) -> int:
    """Inputs of the dense layer behind two of these."""
    return sides(side, kernel, pool)[-1] ** 2 * filters


def _sizes(number: int, form: str) -> Part:
    net = network(2, 1, width=5, depth=2, likelihood="bernoulli")
    biases = sum(count for _, count in net.layer_shapes)
    return {
        "small": float(net.dim - biases),
        "dense": float(weights_of(784, 600, 600, 10)),
        "flat": float(flattened(28, 32, 5, 2)),
        "flat, pooled by 3": float(flattened(28, 32, 5, 3)),
    }


# Scores ---------------------------------------------------------------------------------------------------------------

NETWORKS = 1000  # as printed


def _scores(number: int, form: str) -> Part:
    """γ(0.1) of three scores for one posterior on the bundled digits, and their gaps."""
    images = digits()
    fit = fit_network(images.x[:500], images.y[:500], method="gaussian", hidden=(30,), epochs=60, seed=number)
    prediction = fit.predict(images.x_test, samples=NETWORKS, seed=number)
    assert prediction is not None
    draws, y = prediction.draws.astype(np.float64), images.y_test
    wrong = draws.mean(axis=0).argmax(axis=1) != y
    if not wrong.any():
        raise SpecError("images", "no prediction is wrong")
    apart = scores.gamma(scores.inconsistency(draws), wrong)
    ga = scores.gamma(scores.gaussian_approximation(draws, scores.agreement_cutoff(draws, y)), wrong)
    of_all = draws.std(axis=0, ddof=1).mean(axis=1)
    return {
        "sd": scores.gamma(scores.predicted_sd(draws), wrong) - apart,
        "sd of all": scores.gamma(of_all, wrong) - apart,
        "ga": ga - apart,
    }


def _gaps(id: str, sd: float, ga: float, wrong: int) -> Experiment:
    # α is known to sqrt(0.1 * 0.9 / wrong); both scores are of the same images, so most of it is common to both
    return worded(
        id=id,
        values={"networks": NETWORKS, "wrong": wrong},
        link="/scores?scenario=ga&learnt=500",
        parts=(6, 20),
        seconds=(15, 60),
        run=_scores,
        exact=lambda: {"ga": 0.0},
        cells=(
            Cell(key="ga", printed=ga, half=0.001),
            Cell(key="sd", printed=sd, half=0.001, error=float(np.sqrt(0.09 / wrong)), like=A_PART, tried={"sd of all": ""}),
        ),
    )


# MNIST ----------------------------------------------------------------------------------------------------------------

LEARNT, BATCH = 50_000, 1_000  # the first of the 60,000 images; which 50,000 is not printed
EPOCHS = {"steyn-7.3": (10, 100), "steyn-7.3-start": (10, 100), "steyn-7.3-rule": (10, 100), "steyn-7.4": (4, 2_000)}  # quick, full
DRAWS = 100  # networks; 1,000 in the full form, as printed
AT_ONCE = 1_000  # test images whose probabilities are held by every network
# Small standard deviations at the start: the means learn before the noise has grown. Adam in place of the decaying step.
TRAINING = {"method": "gaussian", "prior_sd": 1.0, "batch": BATCH, "step_size": 1e-3, "initial_sd": 0.01}
START = {"initial_sd": 1.0, "estimator": "weights"}  # of its text
# Of the step sizes that the text tries, 0.01 to 100, the one with the highest ELBO after ten epochs.
RULE = {"optimiser": "decaying", "step_size": 1.0, "final_step_size": 1.0}
CHANGED: dict[str, dict[str, Any]] = {"steyn-7.3-start": START, "steyn-7.3-rule": START | RULE}


def _network(id: str, number: int, form: str) -> NetworkFit:
    """The network of an experiment, trained to its end; from its state on disk on, where that is there."""
    images = local.images("mnist").some(LEARNT)
    settings: dict[str, Any] = TRAINING | CHANGED.get(id, {}) | {"epochs": EPOCHS[id][form == FULL], "seed": number}
    if id == "steyn-7.4":
        return trained(state_path(id, form, str(number)), lambda: start_convolution(images.x, images.y, **settings, **STEYN)).fit()
    return trained(state_path(id, form, str(number)), lambda: start_network(images.x, images.y, hidden=(600, 600), **settings)).fit()


def _networks(form: str) -> int:
    return NETWORKS if form == FULL else DRAWS


def _mnist(id: str) -> Callable[[int, str], Part]:
    """What a network reads, and how its misread test images are found."""

    def run(number: int, form: str) -> Part:
        images = local.images("mnist")
        return _accuracy(_read(_network(id, number, form), images.x_test, _networks(form), number), images.y_test)

    return run


def _more_of(id: str) -> Callable[[int, str], Part]:
    """What else the same network tells."""

    def run(number: int, form: str) -> Part:
        images, fit = local.images("mnist"), _network(id, number, form)
        return _judged(_read(fit, images.x_test, _networks(form), number), fit, images, _networks(form), number)

    return run


LONGER = {QUICK: 30, FULL: 200}  # epochs of the convolutional network, as long as there was time for
CURVE = (1, 2, 4, 8, 15, 30, 60, 100, 200)  # epochs in which it is asked how many of the training images it reads


def _longer(number: int, form: str) -> Part:
    """What the convolutional network tells after `LONGER` epochs, and what it read on the way."""
    images = local.images("mnist").some(LEARNT)
    settings: dict[str, Any] = TRAINING | {"epochs": LONGER[form], "seed": number}
    path, an_epoch = state_path("steyn-7.4-longer", form, str(number)), LEARNT // BATCH
    fit = trained(path, lambda: start_convolution(images.x, images.y, report_every=an_epoch, **settings, **STEYN)).fit()
    read = _read(fit, images.x_test, DRAWS, number)
    found = _judged(read, fit, images, DRAWS, number)
    read_right = fit.history.accuracy  # a row an epoch
    return found | {f"epoch {epoch}": 100.0 * float(read_right[epoch - 1]) for epoch in CURVE if epoch <= LONGER[form]}


class Read(NamedTuple):
    """What K networks say of m images, in the pieces that the scores need.

    mean : (m, classes); votes : (m, classes)
    sd, epistemic : (m,) scores that need all draws
    """

    mean: NDArray[np.float64]
    votes: NDArray[np.int64]
    sd: NDArray[np.float64]
    epistemic: NDArray[np.float64]

    @property
    def agreement(self) -> NDArray[np.float64]:
        """(m,) share of the networks in the largest group of equal votes."""
        return np.asarray(self.votes.max(axis=1) / self.votes.sum(axis=1))


def _read(fit: NetworkFit, x: NDArray, draws: int, seed: int) -> Read:
    """Of images x (m, pixels), some at a time."""
    parts = []
    for begin in range(0, len(x), AT_ONCE):
        prediction = fit.predict(x[begin : begin + AT_ONCE], samples=draws, seed=seed)
        assert prediction is not None
        said = prediction.draws
        parts.append(Read(prediction.mean, scores.votes(said), scores.predicted_sd(said), scores.decompose(said).epistemic))
    return Read(*(np.concatenate(column) for column in zip(*parts, strict=True)))


SCORES = {  # the six of the lesson on scores; the Gaussian approximation apart, as it needs a cut-off
    "sd": lambda read: read.sd,
    "inconsistency": lambda read: 1.0 - read.agreement,
    "total entropy": lambda read: scores.entropy(read.mean),
    "epistemic entropy": lambda read: read.epistemic,
    "1 − highest probability": lambda read: 1.0 - read.mean.max(axis=1),
}
ALPHAS = (0.05, 0.1, 0.2)
SURE = 0.95  # share of equal votes from which the networks are called sure
TURNS, TURNED = (30, 60, 90), 1_000  # degrees, and how many test images are turned; as many letters are set
BINS = 20  # of the predicted probability, by which its sd and the inconsistency are looked at


def _accuracy(read: Read, y: NDArray) -> Part:
    """Accuracy in %, γ(0.1) of two scores, and how many images are misread though the networks agree."""
    wrong = read.mean.argmax(axis=1) != y
    return {
        "right": 100.0 * float((~wrong).mean()),
        "sd": scores.gamma(read.sd, wrong),
        "inconsistency": scores.gamma(1.0 - read.agreement, wrong),
        "sure": float((wrong & (read.agreement >= SURE)).sum()),
    }


def _judged(read: Read, fit: NetworkFit, images: Images, draws: int, seed: int) -> Part:
    """Scores as finders of the misread images, what a threshold leaves, and images that are no digits as the network
    knows them. read : what the networks say of the test images
    """
    y = images.y_test
    wrong = read.mean.argmax(axis=1) != y
    found = _accuracy(read, y)
    every = {name: of(read) for name, of in SCORES.items()}
    every["GA"] = scores.approximation_of_votes(read.votes, scores.cutoff_of_votes(read.votes, wrong))
    for name, values in every.items():
        found |= {f"{name} at {alpha:g}": scores.gamma(values, wrong, alpha) for alpha in ALPHAS}
        found[f"{name} AUROC"] = scores.auroc(values, wrong)
    found["GA"], found["GA less inconsistency"] = found["GA at 0.1"], found["GA at 0.1"] - found["inconsistency at 0.1"]
    cut = float(np.quantile(every["sd"][wrong], 0.1))
    kept = every["sd"] < cut
    found |= {"kept": 100.0 * float(kept.mean()), "right of kept": 100.0 * float((~wrong[kept]).mean())}
    found |= _along(read)
    some = images.images_test[:TURNED].astype(np.float32) / np.float32(images.top)
    for degrees in TURNS:
        turned = _read(fit, rotate(some, degrees).reshape(len(some), -1), draws, seed)
        found[f"right at {degrees}"] = 100.0 * float((turned.mean.argmax(axis=1) == y[:TURNED]).mean())
        found[f"mean sd at {degrees}"] = float(turned.sd.mean())
    found["mean sd at 0"] = float(read.sd[:TURNED].mean())
    strange = _read(fit, letters(TURNED, images.side, seed)[0].reshape(TURNED, -1), draws, seed)
    found["letters sure"] = 100.0 * float((strange.agreement >= SURE).mean())
    found["letters AUROC"] = scores.auroc(np.concatenate([read.sd, strange.sd]), np.arange(len(y) + TURNED) >= len(y))
    return found


def _along(read: Read) -> Part:
    """Where along the predicted probability the sd is highest, and how straight inconsistency falls with it."""
    p, inconsistency = read.mean.max(axis=1), 1.0 - read.agreement
    places = np.minimum((p * BINS).astype(int), BINS - 1)
    held = [at for at in range(BINS) if (places == at).sum() >= 5]
    mean = {at: float(read.sd[places == at].mean()) for at in held}
    return {"highest": (max(held, key=mean.__getitem__) + 0.5) / BINS, "straight": float(np.corrcoef(p, inconsistency)[0, 1])}


BESIDE = (
    Beside(key="sure", label=WORDS.phrase("steyn.sure", share=SURE), digits=0),
    *(Beside(key=f"{score} AUROC", label=WORDS.phrase("steyn.auroc", score=score), digits=4) for score in (*SCORES, "GA")),
    *(
        Beside(key=f"{score} at {alpha:g}", label=WORDS.phrase("steyn.gamma", alpha=alpha, score=score), digits=4)
        for score in (*SCORES, "GA")
        for alpha in ALPHAS
        if alpha != 0.1
    ),
    Beside(key="kept", label=WORDS.phrase("steyn.kept"), digits=1, unit=" %"),
    Beside(key="right of kept", label=WORDS.phrase("steyn.right_of_kept"), digits=2, unit=" %"),
    *(Beside(key=f"right at {degrees}", label=WORDS.phrase("steyn.turned", degrees=degrees), digits=1, unit=" %") for degrees in TURNS),
    *(Beside(key=f"mean sd at {degrees}", label=WORDS.phrase("steyn.turned_sd", degrees=degrees), digits=4) for degrees in (0, *TURNS)),
    Beside(key="letters sure", label=WORDS.phrase("steyn.letters_sure", share=SURE), digits=1, unit=" %"),
    Beside(key="letters AUROC", label=WORDS.phrase("steyn.letters_auroc"), digits=4),
)


ALONG = tuple(Beside(key=f"epoch {epoch}", label=WORDS.phrase("steyn.along", epoch=epoch), digits=2, unit=" %") for epoch in CURVE)


def _tried(key: str, variants: Mapping[str, str]) -> dict[str, str]:
    return {f"{key}, {name}": "" for name in variants}


def _read_cells(right: float, sd: float, inconsistency: float, variants: Mapping[str, str]) -> tuple[Cell, ...]:
    """Accuracy in %, and γ(0.1) of two scores, as printed."""
    error = float(np.sqrt(0.09 / _misread(right)))
    return tuple(
        Cell(key=key, printed=printed, half=half, unit=unit, error=error, like=A_PART, tried=_tried(key, variants))
        for key, printed, half, error, unit in (
            ("right", right, 0.005, _share(right), " %"),
            ("sd", sd, 0.0005, error, ""),
            ("inconsistency", inconsistency, 0.0005, error, ""),
        )
    )


def _score_cells(right: float, ga: float, variants: Mapping[str, str]) -> tuple[Cell, ...]:
    """γ(0.1) of the Gaussian approximation, and two sentences on scores along the predicted probability."""
    error = float(np.sqrt(0.09 / _misread(right)))
    return (
        Cell(key="GA", printed=ga, half=0.0005, error=error, like=A_PART, tried=_tried("GA", variants)),
        Cell(key="highest", printed=0.5, half=0.1, tried=_tried("highest", variants)),
        Cell(key="straight", printed=-1.0, half=0.1, tried=_tried("straight", variants)),
    )


def _trained(id: str, network: str, cells: tuple[float, float, float], variants: Mapping[str, str], **data: Any) -> Experiment:
    """A network that reads MNIST."""
    quick, full = EPOCHS[id]
    return worded(
        id=id,
        values={"network": WORDS.phrase(f"steyn.{network}"), "full": full, "quick": quick, "draws": DRAWS},
        needs=("mnist",),
        parts=(1, 5),
        run=_mnist(id),
        cells=_read_cells(*cells, variants),
        variants=variants,
        **data,
    )


def _scored(of: str, network: str, right: float, ga: float, variants: Mapping[str, str] | None = None, **data: Any) -> Experiment:
    """What else the network of the experiment `of` tells, which reads `right` % of the test images."""
    quick, full = EPOCHS[of]
    return worded(
        id=f"{of}-scores",
        values={"network": WORDS.phrase(f"steyn.{network}"), "of": of, "full": full, "quick": quick, "draws": DRAWS, "turned": TURNED},
        needs=("mnist",),
        parts=(1, 5),
        run=_more_of(of),
        cells=_score_cells(right, ga, variants or {}),
        beside=BESIDE,
        variants=variants or {},
        **data,
    )


def _misread(right: float) -> int:
    """Of the 10,000 test images."""
    return round(100 * (100.0 - right))


def _share(right: float) -> float:
    """Standard error of an accuracy in %, of 10,000 images."""
    return float(np.sqrt(right * (100.0 - right) / 10_000))


# printed: accuracy in %, γ(0.1) of the sd and of inconsistency; and that of the Gaussian approximation
DENSE, DENSE_GA = (95.14, 0.866, 0.865), 0.978
CONVOLVED, CONVOLVED_GA = (98.18, 0.934, 0.931), 0.99
CONVOLUTIONS = "/convolution?part=training&size=large"
SHORT, SHORT_SCORES = {"short": "steyn-7.4"}, {"short scores": "steyn-7.4-scores"}

EXPERIMENTS = (
    worded(
        id="steyn-2.1",
        link="/perceptron?scenario=xor",
        run=_truth_table,
        exact=lambda: {f"{int(a)}{int(b)}": float(value) for (a, b), value in zip(TABLE, XOR, strict=True)},
        cells=tuple(Cell(key=f"{int(a)}{int(b)}", printed=float(value), half=0.0) for (a, b), value in zip(TABLE, XOR, strict=True)),
    ),
    worded(
        id="steyn-5.5",
        link="/variational?scenario=three",
        parts=(4, 20),
        seconds=(10, 45),
        run=_three_weights,
        cells=(
            Cell(key=SETTLED, printed=15_000, half=1_000.0, like=A_PART, tried={BY_WINDOW: "", FINER_STEP: ""}, no_reason=(FINER_STEP,)),
        ),
        beside=(Beside(key="metropolis", label=WORDS.phrase("steyn.metropolis", enough=ENOUGH), digits=0),),
    ),
    worded(
        id="steyn-6.7",
        link="/perceptron?scenario=three-ways&units=5&depth=2&activation=relu",
        also=("/weights?scenario=xor",),
        parts=(6, 24),
        seconds=(20, 80),
        run=_moons,
        cells=tuple(
            Cell(
                key=key,
                printed=92.0,
                half=0.5,
                unit=" %",
                error=100.0 * float(np.sqrt(0.92 * 0.08 / 500)),
                like=A_PART,
                tried={f"{key}, noisier": ""},
            )
            for key in ("descent", "dropout", "variational")
        ),
    ),
    worded(
        id="steyn-4.1",
        link="/logistic?scenario=exact",
        parts=(MOST_SETS // 4, MOST_SETS),
        seconds=(2, 5),
        run=_newton,
        cells=(
            *(
                Cell(key=key, printed=value, half=half, unit=unit, like=A_PART, tried={f"{key}, wide": ""})
                for key, value, half, unit in (
                    ("w0", 0.84, 0.005, ""),
                    ("w1", 2.47, 0.005, ""),
                    ("right", 94.0, 0.5, " %"),
                    ("steps", 500, 0.5, ""),
                )
            ),
        ),
    ),
    worded(
        id="steyn-sizes",
        link="/convolution",
        run=_sizes,
        exact=lambda: {key: float(value) for key, value in _sizes(0, FULL).items()},
        cells=(
            Cell(key="small", printed=40, half=0.0),
            Cell(key="dense", printed=836_400, half=0.0),
            Cell(key="flat", printed=288, half=0.0, tried={"flat, pooled by 3": ""}),
        ),
    ),
    _gaps("steyn-7.1", 0.001, 0.113, 486),
    _gaps("steyn-7.2", 0.003, 0.059, 182),
    *(
        _trained(id, "dense", DENSE, variants, seconds=(300, 9_000), link="/digits?data=mnist")
        for id, variants in (
            ("steyn-7.3", {"start": "steyn-7.3-start", "rule": "steyn-7.3-rule"}),
            ("steyn-7.3-start", {"small": "steyn-7.3", "rule": "steyn-7.3-rule"}),
            ("steyn-7.3-rule", {"small": "steyn-7.3", "start": "steyn-7.3-start"}),
        )
    ),
    _trained("steyn-7.4", "convolutions", CONVOLVED, {"longer": "steyn-7.4-longer"}, seconds=(300, 250_000), link=CONVOLUTIONS),
    worded(
        id="steyn-7.4-longer",
        values={
            "network": WORDS.phrase("steyn.convolutions"),
            "full": LONGER[FULL],
            "quick": LONGER[QUICK],
            "whole": EPOCHS["steyn-7.4"][1],
            "draws": DRAWS,
            "turned": TURNED,
        },
        needs=("mnist",),
        seconds=(400, 2_400),
        run=_longer,
        link=CONVOLUTIONS,
        also=("/scores?scenario=ga",),
        cells=(*_read_cells(*CONVOLVED, SHORT), *_score_cells(CONVOLVED[0], CONVOLVED_GA, SHORT_SCORES)),
        beside=(*ALONG, *BESIDE),
        variants=SHORT | SHORT_SCORES,
    ),
    _scored("steyn-7.3", "dense", DENSE[0], DENSE_GA, seconds=(300, 9_000), link="/scores?scenario=ga"),
    _scored(
        "steyn-7.4",
        "convolutions",
        CONVOLVED[0],
        CONVOLVED_GA,
        {"longer": "steyn-7.4-longer"},
        seconds=(300, 250_000),
        link="/scores?scenario=ga",
    ),
)
