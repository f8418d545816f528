// The look of everything around the canvas. Colours are Streamlit's (--st-*) or roles of the scene's theme (--role-*).

export const STYLE = `
:host { display: block; }
.player {
  container-type: inline-size;
  font-family: var(--st-font, "Source Sans", sans-serif);
  font-size: 0.9375rem; line-height: 1.45;
  color: var(--role-ink);
  font-variant-numeric: tabular-nums lining-nums;
  --edge: color-mix(in srgb, var(--role-ink) 20%, transparent);
  --shade: color-mix(in srgb, var(--role-ink) 9%, transparent);
  border-radius: 6px;
}
.player:focus { outline: none; }
.player:focus-visible .stage { outline: 2px solid var(--role-posterior); outline-offset: 3px; border-radius: 4px; }
.stage { position: relative; scroll-margin-top: 5.5rem; }
.player .corner { position: absolute; top: -24px; right: 0; width: 28px; height: 28px; border-color: transparent; background: transparent; }
.player .corner[hidden] { display: none; }
.player .corner svg { opacity: 0.6; }
.stage canvas { display: block; width: 100%; touch-action: pan-y; }
.stage.editable canvas { cursor: crosshair; }
.hidden-text {
  position: absolute; width: 1px; height: 1px; margin: -1px;
  overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
.tooltip {
  position: absolute; z-index: 2; pointer-events: none; max-width: 90%; padding: 3px 8px; border-radius: 4px;
  background: var(--role-ink); color: var(--role-surface); font-size: 0.8125rem; white-space: nowrap; visibility: hidden;
}
.player button.choice {
  position: absolute; transform: translate(-50%, -50%); min-width: 2.25rem; height: 2.25rem; padding: 0 0.5rem;
  border: 2px solid var(--role-ink); border-radius: 1.125rem; background: var(--role-surface); color: var(--role-ink);
  font: inherit; font-weight: 600; line-height: 1; cursor: pointer; white-space: nowrap;
}
.player button.choice:hover, .choice:focus-visible { outline: 3px solid var(--role-posterior); outline-offset: 1px; }
.player button.choice[aria-checked="true"] { background: var(--role-ink); color: var(--role-surface); }
.player button.choice[aria-disabled="true"] { cursor: default; }
.player button.choice.right { border-color: var(--role-accept); box-shadow: 0 0 0 3px var(--role-accept); }
.stage .draw-here {
  position: absolute; transform: translateX(-50%); margin: 0; padding: 3px 12px; border-radius: 1rem; pointer-events: none;
  border: 2px dashed var(--role-ink); background: var(--role-surface); font-weight: 600; white-space: nowrap;
}
.stage .draw-here[hidden] { display: none; }
.stage .handle {
  position: absolute; width: 14px; height: 14px; margin: -7px 0 0 -7px; border-radius: 50%; pointer-events: none;
  border: 2px dashed var(--role-ink); background: var(--role-surface);
}
.stage .handle.many { width: 8px; height: 8px; margin: -4px 0 0 -4px; border-width: 1px; }
.stage .handle.drawn { border-style: solid; }
.stage .handle:focus-visible { outline: 3px solid var(--role-posterior); outline-offset: 1px; }
.player[data-old]:not([data-preview]) .stage canvas, .player[data-old] .readouts { opacity: 0.45; }
.stage .old {
  position: absolute; top: 0; left: 50%; transform: translateX(-50%); margin: 0; padding: 2px 10px; border-radius: 4px;
  background: var(--role-ink); color: var(--role-surface); font-size: 0.8125rem;
}
.ring {
  position: absolute; width: 14px; height: 14px; margin: -7px 0 0 -7px; border-radius: 50%; pointer-events: none;
  box-shadow: 0 0 0 2px var(--role-ink), inset 0 0 0 1px var(--role-surface); visibility: hidden;
}

.legend, .phases, .readouts { margin: 8px 0 0; padding: 0; list-style: none; font-size: 0.875rem; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; }
.legend:empty { display: none; }
.legend li { display: flex; align-items: center; gap: 7px; }
.legend canvas { width: 26px; height: 16px; flex: none; }

/* A stage may be taller than the window; the controls stay in sight below it. */
.toolbar {
  display: flex; flex-wrap: wrap; align-items: center; gap: 6px 10px; margin-top: 10px;
  position: sticky; bottom: 0; z-index: 1; padding: 4px 0; background: var(--role-surface);
}
.toolbar.still:not(.held) { display: none; }
.toolbar .hold { display: none; margin: 0; flex: 1; font-weight: 600; }
.toolbar.held .hold { display: block; }
.toolbar.held > :not(.hold):not(:first-child) { display: none; }
.buttons { display: flex; gap: 2px; }
.player button, .player select {
  font: inherit; color: inherit; background: transparent;
  border: 1px solid transparent; border-radius: 6px; cursor: pointer;
}
.player .icon { display: grid; place-items: center; width: 2.25rem; height: 2.25rem; padding: 0; }
.player button:hover:not(:disabled), .player select:hover { background: var(--shade); }
.player button:focus-visible, .player select:focus-visible, .player input:focus-visible, .player summary:focus-visible,
.player .rows:focus-visible {
  outline: 2px solid var(--role-posterior); outline-offset: 1px;
}
.player button:disabled { opacity: 0.35; cursor: default; }
.player button[aria-pressed="true"], .player button[aria-checked="true"] {
  border-color: currentColor; background: var(--shade);
}
.player svg { width: 1.25rem; height: 1.25rem; fill: currentColor; }
.player .play { width: 2.75rem; background: var(--role-posterior); color: var(--role-surface); }
.player .play:hover:not(:disabled) { background: var(--role-posterior); filter: brightness(1.12); }
.classes { display: flex; gap: 6px; margin-top: 8px; }
.player .worded { height: 2.25rem; padding: 0 12px; border-color: var(--edge); white-space: nowrap; }
.classes button { display: inline-flex; align-items: center; gap: 6px; }
.classes canvas { width: 16px; height: 16px; }
.scrub { flex: 1 1 100px; min-width: 100px; display: flex; }
.scrub input {
  -webkit-appearance: none; appearance: none;
  flex: 1; width: 100%; height: 2.25rem; margin: 0; background: transparent; cursor: pointer;
  --track: linear-gradient(to right,
    var(--role-posterior) var(--done), color-mix(in srgb, var(--role-ink) 26%, transparent) var(--done) var(--loaded),
    var(--shade) var(--loaded));
}
.scrub input::-webkit-slider-runnable-track { height: 5px; border-radius: 3px; background: var(--track); }
.scrub input::-moz-range-track { height: 5px; border-radius: 3px; background: var(--track); }
.scrub input::-webkit-slider-thumb {
  -webkit-appearance: none; width: 18px; height: 18px; margin-top: -6.5px; border-radius: 50%;
  background: var(--role-posterior); border: 3px solid var(--role-surface); box-shadow: 0 0 0 1px var(--role-posterior);
}
.scrub input::-moz-range-thumb {
  width: 12px; height: 12px; border-radius: 50%;
  background: var(--role-posterior); border: 3px solid var(--role-surface);
  box-shadow: 0 0 0 1px var(--role-posterior);
}
.status { min-width: var(--status-width, 12ch); text-align: right; white-space: nowrap; }
.toolbar select { height: 2.25rem; padding: 0 4px; border-color: var(--edge); }
.toolbar select option { color: var(--role-ink); background: var(--role-surface); }

.phases { display: flex; flex-wrap: wrap; gap: 4px 6px; counter-reset: phase; }
.phases:empty { display: none; }
.phases li {
  counter-increment: phase; padding: 1px 10px 1px 8px; color: var(--role-muted);
  border: 1px solid var(--edge); border-radius: 12px;
}
.phases li::before { content: counter(phase) "\\2002"; }
.phases li[aria-current] { color: var(--role-surface); background: var(--role-ink); border-color: var(--role-ink); }

.readouts { margin-top: 12px; padding: 8px 14px; border-left: 3px solid var(--edge); font-size: 1rem; }
.readouts.reordered { display: flex; flex-direction: column; }
.readouts:not(:has(> :not([hidden]))) { display: none; } /* all of its lines may wait for the lock */
.readouts li { margin: 0; padding: 1px 0; overflow-wrap: anywhere; }
.readouts li.idle { color: var(--role-muted); }
.readouts li.lit { outline: 2px solid var(--role-highlight); outline-offset: 2px; border-radius: 2px; }

.readouts.card { margin-top: 6px; padding: 4px 14px; font-size: 0.9375rem; border-left-color: var(--role-highlight); }

.data { margin-top: 12px; font-size: 0.875rem; }
.data summary {
  width: fit-content; padding: 4px 6px 4px 0; border-radius: 4px; color: var(--role-muted); cursor: pointer;
}
.actions { display: flex; flex-wrap: wrap; gap: 8px; margin: 8px 0; }
.rows { overflow-x: auto; max-height: 320px; overflow-y: auto; }
.rows:empty { display: none; }
.data table { border-collapse: collapse; }
.data caption { text-align: left; color: var(--role-muted); padding: 4px 0; }
.data th, .data td {
  padding: 3px 14px 3px 4px; border-bottom: 1px solid var(--role-grid);
  text-align: right; font-weight: 400; white-space: nowrap;
}
.data thead th { font-weight: 600; position: sticky; top: 0; background: var(--role-surface); }
.data tr[aria-current] > * { background: color-mix(in srgb, var(--role-highlight) 16%, transparent); }
.player.plain :is(.legend, .phases, .readouts, .data) { display: none; }

@container (min-width: 1000px) {
  .readouts:not(.card) { columns: 2; column-gap: 2rem; }
  .readouts li { break-inside: avoid; }
}
@container (max-width: 619px) {
  .buttons { gap: 0; }
  .toolbar.held .buttons { display: none; }
  .player .icon { width: 2.5rem; height: 2.5rem; }
  .player .play { width: 3rem; }
  .player .worded, .toolbar select { height: 2.5rem; }
  .speed { order: 1; margin-left: auto; }
  .inside { order: 2; flex-basis: 100%; }
  .scrub { order: 3; }
  .scrub input { height: 2.5rem; }
  .status { order: 4; min-width: 0; }
}
/* on a projector of 4:3: a row, without what keys do */
@container (max-width: 800px) {
  .projected .toolbar { flex-wrap: nowrap; }
  .projected .toolbar :is(.home, .end, .worded) { display: none; }
  .projected .toolbar > * { order: 0; margin: 0; }
  .projected .inside { flex-basis: auto; }
  .projected .scrub { min-width: 40px; }
}
@media (max-width: 640px) {
  .toolbar { position: static; } /* on a phone it would cover the stage */
}
@media (forced-colors: active) {
  .player button { border-color: ButtonText; }
}
`;
