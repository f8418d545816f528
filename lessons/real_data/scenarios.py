"""The named settings of the lesson."""

from __future__ import annotations

from app.kit.frame import Scenario
from lessons.real_data.spec import RealDataSpec

BUDGET: dict = {"chains": 3, "warmup": 200, "draws": 200, "max_depth": 8}  # a tenth of what the thesis had

SCENARIOS = [
    Scenario(
        "diabetes",
        "A number, with its interval",
        RealDataSpec(),
        "442 patients, ten measurements each; how far will the disease have come in a year? A network is trained on "
        "300 "
        "of them. Press **Sample the posterior** for all the networks that the same rows allow.",
    ),
    Scenario(
        "too-sure",
        "Noise told, and told wrong",
        RealDataSpec(noise="fixed", noise_sd=18.0),
        "The same rows, but the noise is not learned: it is said to be a third of what it is. Watch how many test "
        "values the intervals hold.",
        failure=True,
        why="Andersen and Roed-Sørensen (2021) fixed the noise sd at 1 while its errors were about 3. A noise that "
        "is too small forces the networks through every accident of the data, and the intervals hold too few. A "
        "posterior as sharp as that also falls apart into modes that no chain crosses: see R-hat below.",
    ),
    Scenario(
        "tumours",
        "A class, and what a mistake costs",
        RealDataSpec(data="breast_cancer", hidden=6, case=46, miss_cost=20.0),
        "569 tumours, 30 numbers from an image each: malignant or not? To miss one costs twenty times a false alarm, "
        "so "
        "the line to flag above is far below one half.",
    ),
    Scenario(
        "raw",
        "Raw columns",
        RealDataSpec(data="breast_cancer", hidden=6, case=46, miss_cost=20.0, scaled="no"),
        "The same tumours, but the columns as they are: areas in the thousands beside ratios of a thousandth.",
        failure=True,
        why="A tanh unit fed with thousands is stuck at −1 or 1, where its slope is zero, so training by gradients "
        "hardly moves it. Andersen and Roed-Sørensen (2021) scaled nothing: their linear network came to 67.6 nats on "
        "credit default, where a constant gets about a half.",
    ),
    Scenario(
        "boston-table",
        "A published table: house prices",
        RealDataSpec(show="protocol", data="boston", scaled="no", split="published", **BUDGET),
        "Tables 5.2 and 5.3 of Andersen and Roed-Sørensen (2021), model by model: marks are the printed errors. Press "
        "**Sample the posterior** to run all seven here, on the same 404 and 102 rows. The table is downloaded if it "
        "is not here.",
    ),
    Scenario(
        "credit-table",
        "A published table: credit",
        RealDataSpec(show="protocol", data="credit", scaled="no", split="published", **BUDGET),
        "Tables 5.5 and 5.6: who will not pay next month? Look at the dashed line before you run anything: it is what "
        "one gets by saying 22.12 % to everybody.",
        failure=True,
        why="On these 400 rows the published Bayesian networks have what saying 22.12 % to everybody has, to within a "
        "thousandth of a nat; the trained ones do worse on the test rows. Amounts of hundreds of thousands saturate "
        "tanh units. Accuracy would hide it: about 78 % is what always saying *pays* gets. Turn on *Scale the columns* "
        "and run again.",
    ),
]
