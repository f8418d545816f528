"""What a reader takes home beside the draws: a report that needs no server."""

from __future__ import annotations

import html
from collections.abc import Sequence

from app.kit.charts import Figure, Table
from app.kit.text import number
from engine.judge import KINDS, overall
from lessons.own_chain import analysis, panels
from lessons.own_chain.spec import WORDS, OwnChain

_STYLE = """<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1f2430; background: #fff }
table { border-collapse: collapse; font-size: 14px } td, th { padding: .2rem .6rem; border-bottom: 1px solid #dfe3e8; text-align: left }
.wide { overflow-x: auto } figure { margin: 1.5rem 0 } figcaption, .small { color: #5f6875; font-size: 14px }
</style>"""


def report(spec: OwnChain) -> bytes:
    """One HTML file: the signs, what stands out, figures, every quantity, and the sentences of a methods section. It
    asks no other place for anything.
    """
    found = analysis.look(spec)
    checks = [*analysis.audit(spec), *analysis.checks(spec)]
    parts = [f"<h1>{html.escape(found.run.card.name)}</h1>", f"<h2>{WORDS.phrase('report.signs')}</h2><ul>"]
    for kind in KINDS:
        own = [check for check in checks if check.kind == kind]
        sentences = " ".join(check.sentence for check in own)
        verdict = WORDS.phrase(f"report.{overall(own)}", sign=WORDS.phrase(f"report.{kind}"))
        parts.append(f"<li><strong>{verdict}</strong> {html.escape(sentences)}</li>")
    parts.append("</ul>")
    everything = Table(WORDS.phrase("panels.table"), panels.columns_of(found, found.order))
    for table in (panels.what_stands_out(found), *panels.transforms(spec)):
        parts.append(_table(table))
    quote = panels.methods_section(spec, found)
    parts.append(f"<h2>{quote.title}</h2><blockquote>{html.escape(quote.text)}</blockquote>")
    parts += _figures(panels.figures(spec, found))
    parts.append(_table(everything))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{_STYLE}'
    title = f"<title>{html.escape(found.run.card.name)}</title>"
    return f"<!doctype html><html lang=en><head>{head}{title}</head><body>{''.join(parts)}</body></html>".encode()


def _figures(figures: Sequence[Figure]) -> list[str]:
    made = []
    for i, figure in enumerate(figures):
        drawn = figure.figure.to_html(full_html=False, include_plotlyjs=i == 0, include_mathjax=False, config={"displaylogo": False})
        words = f"<figcaption>{html.escape(figure.caption)}</figcaption>"
        made.append(
            f'<figure role="group" aria-label="{html.escape(figure.alt)}"><h2>{html.escape(figure.title)}</h2>{drawn}{words}</figure>'
        )
    return made


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(number(cell))}</td>" for cell in row) + "</tr>"
        for row in zip(*table.columns.values(), strict=True)
    )
    small = f'<p class="small">{html.escape(table.caption)}</p>' if table.caption else ""
    return f"<h2>{html.escape(table.title)}</h2><div class=wide><table><tr>{head}</tr>{rows}</table></div>{small}"
