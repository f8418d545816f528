"""A user without a browser: speaks Streamlit's websocket as the front end does, timers included."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from typing import Any, TypeVar

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

XSRF = "_streamlit_xsrf"
T = TypeVar("T")

PATIENCE = 60.0  # s for an answer
TICKS = 6  # of a timer in that time


class User:
    """One session.

    Keeps what the page holds: its widgets by their keys, its timers and texts; and the seconds that each
    run took, and each new picture.
    """

    def __init__(self, socket: websockets.ClientConnection, url: str, page: str, query: str = "", cookies: str = ""):
        self.url, self.page, self.query = url, page, query
        self._cookies = cookies
        self.widgets: dict[str, Any] = {}  # key → the widget as the page has it now
        self.texts: list[str] = []  # what the page says now, in boxes and beside them
        self.values: dict[str, WidgetState] = {}
        self.timers: dict[str, float] = {}  # fragment → seconds
        self.received = 0  # bytes
        self.polls: list[float] = []
        self.runs: list[float] = []
        self.pictures: list[float] = []  # seconds from what the user did to the new picture
        self.faults: list[str] = []
        self.announced: list[str] = []  # runs of pages and fragments: which page's, by the server's name for it
        self._picture = 0  # of the last one that came
        self._drawn = asyncio.Event()
        self._came = 0.0  # when it did
        self._socket = socket
        self._page_hash = ""
        self._hashes: dict[str, str] = {}  # of all pages
        self._session = ""
        self._upload: Any = None  # where a file may be sent
        self._finished = asyncio.Event()
        self._grew = False  # the run under way has asked for another one
        self._reader = asyncio.create_task(self._read())

    async def open(self) -> None:
        """The first run."""
        self.runs.append(await self._run())

    async def go(self, page: str) -> None:
        """To another page, as by a link in the navigation."""
        self.page, self.query, self._page_hash = page, "", self._hashes[page]
        self.values.clear()
        self.timers.clear()
        self._drawn.clear()
        self.runs.append(await self._run())

    async def go_with_a_late_tick(self, page: str) -> str:
        """The same, while a timer of the page that is left fires, as a browser lets it until it hears of the new one.
        Returns the server's name for the page that was left."""
        fragment, left = next(iter(self.timers)), self._page_hash
        going = asyncio.create_task(self.go(page))
        await asyncio.sleep(0)
        message = BackMsg()
        message.rerun_script.page_script_hash, message.rerun_script.fragment_id = left, fragment
        message.rerun_script.is_auto_rerun = True
        await self._socket.send(message.SerializeToString())
        await going
        return left

    async def set(self, key: str, **value: Any) -> None:
        """Change a widget and wait for the new page. `value` is a field of Streamlit's `WidgetState`."""
        state = WidgetState(id=self.widgets[key].id, **value)
        self.values[state.id] = state
        self.runs.append(await self._run())

    async def set_number(self, key: str, value: float) -> None:
        """Change a number box and wait for the new page."""
        await self.set(key, double_value=value)

    async def new_seed(self, seed: int, most: float = 60.0) -> None:
        """Ask for a run with this seed, and stay until its picture is there; timers fire meanwhile."""
        begin = time.perf_counter()
        self._drawn.clear()
        await self.set_number(f"{self.page}/seed/box", float(seed))
        await self.see(most)
        self.pictures.append((self._came if self._drawn.is_set() else time.perf_counter()) - begin)

    async def see(self, most: float = 60.0) -> bool:
        """Stay until a picture is there, at most so many seconds; whether it is. Timers fire meanwhile."""
        end = time.perf_counter() + most
        while not self._drawn.is_set() and time.perf_counter() < end:
            await self.poll(0.05)
        return self._drawn.is_set()

    async def set_text(self, key: str, text: str) -> None:
        """Type into a text box and wait for the new page."""
        await self.set(key, string_value=text)

    async def give_file(self, key: str, name: str, content: bytes) -> None:
        """Drop a file and wait for the new page."""
        message = BackMsg()
        message.file_urls_request.request_id = name
        message.file_urls_request.file_names.append(name)
        message.file_urls_request.session_id = self._session
        await self._socket.send(message.SerializeToString())
        while self._upload is None:
            await asyncio.sleep(0.01)
        urls, self._upload = self._upload, None
        await asyncio.to_thread(_put, self.url, urls.upload_url, name, content, self._cookies)
        state = WidgetState(id=self.widgets[key].id)
        given = state.file_uploader_state_value.uploaded_file_info
        info = given.add(name=name, size=len(content), file_id=urls.file_id)
        info.file_urls.CopyFrom(urls)
        self.values[state.id] = state
        self.runs.append(await self._run())

    async def press(self, key: str) -> None:
        """Press a button and wait."""
        self.runs.append(await self._run(pressed=self.widgets[key].id))

    async def poll(self, seconds: float) -> None:
        """Let the page's timers fire for some seconds."""
        end = time.perf_counter() + seconds
        due = dict.fromkeys(self.timers, time.perf_counter())
        while time.perf_counter() < end:
            now = time.perf_counter()
            for fragment, every in list(self.timers.items()):
                if fragment in self.timers and due.setdefault(fragment, now + every) <= now:
                    due[fragment] = now + every
                    seconds = await self._run(fragment=fragment)
                    # a poll that finds a job ended asks for a full run: that is a run
                    (self.runs if self._grew else self.polls).append(seconds)
            await asyncio.sleep(0.01)

    async def close(self) -> None:
        """Go away."""
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def _run(self, fragment: str = "", pressed: str = "") -> float:
        message = BackMsg()
        rerun = message.rerun_script
        rerun.page_name = "" if self._page_hash else self.page  # the name serves for the first run only
        rerun.page_script_hash = self._page_hash
        rerun.query_string = self.query
        if fragment:
            rerun.fragment_id = fragment
            rerun.is_auto_rerun = True
        rerun.widget_states.widgets.extend(self.values.values())
        if pressed:
            rerun.widget_states.widgets.append(WidgetState(id=pressed, trigger_value=True))
        self._finished.clear()
        self._grew = False
        begin = time.perf_counter()
        finished = asyncio.create_task(self._finished.wait())
        try:
            for _ in range(TICKS if fragment else 1):  # the server may drop a tick, and a browser's timer ticks again
                await self._socket.send(message.SerializeToString())
                patience = PATIENCE / TICKS if fragment else PATIENCE
                done, _ = await asyncio.wait([finished, self._reader], timeout=patience, return_when=asyncio.FIRST_COMPLETED)
                if done:
                    break
        finally:
            finished.cancel()
        if self._reader in done:
            self._reader.result()
        assert done, "no answer within a minute"
        return time.perf_counter() - begin

    async def _read(self) -> None:
        async for data in self._socket:
            assert isinstance(data, bytes)
            self.received += len(data)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    self._grew = True
                else:
                    if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                        there = {widget.id for widget in self.widgets.values()}
                        self.values = {i: state for i, state in self.values.items() if i in there}
                    self._finished.set()
            elif kind == "session_event" and message.session_event.HasField("script_compilation_exception"):
                self.faults.append(message.session_event.script_compilation_exception.message)
            elif kind == "file_urls_response":
                self._upload = message.file_urls_response.file_urls[0]
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "navigation":
                self._page_hash = message.navigation.page_script_hash
                self._hashes = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            elif kind == "auto_rerun":
                self.timers[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            elif kind == "stop_auto_rerun":
                self.timers.pop(message.stop_auto_rerun.fragment_id, None)
            elif kind == "new_session":
                self._session = message.new_session.initialize.session_id
                self.announced.append(message.new_session.page_script_hash)
                if not message.metadata.run.fragment_ids:
                    self.timers.clear()  # a full run sets its timers anew
                    self.widgets.clear()
                    self.texts.clear()
            elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
                self._note(message.delta.new_element)

    def _note(self, element) -> None:
        kind = element.WhichOneof("type")
        if kind == "exception":
            self.faults.append(element.exception.message)
        part = getattr(element, kind) if kind else None
        if kind in ("alert", "markdown"):
            self.texts.append(part.body)
        if kind == "bidi_component" and part.WhichOneof("data") == "bytes" and hash(part.bytes) != self._picture:
            self._picture = hash(part.bytes)
            self._drawn.set()
            self._came = time.perf_counter()
        identity = getattr(part, "id", "")
        if isinstance(identity, str) and "-" in identity:
            self.widgets[identity.split("-", 2)[-1]] = part  # ids look like $$ID-<hash>-<key>
            if getattr(part, "set_value", False):  # the program has moved it
                self.values.pop(identity, None)


def _put(server: str, path: str, name: str, content: bytes, cookies: str) -> None:
    """Send a file as a browser does, with the token against forgery that the server has set as a cookie."""
    with urllib.request.urlopen(urllib.request.Request(f"{server}/_stcore/health", headers={"Cookie": cookies}), timeout=60) as answer:
        cookie = SimpleCookie(answer.headers["Set-Cookie"])[XSRF].value
    edge = "edge-of-the-file"
    head = f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{edge}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}", "Cookie": f"{XSRF}={cookie}; {cookies}", "X-Xsrftoken": cookie}
    request = urllib.request.Request(server + path, body, headers, method="PUT")
    urllib.request.urlopen(request, timeout=60).close()


@asynccontextmanager
async def visiting(url: str, page: str, query: str = "", cookies: str = "") -> AsyncIterator[User]:
    """A user at the page with slug `page` of the server at `url`, with the cookies that a browser would have."""
    address = url.replace("http", "ws", 1) + "/_stcore/stream"
    headers = {"Cookie": cookies} if cookies else {}
    async with websockets.connect(address, subprotocols=["streamlit"], max_size=None, additional_headers=headers) as socket:
        user = User(socket, url, page, query, cookies)
        try:
            yield user
        finally:
            await user.close()


def play(story: Coroutine[Any, Any, T]) -> T:
    """Run `story` to its end, in a thread of its own: a browser's driver may keep this one's event loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, story).result()
