# Posterior Lab in a container: not root, nothing written below / (cache and downloads are a volume), kernels compiled
# while the image is built. See docs/DEPLOY.md.
FROM python:3.11-slim AS built
WORKDIR /lab
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements.txt requirements.lock ./
# What only developers and notebooks ask for is left out, and Arrow's parts that nothing here loads: a third of all bytes.
RUN python -m venv --without-pip /venv \
 && python -m pip --python /venv/bin/python install --require-hashes --no-compile -r requirements.lock \
 && find /venv -depth \( -type d \( -name tests -o -name include -o -name nbextension -o -name labextension \) \
    -o -name '*.map' -o -name 'libarrow_flight*' -o -name 'libarrow_substrait*' \) -exec rm -r {} +
COPY app app
COPY datasets datasets
COPY engine engine
COPY lessons lessons
COPY .streamlit .streamlit
# The baseline that kernels are compiled for: any x86-64 processor since about 2015.
ENV NUMBA_CPU_NAME=x86-64-v3 POSTERIOR_LAB_CACHE=/kernels
# Of the packages what a server loads keeps its byte code.
RUN /venv/bin/python -m engine.warm \
 && /venv/bin/python -c "import distributed, streamlit.web.cli; from app.kit.startup import load, load_charts, load_rest; load(); load_rest(); load_charts()" \
 && /venv/bin/python -m compileall -q app datasets engine lessons

FROM python:3.11-slim
# /data is there for this user: a volume that is mounted on nothing would be root's.
RUN useradd --uid 10001 --no-create-home lab && install -d -o lab /data
COPY --from=built /venv /venv
COPY --from=built /lab /lab
COPY --from=built /kernels /kernels
WORKDIR /lab
# What is compiled for the baseline is used. For kernels of this machine's own processor: NUMBA_CPU_NAME= and a cache
# that can be written, POSTERIOR_LAB_CACHE=/data; they are then compiled in the background.
ENV PATH=/venv/bin:$PATH NUMBA_CPU_NAME=x86-64-v3 POSTERIOR_LAB_CACHE=/kernels POSTERIOR_LAB_DOWNLOADS=/data POSTERIOR_LAB_STATE=/data/state POSTERIOR_LAB_LOG=json
VOLUME /data
USER 10001
EXPOSE 8501
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8501/readyz', timeout=2)"]
CMD ["python", "-m", "streamlit", "run", "app/main.py", "--server.port", "8501", "--server.address", "0.0.0.0"]
