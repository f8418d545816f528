"""The short way of a picture: who gets which, and who gets none."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections.abc import Awaitable, Callable

import pytest

from app.kit import push
from app.kit.push import Channel


@pytest.fixture(autouse=True)
def served(monkeypatch: pytest.MonkeyPatch):
    """As in a process that answers the sockets."""
    monkeypatch.setattr(push, "_served", True)


class Caller:
    """A player's end of a websocket, spoken to as an ASGI server does."""

    def __init__(self, path: str, **headers: str):
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._scope = {"type": "websocket", "path": path, "headers": named, "query_string": b"", "subprotocols": []}
        self._inbox: asyncio.Queue[dict] = asyncio.Queue()
        self.outbox: asyncio.Queue[dict] = asyncio.Queue()

    async def call(self) -> dict:
        """Call; returns the answer."""
        await self._inbox.put({"type": "websocket.connect"})
        self._task = asyncio.create_task(push.route().handle(self.scope(), self._inbox.get, self.outbox.put))
        return await self.heard()

    def scope(self) -> dict:
        """The scope with what the router adds to it."""
        return self._scope | push.route().matches(self._scope)[1]

    async def heard(self) -> dict:
        """The next message."""
        return await asyncio.wait_for(self.outbox.get(), 5)

    async def hang_up(self) -> None:
        """Leave."""
        await self._inbox.put({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(self._task, 5)


def path(channel: Channel) -> str:
    """Where a player of this channel calls."""
    return f"/picture/{channel.data(b'')[-24:-8].hex()}"


def in_a_loop(story: Callable[[], Awaitable[None]]) -> None:
    """Run `story`."""
    asyncio.run(story())  # type: ignore[arg-type]


def test_another_picture_bears_a_higher_number_and_the_same_one_the_same():
    channel = Channel()
    a, b = b"one", b"two"
    numbers = [int.from_bytes(channel.data(picture)[-8:-4], "little") for picture in (a, a, b, a)]
    assert numbers == [1, 1, 2, 3]
    assert channel.data(a)[:-24] == a
    assert channel.data(a)[-24:-8] != Channel().data(a)[-24:-8], "each visit has a token of its own"


def test_where_nobody_answers_no_player_is_told_to_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(push, "_served", False)
    assert Channel().data(b"picture") == b"picture" + push.NO_STAMP


def test_without_a_listener_nothing_is_sent():
    channel = Channel()
    assert not channel.send(b"picture") and channel.sent is None


def test_a_picture_goes_to_the_player_once():
    async def story():
        channel = Channel()
        player = Caller(path(channel))
        assert (await player.call())["type"] == "websocket.accept"
        picture = b"picture"
        thread = threading.Thread(target=channel.send, args=(picture,))  # as a script does
        thread.start()
        sent = (await player.heard())["bytes"]
        thread.join()
        assert channel.sent is picture and not channel.send(picture)
        assert sent == picture + channel.data(picture), "the long way goes the stamp alone"
        channel.lost()
        assert channel.data(picture) == sent, "which the player did not get"
        channel.send(another := b"another")
        await player.heard()
        await player.hang_up()
        assert channel.data(another)[:-24] == another and not channel.send(b"a third"), "nobody is there any more"

    in_a_loop(story)


def test_what_went_the_long_way_is_named_to_a_player_that_listens():
    async def story():
        channel, first, second = Channel(), b"first", b"second"
        player = Caller(path(channel))
        whole = channel.data(first)
        assert whole[:-24] == first
        assert channel.data(first) == whole, "the run that gave it may have been cut short"
        await player.call()
        assert channel.data(first) == whole[-24:]
        assert channel.data(second)[:-24] == second and channel.data(first)[:-24] == first, "it has seen another since"
        channel.lost()
        for _ in range(2):
            assert channel.data(first)[:-24] == first, "the run that gave it may have been cut short, and it is asked for once"
        await player.hang_up()
        assert channel.data(first)[:-24] == first, "nobody is there any more"

    in_a_loop(story)


def test_only_the_newest_waits():
    async def story():
        channel = Channel()
        player = Caller(path(channel))
        await player.call()
        pictures = [bytes([k]) for k in range(5)]
        for picture in pictures:
            channel.send(picture)
        assert (await player.heard())["bytes"][:1] == pictures[-1]
        assert player.outbox.empty()
        await player.hang_up()

    in_a_loop(story)


@pytest.mark.parametrize("headers", [{}, {"origin": "https://lab.example", "host": "lab.example"}])
def test_own_pages_are_let_in(headers: dict[str, str]):
    async def story():
        channel = Channel()
        player = Caller(path(channel), **headers)
        assert (await player.call())["type"] == "websocket.accept"
        await player.hang_up()

    in_a_loop(story)


def test_strangers_are_turned_away():
    async def story():
        channel = Channel()
        guess = Caller(f"/picture/{'0' * 32}")
        assert (await guess.call())["type"] == "websocket.accept"
        closed = await guess.heard()
        assert (closed["type"], closed["code"]) == ("websocket.close", push.POLICY_VIOLATION)
        foreign = Caller(path(channel), origin="https://elsewhere.example", host="lab.example")
        assert (await foreign.call())["type"] == "websocket.close"
        assert not channel.send(b"picture")

    in_a_loop(story)


def test_a_second_player_takes_the_place_of_the_first():
    async def story():
        channel = Channel()
        first, second = Caller(path(channel)), Caller(path(channel))
        await first.call()
        await second.call()
        assert (await first.heard())["type"] == "websocket.close"
        await first.hang_up()
        assert channel.send(b"picture")
        assert (await second.heard())["bytes"][:7] == b"picture"
        await second.hang_up()

    in_a_loop(story)


def test_the_end_of_a_session_closes_its_socket():
    async def story():
        channel = Channel()
        player = Caller(path(channel))
        await player.call()
        del channel
        gc.collect()
        assert (await player.heard())["type"] == "websocket.close"
        await player.hang_up()

    in_a_loop(story)


def test_what_is_flushed_has_had_a_round_of_sending_after_the_server_was_held_up():
    async def story() -> None:
        sent = []

        async def send() -> None:  # as Streamlit does: a rest, some turns of the loop, what has come
            await asyncio.sleep(0.01)
            for _ in range(20):
                await asyncio.sleep(0)
            sent.append(True)

        channel = Channel()
        channel.open()
        sending = asyncio.create_task(send())
        await asyncio.sleep(0)
        flushed = channel.flushed()
        assert flushed is not None
        for _ in range(3):
            await asyncio.sleep(0)
        time.sleep(0.1)
        await asyncio.wrap_future(flushed)
        assert sent
        await sending

    in_a_loop(story)


def test_nobody_waits_for_a_server_that_has_stopped():
    channel = Channel()
    assert channel.flushed() is None

    async def story() -> None:
        channel.open()

    in_a_loop(story)
    assert channel.flushed() is None
