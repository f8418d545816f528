"""What decides the picture of this lesson: where the chains come from, and what is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from app.kit.files import LENGTH
from app.kit.words import Words
from engine.kept import kept
from engine.spec import Spec, SpecError, choice, integer, seed_field, text
from engine.targets.constrained import Density, declared, density
from engine.targets.formula import MAX_LENGTH, FormulaError
from engine.targets.target import TargetError

WORDS = Words(__file__)

SOURCES = ("example", "file", "density")
EXAMPLES = ("healthy", "stuck", "corner", "unwarmed")


@dataclass(frozen=True, kw_only=True)
class OwnChain(Spec):
    """Chains of an example, of a file, or of NUTS on a density that was typed, and the quantity that is on stage."""

    source: str = choice("example", SOURCES, "whose chains are looked at")
    example: str = choice("healthy", EXAMPLES, "chains that come along: one run in order, three that are not")
    file: str = text("", LENGTH, "chains that were drawn elsewhere")
    truth: str = text("", LENGTH, "what is known of them: reference draws, or a table with the columns name, mean, sd")
    parameters: str = text(
        "sigma positive, theta unit, p simplex 3",
        300,
        "names with commas between, each with positive, unit, ordered 3, simplex 3, or nothing",
    )
    log_density: str = text(
        "-sigma^2/2 + log(theta) + 3*log(1-theta) + 2*log(p1) + log(p2)",
        MAX_LENGTH,
        "log density in these parameters; any constant may be left out",
    )
    jacobian: str = choice("counted", ("counted", "forgotten"), "whether the change of volume of a constraint is counted")
    draws: int = integer(1000, 200, 4000, "draws of each of the four chains of your density", log=True)
    burn: int = integer(0, 0, 50_000, "first draws of each chain that are left out", step=50)
    place: int = integer(1, 1, 1000, "which quantity is on stage, in the order of trouble: 1 is the worst")
    seed: int = seed_field()

    def check(self) -> None:
        if self.source == "density":
            self.build()

    def build(self) -> Density:
        """The density that was typed. Raises SpecError naming the field."""
        return _built(self.parameters, self.log_density, self.jacobian == "counted")

    def of_chains(self) -> OwnChain:
        """The settings that the draws depend on."""
        names = {"example": ("example", "seed"), "file": ("file",)}
        density = ("parameters", "log_density", "jacobian", "draws", "seed")
        return type(self)(source=self.source, **{name: getattr(self, name) for name in names.get(self.source, density)})

    def of_table(self) -> OwnChain:
        """The settings that the diagnostics depend on."""
        return self.of_chains().replace(burn=self.burn)


@kept
def _built(parameters: str, formula: str, jacobian: bool) -> Density:
    try:
        declared(parameters)
    except TargetError as error:
        raise SpecError("parameters", str(error)) from error
    try:
        return density(parameters, formula, jacobian=jacobian)
    except FormulaError as error:
        raise SpecError("log_density", f"{error}: {formula[error.position : error.position + 20] or 'its end'}") from error


SCENARIOS = WORDS.scenarios(
    {
        "healthy": OwnChain(),
        "stuck": OwnChain(example="stuck"),
        "corner": OwnChain(example="corner"),
        "unwarmed": OwnChain(example="unwarmed"),
        "density": OwnChain(source="density"),
        "forgotten": OwnChain(source="density", parameters="theta unit", log_density="log(theta) + 3*log(1-theta)", jacobian="forgotten"),
    }
)
