"""The named settings of this lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.spike_and_slab.spec import SpikeAndSlabSpec

TWINS = SpikeAndSlabSpec(effects="0.5, 0, 0.6, 0, 0, 0", correlation=0.97, rows=60, data_seed=3, seed=2)

SCENARIOS = [
    Scenario(
        "eight",
        "eight predictors",
        SpikeAndSlabSpec(),
        "Eight predictors, four of which matter. Each is **in** (its coefficient comes from a wide *slab*) or **out** "
        "(it sits on a *spike* at 0). **Press play**: a Gibbs sampler walks over the 256 models, and the shares (bars) "
        "grow towards the exact probabilities (diamonds).",
    ),
    Scenario(
        "twins",
        "twins",
        TWINS,
        "The first two predictors carry almost the same information; only one of them has an effect. The data can "
        "hardly say which: the exact posterior shares the probability. Look at the squares of mean-field.",
        failure=True,
        why="Mean-field gives every predictor a probability of its own and fits one predictor given the *average* of "
        "the others. Once one twin is mostly in, it explains the data and the other looks useless, and so on until q "
        "is sure. The Gibbs sampler is right here, and its signs are green: it is the approximation that is too sure.",
    ),
    Scenario(
        "logistic",
        "yes or no",
        SpikeAndSlabSpec(likelihood="logistic", effects="1.2, 0, -0.8, 0, 0.5, 0", rows=80, data_seed=2, draws=400),
        "The same with outcomes yes and no. Given one auxiliary number per row (Pólya–Gamma), the likelihood is "
        "Gaussian in the coefficients, so every draw is still exact. Each of the 64 models costs an integral.",
    ),
    Scenario(
        "vague",
        "a vague slab",
        SpikeAndSlabSpec(slab_sd=300.0),
        "The same data with a slab 300 times as wide, meant to “say nothing” about the size of a coefficient.",
        failure=True,
        why="A slab that wide spends nearly all its probability on coefficients the data rule out, so the evidence "
        "for every predictor falls in proportion to 1/s: Bartlett's paradox. A vague prior on *coefficients* is a "
        "strong prior on *models*. The sampler is right; the model says what it was told.",
    ),
    Scenario(
        "unnormalised",
        "a constant left out",
        SpikeAndSlabSpec(variant="no_normaliser", slab_sd=3.0),
        "“Constants cancel.” Here the slab's density is used without its 1/(s√2π) when a predictor comes in. Watch "
        "the orange predictors, and read the sign *kernel*.",
        failure=True,
        why="Between models of different size that constant does not cancel: each predictor that is in brings one. "
        "Without it the odds of every predictor are s√2π times too high, so noise gets in. The chain mixes as well as "
        "before, and agrees with itself.",
    ),
    Scenario(
        "digits",
        "a network on digits",
        SpikeAndSlabSpec(part="network"),
        "3,760 weights, a switch on each. **Press Run live**: α, the probability of each weight being in, starts at "
        "0.9 and is learnt with the weights. Watch the empty pixels at the border go dark, and the median model, which "
        "keeps the weights with α > ½.",
    ),
    Scenario(
        "cut",
        "a rising cut",
        SpikeAndSlabSpec(part="network", view="cut"),
        "The trained network. **Drag the player's slider**: it is the threshold λ. Weights with α ≤ λ are cut, nothing "
        "is trained again. λ = ½, where it stands now, is the median model. See how many weights go before the "
        "accuracy does.",
    ),
    Scenario(
        "draws",
        "networks drawn",
        SpikeAndSlabSpec(part="network", view="draws"),
        "Twenty networks drawn from q, one a step: which weights are in (left), and their values (middle). Weights "
        "with a high α are in all of them, the rest flicker. Their votes are averaged on the right.",
    ),
    Scenario(
        "too-sparse",
        "pruned too far",
        SpikeAndSlabSpec(part="network", weight_prior="bic"),
        "Odds of n⁻² for every weight to be in, the dearer of the two prices in Hubin and Storvik (2019). **Press Run "
        "live** and compare the median model with the average of ten networks.",
        failure=True,
        why="Each weight must now win 14 nats to be in, and many digits need several weights at once. The median model "
        "judges every weight alone and keeps too few; averages over drawn networks still use the rest.",
    ),
]
