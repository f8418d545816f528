"""What a lesson is: the one object that a lesson hands to the frame."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from app.kit import jobs, references, story
from app.kit.charts import Figure, Quote, Table
from app.kit.controls import Controls
from app.kit.preview import Preview
from app.kit.words import Question, Scenario, Words
from engine.judge import Check, Kernel
from engine.kernels import TargetKernel
from engine.predicted import Predicted
from engine.spec import Spec


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What a lesson hands to the frame. Its story and formulas stand beside its words: `story.md` (guided steps, see
    `app.kit.story`) and `formula.md` (Markdown with LaTeX); either may be absent.

    Attributes
    ----------
    slug : its path
    words : its title and promise, and its folder
    spec : class of its spec, defined in a module (not in page.py, which is run anew each time)
    scenarios : three to five; the first is shown when the page is opened bare
    controls : lays out the widgets
    scene : (spec, window) → scene blob; `window` is a transition whose inside is wanted, or None
    previews : what the stage shows while the slider of a field is dragged, by field
    kernels : spec → the kernels that run (`engine.judge.Kernel`); the judge tries each, and can plant faults in them
    audit : (spec, cancel) → what else proves the code itself, checks of kind "kernel": books, gradients, estimators
    checks : (spec, cancel) → checks of this run and of its numbers
    faults : spec → specs that plant a mistake which `audit` or `checks` must see, by name
    panels : (spec, cancel) → figures, tables and texts to copy, below the stage
    diagnostics : (spec, cancel) → a table, or several: R-hat, ESS, cost
    predict : questions; those that no story step names stand at the story's end
    twins : spec → functions of `engine.readable`, whose files are shown, lit with the stage
    wrong : spec → names of the wrong variants in force, whose lines are marked in the twins; None: each choice of the spec
    code : compiled functions whose source is shown
    runs : which kernel runs, a sentence, or a function of the spec
    on_event : (spec, event of the player or the pad) → changed spec, or None to leave it
    pad : spec → strokes on a drawing pad beside the player, points (x, y, stroke) from 0 to 1 with y down; None: no
        pad for these settings. A drawing comes to `on_event` as {"kind": "drawing", "points", "final"}
    grow : (spec, job) → the blob of `scene(spec, None)`, on the stage in its place where a picture takes long: it
        calls `job.publish(blob)` as the picture grows and gives up when `job.is_set()`
    live : spec → body(job) of a long run, None where these settings have none. The body calls `job.publish(blob)` as
        the scene grows and `job.report(done, total)`, ends when `job.cancelled`, and returns the final blob
    live_label : the button that starts it
    recording : spec → the run that the stage shows, for files to take home: a `Recording`, arrays by name, or an object
        with arrays as fields, what was drawn first; None: the columns of the picture's table. Kept, as for the stage
    whole : whether that is all of a long run, which is then made for the files if nobody has started it
    predicted : spec → what that run says of its data, for files and for a chain's way to ArviZ; None where it has none
    ready : whether the data of a spec are on this machine; what was made without them is made anew once they are
    """

    slug: str
    words: Words
    spec: type[Spec]
    scenarios: Sequence[Scenario]
    controls: Callable[[Controls[Any]], None]
    scene: Callable[[Any, int | None], bytes]
    previews: Mapping[str, Preview] = field(default_factory=dict)
    kernels: Callable[[Any], Sequence[Kernel]] | None = None
    audit: Callable[[Any, Any], Sequence[Check]] | None = None
    checks: Callable[[Any, Any], Sequence[Check]] | None = None
    faults: Callable[[Any], Mapping[str, Spec]] | None = None
    panels: Callable[[Any, Any], Sequence[Figure | Table | Quote]] | None = None
    diagnostics: Callable[[Any, Any], Table | Sequence[Table]] | None = None
    predict: Sequence[Question] = ()
    twins: Callable[[Any], Sequence[Callable[..., Any]]] = lambda spec: ()
    wrong: Callable[[Any], Collection[str]] | None = None
    code: Sequence[Callable[..., Any] | TargetKernel] = ()
    runs: str | Callable[[Any], str] = ""
    on_event: Callable[[Any, dict], Spec | None] | None = None
    pad: Callable[[Any], Sequence[tuple[float, float, int]] | None] | None = None
    grow: Callable[[Any, jobs.Job], bytes | None] | None = None
    live: Callable[[Any], Callable[[jobs.Job], bytes | None] | None] | None = None
    live_label: str = "Run"
    recording: Callable[[Any], Any] | None = None
    whole: bool = False
    predicted: Callable[[Any], Predicted | None] = lambda spec: None
    ready: Callable[[Any], bool] = lambda spec: True

    @property
    def title(self) -> str:
        return self.words.title

    @property
    def promise(self) -> str:
        return self.words.promise

    def in_force(self, spec: Spec) -> Collection[str]:
        """Names of the wrong variants that this spec may have chosen, among others."""
        return self.wrong(spec) if self.wrong is not None else [value for value in vars(spec).values() if isinstance(value, str)]

    def specs(self) -> dict[str, Spec]:
        """The scenarios' specs by id."""
        return {scenario.id: scenario.spec for scenario in self.scenarios}

    def steps(self) -> tuple[story.Step, ...]:
        """The steps of the story."""
        return story.read(self._beside("story.md"))

    @property
    def has_formula(self) -> bool:
        """Whether there are formulas to show."""
        return bool(self.formula())

    def formula(self) -> str:
        """The formulas, Markdown; nothing where there are none."""
        return _text(self._beside("formula.md"))

    def works(self) -> list[references.Reference]:
        """The works that its texts and its code name."""
        texts = list(references.texts_beside(self._beside("")))
        for function in (*self.code, *self.twins(self.scenarios[0].spec)):
            texts += references.texts_behind(function)
        return references.named(texts)

    def _beside(self, name: str) -> Path:
        return self.words.folder / name


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
