"""The HTTP face of a cluster: an ASGI application.

A request is authenticated, its path decides which part of the server answers, and what that part raises becomes a
Status. Errors that clients cause are `ApiError`s; anything else is a mistake of ours, which is logged and answered
with 500, and never ends the server.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ghostfleet.api.verbs import Api
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import real_seconds
from ghostfleet.core.errors import ApiError, internal_error, method_not_allowed
from ghostfleet.server.about import PATH as ABOUT
from ghostfleet.server.about import about_answer
from ghostfleet.server.auth import Authenticator, User, is_public
from ghostfleet.server.calls import Call
from ghostfleet.server.counters import Counters
from ghostfleet.server.documents import Documents
from ghostfleet.server.health import health_answer, version_answer
from ghostfleet.server.negotiation import error_form
from ghostfleet.server.paths import locate, segments
from ghostfleet.server.requestfigures import key_of
from ghostfleet.server.requests import ClientGone, Intake, Receive, Request, Scope, Send
from ghostfleet.server.resources import Resources, no_such_resource, verb_of
from ghostfleet.server.responses import Answer, error_answer, page_not_found, send_answer
from ghostfleet.server.reviews import Reviews
from ghostfleet.server.streams import Stream, WatchStreams

__all__ = ["App"]

_log = logging.getLogger(__name__)
_WITH_BODY = frozenset(("create", "update", "patch", "delete", "deletecollection"))
_READING = frozenset(("GET", "HEAD"))


class App:
    """Serves one cluster's API."""

    def __init__(
        self,
        api: Api,
        authenticator: Authenticator,
        *,
        anonymous: User | None = None,
        about: Callable[[], Object] | None = None,
    ) -> None:
        """`anonymous` is who a request without any token comes from; without it such a request is refused.

        kubectl and client-go send tokens over TLS only, so that a server without TLS needs it. `about` is what the
        cluster says of itself.
        """
        self._api = api
        self._about = about or dict
        self._anonymous = anonymous
        self._authenticator = authenticator
        self.streams = WatchStreams()
        self._counters = Counters()
        self._intake = Intake()
        self._documents = Documents(api.registry)
        self._resources = Resources(api, Reviews(api, authenticator), self.streams)

    def close(self) -> None:
        """End all open watches, for the server stops."""
        self.streams.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(Request(scope, receive), receive, send)
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await send({"type": "websocket.close", "code": 1000})

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            stage = (await receive())["type"]
            if stage == "lifespan.shutdown":
                self.close()
            await send({"type": f"{stage}.complete"})
            if stage == "lifespan.shutdown":
                return

    async def _serve(self, request: Request, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(request)
        except ClientGone:
            return
        except ApiError as error:
            answer = error_answer(error, error_form(request.accept), unread=request.unread)
        except Exception as error:
            answer = _mistake(request, error)
        if isinstance(answer, Stream):
            try:
                await answer.run(send, receive)
            except Exception:
                _log.exception("the stream %s %s broke off", request.method, request.path)
                raise
            finally:
                self._counters.end(answer)
        else:
            await send_answer(send, answer, request.accept_encoding, body_wanted=request.method != "HEAD")

    async def _answer(self, request: Request) -> Answer | Stream:
        path = request.path
        parts = segments(path)
        if not path.startswith("/api") and is_public(path):
            return self._public(request, parts)
        user = self._user(request.authorization)
        if parts is None:
            return page_not_found()
        target = locate(parts)
        if target is None:
            return self._document(request, parts)
        found = self._api.registry.at(target.group, target.version, target.plural)
        if found is None:
            return self._missing(target.group)
        verb = verb_of(request, target)
        began, code, answer = real_seconds(), 500, None
        counters, kind = self._counters, "mutating" if verb in _WITH_BODY else "readOnly"
        counters.in_flight[kind] += 1
        try:
            body = await request.body(self._intake) if verb in _WITH_BODY else b""
            answer = self._resources.answer(verb, Call(request, target, *found, user, body))
            code = answer.status if isinstance(answer, Answer) else 200
        except ApiError as error:
            code = error.code
            raise
        finally:
            counters.in_flight[kind] -= 1
            key = key_of(verb, target, found[0], request)
            if isinstance(answer, Stream):
                counters.begin(answer, key, began)
            else:
                counters.requests.count(key, code, real_seconds() - began)
        return answer

    def _public(self, request: Request, parts: list[str] | None) -> Answer:
        """Health and version, which need no token."""
        if parts == ["version"]:
            if request.method not in _READING:
                raise method_not_allowed()
            return version_answer()
        # The real server knows no health path with a slash at its end.
        if not parts or request.path.endswith("/"):
            return page_not_found()
        return health_answer(parts, self._api.clock, verbose="verbose" in request.query) or page_not_found()

    def _user(self, authorization: str) -> User:
        if not authorization and self._anonymous is not None:
            return self._anonymous
        return self._authenticator.authenticate(authorization.encode("latin-1"))

    def _document(self, request: Request, parts: list[str]) -> Answer:
        """A path that names no resource."""
        if parts == ["metrics"]:
            return self._counters.answer(self._api)
        if parts == [ABOUT]:
            return about_answer(self._api.clock, self._about())
        answer = self._documents.answer(request, parts)
        if answer is None:
            group = parts[1] if parts[0] == "apis" and len(parts) > 1 else ""
            return self._missing(group) if parts[0] in ("api", "apis") else page_not_found()
        if request.method not in _READING and len(parts) > 1:
            raise method_not_allowed()
        return answer

    def _missing(self, group: str) -> Answer:
        """Nothing is there: built-in groups say so with a Status, others know nothing of the path at all."""
        known = self._documents.discovery.groups.get(group)
        if known is None or known.custom:
            return page_not_found()
        raise no_such_resource()


def _mistake(request: Request, error: Exception) -> Answer:
    _log.error("%s %s failed", request.method, request.path, exc_info=error)
    return error_answer(internal_error(f"{type(error).__name__}: {error}"))
