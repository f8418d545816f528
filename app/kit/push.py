"""The short way of a picture: a websocket of the player's own, past Streamlit's messages.

Streamlit announces a run before its script has made anything; the browser redraws the whole page for that, and what
the script sends waits in line behind it. A picture that comes this way goes ahead of that: its run is announced once it
is on its way, or takes long (`seams.picture_first`). The data of the component, the long way, bear the same stamp, and
the player shows only what is newer; of a picture that it has already, by either way, they are the stamp alone. A player
that does not get what the stamp names asks for it. So whoever gets no socket, behind a proxy or after a night's sleep,
loses time and nothing else.

A player whose socket breaks calls again, and loads the page anew if the server does not know it any more: from the
address comes the same run. Without that the page of a server that was started anew would stand there and do nothing.

The address of the socket is the token in the stamp. It is made at random for a visit, and only its own browser learns
it, from a picture that came the long way.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import struct
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from urllib.parse import urlsplit

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketState

from app.kit import seams

POLICY_VIOLATION = 1008  # of the websocket's closing codes
ROUND = 0.012  # s; Streamlit rests for 0.01 s between two rounds of sending
_STAMP = struct.Struct("<16sII")  # token, number of the picture, bytes of the cue: app/static/player/channel.js reads it
NO_STAMP = bytes(_STAMP.size)  # of a player without a channel
LOST = "picture"  # the kind of the event by which a player asks for a picture

_served = False  # whether this process answers the sockets; a test without `st.App` does not
_channels: weakref.WeakValueDictionary[str, Channel] = weakref.WeakValueDictionary()


class Channel:
    """The short way to the player of one visit; used by the threads of its session, one at a time."""

    def __init__(self) -> None:
        self._token = secrets.token_bytes(16)
        self._number = 0
        self._newest: bytes | None = None
        self._line: _Line | None = None
        self.sent: bytes | None = None  # the last picture that went the short way
        self._lost: bytes | None = None  # one that the player has asked for
        _channels[self._token.hex()] = self

    def data(self, picture: bytes, cue: bytes = b"") -> bytes:
        """The data of the component: the picture, what the story wants of it, and the stamp. The picture is left out for
        a player that listens and has been sent it: each run of the page gives it anew. One that was lost never is, since
        the run that gives it again may be cut short, and a player asks once."""
        if not _served:
            return picture + NO_STAMP
        there = self._line is not None and picture is self._newest and picture is not self._lost
        stamp = self._stamp(picture, cue)
        return cue + stamp if there else picture + cue + stamp

    def _stamp(self, picture: bytes, cue: bytes) -> bytes:
        """A picture other than the last is newer."""
        if picture is not self._newest:
            self._newest = picture
            self._number += 1
        return _STAMP.pack(self._token, self._number, len(cue))

    def send(self, picture: bytes, cue: bytes = b"") -> bool:
        """Send a picture that is new, with its cue; whether it is on its way."""
        line = self._line
        if line is None or picture is self._newest:
            return False
        self.sent = picture
        line.send(picture + cue + self._stamp(picture, cue))
        return True

    def tell(self, table: bytes) -> None:
        """Send what the picture shows while a slider is dragged; where there is no short way, it is left out."""
        if self._line is not None:
            self._line.send(table + NO_STAMP, slot="table")

    @property
    def listens(self) -> bool:
        """Whether there is a player at the other end."""
        return self._line is not None

    def lost(self) -> None:
        """The player has not got what was sent: it comes the long way."""
        self._lost = self._newest

    def flushed(self) -> Future[None] | None:
        """Done when the server has had the time to send what the script has said so far; None without a socket."""
        line = self._line
        return line.flushed() if line is not None else None

    def open(self) -> _Line:
        """The line to a player that has just called. It takes the place of an older one."""
        if self._line is not None:
            self._line.close()
        self._line = line = _Line()
        weakref.finalize(self, line.close)  # a session that has ended hangs up
        return line

    def left(self, line: _Line) -> None:
        """The player at the other end of `line` is gone."""
        line.close()
        if self._line is line:
            self._line = None


class _Line:
    """What waits to be sent to one player: the newest picture and the newest table, never more."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._waiting: dict[str, bytes] = {}
        self._open = True

    def send(self, message: bytes, slot: str = "picture") -> None:
        """Have a message sent in place of one of its slot that still waits. From any thread, as `close`."""
        self._change(lambda: self._waiting.update({slot: message}))

    def close(self) -> None:
        """End the line."""
        self._change(lambda: setattr(self, "_open", False))

    def flushed(self) -> Future[None] | None:
        """As `Channel.flushed`."""

        async def rounds() -> None:
            for _ in range(2):  # after one the server's loop may still have to catch up
                await asyncio.sleep(ROUND)

        waiting = rounds()
        try:
            return asyncio.run_coroutine_threadsafe(waiting, self._loop)
        except RuntimeError:  # the server has stopped
            waiting.close()
            return None

    def _change(self, act: Callable[[], object]) -> None:
        def change() -> None:
            act()
            self._changed.set()

        with contextlib.suppress(RuntimeError):  # the server has stopped
            self._loop.call_soon_threadsafe(change)

    async def serve(self, socket: WebSocket) -> None:
        """Send what comes until the line is closed."""
        while self._open:
            if self._waiting:
                await socket.send_bytes(self._waiting.pop(next(iter(self._waiting))))
                continue
            await self._changed.wait()
            self._changed.clear()
        if socket.application_state is WebSocketState.CONNECTED:
            await socket.close()


def route() -> WebSocketRoute:
    """The sockets' route, for `st.App`."""
    global _served
    _served = True
    return WebSocketRoute(seams.below_base("/picture/{token}"), _answer)


async def _answer(socket: WebSocket) -> None:
    if not _same_origin(socket):
        await socket.close(POLICY_VIOLATION)
        return
    channel = _channels.get(socket.path_params["token"])
    await socket.accept()  # of one that is closed before, the player would not learn the code
    if channel is None:
        await socket.close(POLICY_VIOLATION)
        return
    line, gone = channel.open(), weakref.ref(channel)
    del channel  # a socket keeps no session alive
    serving = asyncio.create_task(line.serve(socket))
    await socket.receive()  # nothing is expected: whatever comes, a farewell mostly, ends it
    if (channel := gone()) is not None:
        channel.left(line)
    line.close()
    with contextlib.suppress(Exception):  # sending to one who has left
        await serving


def _same_origin(socket: WebSocket) -> bool:
    origin = socket.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == socket.headers.get("host")  # only browsers name an origin
