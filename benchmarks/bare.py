"""The least that a Streamlit page with a picture can be: one number box, one canvas. `benchmarks.page` measures beside
it; a lecturer's lesson pays for all it has beyond this.
"""

import numpy as np
import streamlit as st

PAINT = """
export default ({ data, parentElement }) => {
  const canvas = parentElement.querySelector("canvas");
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  data.values.forEach((value, i) => context.fillRect(i % canvas.width, 200 + 50 * value, 2, 2));
  canvas.dataset.run = data.run;
};
"""

if __name__ == "__main__":
    seed = st.number_input("Seed", 0, 2**31 - 1, 1, key="bare/seed/box")
    canvas = st.components.v2.component("bare.canvas", html='<canvas data-testid="player" width="900" height="400"></canvas>', js=PAINT)
    values = np.random.Generator(np.random.SFC64(seed)).standard_normal(1000)
    canvas(data={"run": str(seed), "values": values.tolist()}, key="bare/canvas")
