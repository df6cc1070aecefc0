"""Calls: a request together with what it is about, as the handlers of the verbs get it."""

from __future__ import annotations

from dataclasses import dataclass

from ghostfleet.api.kinds import Resource, Version
from ghostfleet.server.auth import User
from ghostfleet.server.negotiation import MediaType, check_route, negotiate
from ghostfleet.server.paths import Target
from ghostfleet.server.requests import Request

__all__ = ["Call"]

_PRETTY_AGENTS = ("curl", "Wget", "Mozilla/5.0")


@dataclass(slots=True)
class Call:
    """One request on a resource."""

    request: Request
    target: Target
    resource: Resource
    version: Version
    user: User
    body: bytes

    def negotiated(self, *, stream: bool = False) -> MediaType:
        """The form that the client accepts; of built-in kinds the router has a word in it."""
        accept, custom = self.request.accept, self.resource.custom
        if not custom:
            check_route(accept, listing=self.request.method == "GET" and not self.target.name)
        return negotiate(accept, stream=stream, custom=custom)

    def form(self) -> MediaType:
        """The form of the answer; people who look with curl or a browser get it indented."""
        request = self.request
        form = self.negotiated()
        asked = request.query.get("pretty")
        if asked is not None and asked[0]:
            pretty = asked[0].lower() in ("1", "t", "true")
        else:
            pretty = form.pretty or request.user_agent.startswith(_PRETTY_AGENTS)
        return form._replace(pretty=pretty) if pretty is not form.pretty else form
