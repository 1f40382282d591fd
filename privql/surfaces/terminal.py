"""The REPL's terminal: history, colour, completion, and lines until a statement is whole."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer

from privql.surfaces.highlight import KEYWORDS, QueryLexer

if TYPE_CHECKING:
    from privql.session import Session


class Terminal:
    def __init__(self, session: Session, whole: Callable[[str], bool]) -> None:
        keys = KeyBindings()

        @keys.add("enter")
        def _(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if whole(buffer.text):
                buffer.validate_and_handle()
            else:
                buffer.insert_text("\n")

        self._prompt: PromptSession[str] = PromptSession(
            "privql> ",
            multiline=True,
            prompt_continuation="   ...> ",
            key_bindings=keys,
            history=_history(),
            lexer=PygmentsLexer(QueryLexer),
            completer=_Words(session),
            complete_while_typing=False,
        )
        print("PrivQL: a statement ends with ;   \\? for help, \\q to leave")

    def line(self) -> str:
        return self._prompt.prompt() + "\n"


class _Words(Completer):
    """Tables and columns as the policy names them, then the language's words."""

    def __init__(self, session: Session) -> None:
        self.names = session.names()

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        begun = document.get_word_before_cursor()
        if not begun:
            return
        folded = begun.lower()
        for name in self.names:
            if name.lower().startswith(folded):
                yield Completion(name, -len(begun))
        for keyword in KEYWORDS:
            if keyword.lower().startswith(folded):
                yield Completion(keyword.lower() if begun.islower() else keyword, -len(begun))


def _history() -> History:
    """In the user's state directory, readable by the user alone; in memory where there is none."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home())
    else:
        base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    file = base / "privql" / "history"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
    except (OSError, RuntimeError):
        return InMemoryHistory()
    return FileHistory(str(file))
