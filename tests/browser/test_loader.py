"""The loader of a component, called as Streamlit calls it: again for each message, and with a farewell to each call
that a newer one overtook, not only when the component goes.
"""

from __future__ import annotations

from app.kit.assets import loader
from tests.browser.conftest import Lab

# Streamlit's part: makes a place for the pad, calls the module, and keeps what that returns.
PREPARE = """async text => {
  const host = document.body.appendChild(document.createElement("div"));
  const { default: mount } = await import(URL.createObjectURL(new Blob([text], {type: "text/javascript"})));
  const parentElement = host.attachShadow({mode: "open"});
  const data = {points: [], limit: 240, seen: 0};
  window.__place = {host, call: () => mount({parentElement, data, setTriggerValue: () => {}}), farewells: []};
}"""
CALL = """async () => {
  const { host, call, farewells } = window.__place;
  farewells.push(call());
  while (!host.shadowRoot.querySelector("svg")) await new Promise(requestAnimationFrame);
}"""
# A stroke is under the pen when the newer call comes, and the older one is taken leave of.
OVERTAKEN = """async () => {
  const { host, call, farewells } = window.__place;
  const pad = host.shadowRoot.querySelector("svg"), box = pad.getBoundingClientRect();
  pad.setPointerCapture = () => {};
  const at = (kind, x) => pad.dispatchEvent(
    new PointerEvent(kind, {button: 0, clientX: box.left + x * box.width, clientY: box.top + 0.5 * box.height})
  );
  at("pointerdown", 0.2);
  at("pointermove", 0.5);
  farewells.shift()();
  farewells.push(call());
  await new Promise(resolve => setTimeout(resolve, 50));
  at("pointermove", 0.8);
  return [host.shadowRoot.querySelector("svg") === pad, host.shadowRoot.querySelector(".pad").dataset.points];
}"""
REMOVED = """async () => {
  const { host, call, farewells } = window.__place;
  host.remove();
  farewells.shift()();
  await new Promise(resolve => setTimeout(resolve, 50));
  return host.shadowRoot.childElementCount;
}"""


def test_a_component_outlives_a_call_that_was_overtaken_and_goes_with_its_place(lab: Lab):
    page = lab.open("/")
    page.evaluate(PREPARE, loader("pad"))
    page.evaluate(CALL)
    assert page.evaluate(OVERTAKEN) == [True, "3"]
    assert page.evaluate(REMOVED) == 0
