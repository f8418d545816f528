"""The user without a browser sees what a reader would."""

from __future__ import annotations

from collections.abc import AsyncIterator

from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.load.user import User, play


class Said:
    """A socket on which these messages come."""

    def __init__(self, *messages: ForwardMsg):
        self._messages = messages

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for message in self._messages:
            yield message.SerializeToString()


def test_a_page_whose_script_cannot_be_run_is_a_fault():
    why, finished = ForwardMsg(), ForwardMsg(script_finished=ForwardMsg.FINISHED_WITH_COMPILE_ERROR)
    why.session_event.script_compilation_exception.message = "invalid syntax"

    async def faults() -> list[str]:
        user = User(Said(why, finished), "", "hmc")  # type: ignore[arg-type]
        await user._reader
        return user.faults

    assert play(faults()) == ["invalid syntax"]
