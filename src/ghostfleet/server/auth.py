"""Who is calling: bearer tokens and the users they stand for.

A *token* is a random string that a client sends as `Authorization: Bearer <token>`; a *user* is a name and its groups,
as Kubernetes knows them. A cluster has one administrator's token, and issues more for service accounts. Tokens are kept
and looked up by a digest with a secret key: the time a look-up takes says nothing about the tokens, because no caller
can know the digest of what it sends. A few *public* paths tell that the server lives and which version it is; they need
no token.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from ghostfleet.core.errors import unauthorized

__all__ = ["ADMIN", "Authenticator", "User", "is_public", "new_token"]

_PUBLIC = ("/healthz", "/livez", "/readyz")
_AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True, slots=True)
class User:
    """A name and the groups it belongs to."""

    name: str
    groups: tuple[str, ...] = ()


ADMIN = User("kubernetes-admin", ("system:masters", _AUTHENTICATED))


def new_token() -> str:
    """A fresh secret of 32 random bytes. Secrets must not repeat, so no seed of the simulation reaches this."""
    return secrets.token_urlsafe(32)


def is_public(path: str) -> bool:
    """Whether everybody may read this path."""
    return path.rstrip("/") == "/version" or any(path == root or path.startswith(root + "/") for root in _PUBLIC)


class Authenticator:
    """Tells users by their tokens."""

    def __init__(self, token: str) -> None:
        """`token` is the administrator's."""
        if not token:
            raise ValueError("the administrator's token is empty")
        self._key = secrets.token_bytes(32)
        self._users: dict[bytes, User] = {self._digest(token.encode()): ADMIN}

    def authenticate(self, authorization: bytes | None) -> User:
        """The user of a request with this Authorization header, or 401."""
        scheme, _, token = (authorization or b"").strip().partition(b" ")
        user = self.user_of(token.strip()) if scheme.lower() == b"bearer" else None
        if user is None:
            raise unauthorized()
        return user

    def user_of(self, token: bytes) -> User | None:
        """Whose token this is, if anybody's."""
        return self._users.get(self._digest(token))

    def issue(self, username: str, groups: Iterable[str] = ()) -> str:
        """A new token for a user, such as `system:serviceaccount:default:robot`."""
        token = new_token()
        self._users[self._digest(token.encode())] = User(username, tuple(dict.fromkeys((*groups, _AUTHENTICATED))))
        return token

    def _digest(self, token: bytes) -> bytes:
        return hashlib.blake2b(token, key=self._key, digest_size=32).digest()
