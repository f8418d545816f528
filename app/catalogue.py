"""The catalogue: every lesson by track, in order. The one table that names lessons, by file and literal slug.

Slugs are public: links hold them. They never change.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

TRACKS = ("Beginnings", "Samplers", "Networks", "Growing networks", "Approximations", "Uncertainty")


@dataclass(frozen=True)
class Entry:
    """A lesson: its slug, title, track, page file (from the repository root), promise and emoji.

    `scenarios` are (id, title) of scenarios worth a direct link on the start page.
    """

    slug: str
    title: str
    track: str
    file: str
    promise: str
    icon: str
    scenarios: tuple[tuple[str, str], ...] = ()

    @property
    def path(self) -> Path:
        """The page file."""
        return ROOT / self.file

    @property
    def package(self) -> str:
        """The folder of the page file, as Python names it."""
        return ".".join(Path(self.file).parent.parts)


LESSONS: tuple[Entry, ...] = (
    Entry(
        slug="conjugate",
        title="Conjugate priors",
        track="Beginnings",
        file="lessons/conjugate/page.py",
        promise="A prior acts like data already seen: drag it, let observations arrive, and watch belief sharpen.",
        icon="🪙",
        scenarios=(("narrow", "a prior too sure ⚠"), ("twice", "data used twice ⚠")),
    ),
    Entry(
        slug="monte-carlo",
        title="Monte Carlo integration",
        track="Beginnings",
        file="lessons/monte_carlo/page.py",
        promise="An integral is an average of random draws: why its error falls like 1/√n, and where it does not.",
        icon="🎯",
        scenarios=(("pi", "π by darts"), ("infinite", "infinite variance ⚠")),
    ),
    Entry(
        slug="prior-predictive",
        title="Functions before data",
        track="Beginnings",
        file="lessons/prior_predictive/page.py",
        promise="What a prior over weights says about functions, and how few of them survive six points.",
        icon="🎲",
        scenarios=(("unscaled", "forgot 1/√k ⚠"), ("six-points", "rejection by six points ⚠")),
    ),
    Entry(
        slug="logistic",
        title="Two-parameter exactness",
        track="Beginnings",
        file="lessons/logistic/page.py",
        promise="A posterior added up exactly on a grid, and how near Newton, Laplace and a Metropolis chain come.",
        icon="🗺️",
        scenarios=(("few", "eight pairs"), ("separated", "nothing to converge to ⚠")),
    ),
    Entry(
        slug="model-selection",
        title="Model selection and Occam",
        track="Beginnings",
        file="lessons/model_selection/page.py",
        promise="Fifteen polynomials predict point after point: why the most flexible does not win.",
        icon="✂️",
        scenarios=(("razor", "Occam's razor, counted"), ("vague", "the vaguer, the simpler ⚠")),
    ),
    Entry(
        slug="metropolis",
        title="Metropolis",
        track="Samplers",
        file="lessons/metropolis/page.py",
        promise="A blind walk that visits every place as often as it should, and what breaks it.",
        icon="👣",
        scenarios=(("sizes", "three step sizes"), ("hastings", "lost Hastings ratio ⚠")),
    ),
    Entry(
        slug="gibbs",
        title="Gibbs",
        track="Samplers",
        file="lessons/gibbs/page.py",
        promise="One coordinate at a time, drawn exactly: when that is wonderful, and when it hardly moves.",
        icon="🪜",
        scenarios=(("ridge", "correlation kills mixing ⚠"), ("groups", "eight schools")),
    ),
    Entry(
        slug="hmc",
        title="HMC trajectories",
        track="Samplers",
        file="lessons/hmc/page.py",
        promise="A frictionless ball explores a posterior; see each step of its path and why long paths are accepted.",
        icon="🎢",
        scenarios=(("too-large", "ε too large ⚠"), ("funnel", "funnel neck ⚠")),
    ),
    Entry(
        slug="nuts",
        title="NUTS",
        track="Samplers",
        file="lessons/nuts/page.py",
        promise="A trajectory that doubles until it turns back: point at its tree, see its span on the orbit.",
        icon="🌳",
        scenarios=(("figure", "figure 4.1"), ("aliased", "aliased momentum ⚠")),
    ),
    Entry(
        slug="tuning",
        title="NUTS tunes itself",
        track="Samplers",
        file="lessons/tuning/page.py",
        promise="How long a step, how round the world? Watch the sampler find out, and where that fails.",
        icon="🎛️",
        scenarios=(("scales", "mass windows"), ("banana", "δ = 0.8 fails ⚠"), ("for-ever", "never stops tuning ⚠")),
    ),
    Entry(
        slug="diagnostics",
        title="Can I trust this chain?",
        track="Samplers",
        file="lessons/diagnostics/page.py",
        promise="Traces, ranks, R-hat and ESS as chains grow; diagnose sick ones, and meet the bias no R-hat finds.",
        icon="🩺",
        scenarios=(("patient-1", "the gallery of patients"), ("biased", "R-hat 1.00, and wrong ⚠")),
    ),
    Entry(
        slug="race",
        title="Sampler race",
        track="Samplers",
        file="lessons/race/page.py",
        promise="Four samplers, one target, the same budget: who is least wrong, per evaluation and by the clock.",
        icon="🏁",
        scenarios=(("rough", "the favourites lose ⚠"), ("cheat", "the cheat ⚠")),
    ),
    Entry(
        slug="perceptron",
        title="From perceptron to network",
        track="Networks",
        file="lessons/perceptron/page.py",
        promise="One unit learns a line, not XOR; then hidden units, a pass there and back, and a race down a ravine.",
        icon="🧠",
        scenarios=(("xor", "XOR: for ever ⚠"), ("pass", "there and back"), ("race", "the race")),
    ),
    Entry(
        slug="regression",
        title="A regression with honest error bars",
        track="Networks",
        file="lessons/regression/page.py",
        promise="A band that opens where nothing was measured: made of curves, split in two, compared, and counted.",
        icon="📏",
        scenarios=(("compare", "five methods"), ("wrong-noise", "σ three times too small ⚠")),
    ),
    Entry(
        slug="xor",
        title="XOR network",
        track="Networks",
        file="lessons/xor/page.py",
        promise="A small network learns XOR, all its weights at once as a posterior, and shows where it does not know.",
        icon="❎",
        scenarios=(("map", "the MAP beside it"), ("one-unit", "one unit cannot ⚠")),
    ),
    Entry(
        slug="weight-space",
        title="Same function, many weights",
        track="Networks",
        file="lessons/weight_space/page.py",
        promise="Chains in different corners of weight space, one curve: which disagreement is harmless, which is not.",
        icon="🪞",
        scenarios=(("sorted-badly", "sorted badly ⚠"), ("unmixed", "two humps by accident ⚠")),
    ),
    Entry(
        slug="priors",
        title="Priors that learn",
        track="Networks",
        file="lessons/priors/page.py",
        promise="The prior's width is learned along with the weights: watch the two hold each other, and what pools.",
        icon="🪢",
        scenarios=(("inputs", "which inputs matter"), ("forgot-count", "forgot ½n ⚠")),
    ),
    Entry(
        slug="real-data",
        title="House prices and credit default",
        track="Networks",
        file="lessons/real_data/page.py",
        promise="Real tables, or your own: whether intervals hold what they say, and what a mistake costs.",
        icon="🏠",
        scenarios=(("too-sure", "noise told wrong ⚠"), ("credit-table", "as good as a constant ⚠")),
    ),
    Entry(
        slug="dimensions",
        title="Jumping between dimensions",
        track="Growing networks",
        file="lessons/dimensions/page.py",
        promise="A sampler that changes its number of parameters: each factor of a jump, and what if one is forgotten.",
        icon="🦘",
        scenarios=(("split", "split and merge"), ("no-jacobian", "Jacobian forgotten ⚠")),
    ),
    Entry(
        slug="neurons",
        title="Neurons are born and die",
        track="Growing networks",
        file="lessons/neurons/page.py",
        promise="A network that grows and shrinks while it is sampled, unit by unit, and the ledger of every jump.",
        icon="🌱",
        scenarios=(("xor", "XOR, 1 to 16 units"), ("slot-once", "a slot counted once ⚠")),
    ),
    Entry(
        slug="layers",
        title="Layers are born and die",
        track="Growing networks",
        file="lessons/layers/page.py",
        promise="Whole layers come and go while a network is sampled: why so few of these jumps land.",
        icon="🥞",
        scenarios=(("few", "20 points"), ("many", "200 points ⚠")),
    ),
    Entry(
        slug="missing-factor",
        title="The missing factor that looked like Occam's razor",
        track="Growing networks",
        file="lessons/missing_factor/page.py",
        promise="A published histogram prefers small networks. Put its factors back one by one, and see what did.",
        icon="🪒",
        scenarios=(("slot", "slot counted once ⚠"), ("no-data", "a razor without data ⚠")),
    ),
    Entry(
        slug="occam",
        title="Occam's razor, honestly",
        track="Growing networks",
        file="lessons/occam/page.py",
        promise="What one more unit buys, what it costs, and why the right size is yours as much as the data's.",
        icon="⚖️",
        scenarios=(("scaled", "outputs held fixed"), ("edge", "the edge as an answer ⚠")),
    ),
    Entry(
        slug="delayed-rejection",
        title="Delayed rejection",
        track="Growing networks",
        file="lessons/delayed_rejection/page.py",
        promise="Rejected? Try again, more carefully, before it counts; what it gains, and the way back that it costs.",
        icon="🪃",
        scenarios=(("leap", "through the failure"), ("forgot", "forgot 1 − α ⚠")),
    ),
    Entry(
        slug="landing",
        title="Making jumps land",
        track="Growing networks",
        file="lessons/landing/page.py",
        promise="Most jumps to another size are rejected: why NUTS around them does not help, and what bridges do.",
        icon="🛬",
        scenarios=(("annealed", "over 16 bridges"), ("as-coded", "the published code ⚠")),
    ),
    Entry(
        slug="variational",
        title="Fit a distribution with a distribution",
        track="Approximations",
        file="lessons/variational/page.py",
        promise="A simple distribution moves and stretches until it fits a posterior: how fast, and what it misses.",
        icon="🫧",
        scenarios=(("modes", "two divergences"), ("mean-field", "too narrow ⚠"), ("too-big", "step too big ⚠")),
    ),
    Entry(
        slug="weights",
        title="Weights with a distribution",
        track="Approximations",
        file="lessons/weights/page.py",
        promise="A mean and an sd for every weight, beside NUTS on the same network: where q is too sure, by how much.",
        icon="🎚️",
        scenarios=(("gap", "a curve with a gap"), ("gives-up", "q gives up ⚠"), ("light-kl", "KL turned down ⚠")),
    ),
    Entry(
        slug="spike-and-slab",
        title="Spike and slab",
        track="Approximations",
        file="lessons/spike_and_slab/page.py",
        promise="Which predictors are in? Every model weighed exactly, beside a Gibbs walk and a too sure mean-field.",
        icon="📌",
        scenarios=(("twins", "twins ⚠"), ("digits", "a network on digits")),
    ),
    Entry(
        slug="dropout",
        title="Dropout, seen as Bayes",
        track="Approximations",
        file="lessons/dropout/page.py",
        promise="Leave dropout on, and every pass is another network: their band, beside the posterior it stands for.",
        icon="🎭",
        scenarios=(("unscaled", "1/p forgotten ⚠"), ("more-data", "more data, no surer ⚠")),
    ),
    Entry(
        slug="digits",
        title="Draw a digit",
        track="Uncertainty",
        file="lessons/digits/page.py",
        promise="A hundred networks read what you draw: where each is in doubt, and where they contradict each other.",
        icon="✍️",
        scenarios=(("letter", "a letter"), ("star", "sure of a star ⚠"), ("corner", "not centred ⚠")),
    ),
    Entry(
        slug="scores",
        title="Is the score any good?",
        track="Uncertainty",
        file="lessons/scores/page.py",
        promise="Whether uncertainty finds the errors, whether the probabilities hold, and what it is worth to refuse.",
        icon="🏹",
        scenarios=(("ga", "two scores, one order"), ("unanimous", "when all agree ⚠"), ("abstain", "the abstain game")),
    ),
    Entry(
        slug="uncertainty-maps",
        title="Where it should not know",
        track="Uncertainty",
        file="lessons/uncertainty_maps/page.py",
        promise="Turn, blur, shift or morph a digit: where its networks should not know any more, and whether they do.",
        icon="🗺️",
        scenarios=(("six", "a 6 becomes a 9 ⚠"), ("quarter", "sure on its side ⚠"), ("letters", "letters")),
    ),
    Entry(
        slug="xor-methods",
        title="XOR, all methods",
        track="Uncertainty",
        file="lessons/xor_methods/page.py",
        promise="Six methods learn one network: which of them know that they do not know, and what that costs.",
        icon="🧮",
        scenarios=(("far-out", "a point far out"), ("sure", "sure far away ⚠"), ("never-reject", "never reject ⚠")),
    ),
)


def by_track() -> dict[str, list[Entry]]:
    """The lessons of each track that has any, in order."""
    tracks = {track: [entry for entry in LESSONS if entry.track == track] for track in TRACKS}
    return {track: entries for track, entries in tracks.items() if entries}
