"""Reviews: questions about users, which are answered and not stored.

Whoever has a valid token may do everything here, so that access reviews always allow. A token review tells whose
token it is; a token request gives a service account a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ghostfleet.api.builtin import type_named
from ghostfleet.api.kinds import Resource, Version
from ghostfleet.api.validation.shape import normalise
from ghostfleet.api.verbs import Api
from ghostfleet.core.changes import Object
from ghostfleet.core.clock import SECOND
from ghostfleet.core.errors import ApiError, FieldError, bad_request, invalid
from ghostfleet.core.schema import Type
from ghostfleet.core.timestamps import rfc3339
from ghostfleet.server.auth import Authenticator, User

__all__ = ["Reviews"]

_AUDIENCE = "https://kubernetes.default.svc"
_SHORTEST_LIFE, _LONGEST_LIFE, _USUAL_LIFE = 600, 1 << 32, 3600
_TOKEN_REQUEST = type_named("io.k8s.api.authentication.v1.TokenRequest")
_EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


class Reviews:
    """Answers reviews and token requests."""

    def __init__(self, api: Api, authenticator: Authenticator) -> None:
        self._api = api
        self._authenticator = authenticator
        self._kinds: dict[str, Callable[[Object, str, User], Object]] = {
            "SelfSubjectAccessReview": _access,
            "SubjectAccessReview": _access,
            "LocalSubjectAccessReview": _access,
            "SelfSubjectRulesReview": _rules,
            "SelfSubjectReview": self._self,
            "TokenReview": self._token_review,
        }

    def takes(self, resource: Resource) -> bool:
        """Whether objects of this resource are reviews."""
        return resource.kind in self._kinds and not resource.custom

    def create(self, resource: Resource, version: Version, namespace: str, body: Any, user: User) -> Object:
        """The review with its answer."""
        api_version = resource.api_version(version.name)
        obj = _read(body, version.schema, resource.kind, version.name, api_version)
        answered = self._kinds[resource.kind](obj, namespace, user)
        return {"kind": resource.kind, "apiVersion": api_version, **answered}

    def request_token(self, namespace: str, name: str, body: Any) -> Object:
        """A token for a service account."""
        found = self._api.registry.at("", "v1", "serviceaccounts")
        if found is None:
            raise bad_request("there are no service accounts here")
        account = self._api.get(*found, namespace, name)
        spec = _read(body, _TOKEN_REQUEST, "TokenRequest", "v1", "authentication.k8s.io/v1").get("spec") or {}
        life = spec.get("expirationSeconds")
        life = _USUAL_LIFE if life is None else life
        if not _SHORTEST_LIFE <= life <= _LONGEST_LIFE:
            bound = "less than 10 minutes" if life < _SHORTEST_LIFE else "larger than 2^32 seconds"
            error = FieldError.invalid("spec.expirationSeconds", life, f"may not specify a duration {bound}")
            raise invalid("TokenRequest", "authentication.k8s.io", "", [error])
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        token = self._authenticator.issue(f"system:serviceaccount:{namespace}:{name}", groups)
        now = self._api.clock.now()
        metadata = {"name": name, "namespace": namespace, "uid": account["metadata"]["uid"]}
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {**metadata, "creationTimestamp": rfc3339(now)},
            "spec": {
                "audiences": spec.get("audiences") or [_AUDIENCE],
                "expirationSeconds": life,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {"token": token, "expirationTimestamp": rfc3339(now + life * SECOND)},
        }

    def _self(self, _obj: Object, _namespace: str, user: User) -> Object:
        created = {"creationTimestamp": rfc3339(self._api.clock.now())}
        return {"metadata": created, "status": {"userInfo": _user_info(user)}}

    def _token_review(self, obj: Object, _namespace: str, _user: User) -> Object:
        spec = obj.get("spec") or {}
        token = spec.get("token")
        if not token:
            raise bad_request("token is required for TokenReview in authentication")
        user = self._authenticator.user_of(token.encode())
        if user is None:
            status: Object = {"user": {}, "error": "invalid bearer token"}
        else:
            status = {"authenticated": True, "user": _user_info(user), "audiences": [_AUDIENCE]}
        return {"metadata": obj.get("metadata") or {}, "spec": spec, "status": status}


def _read(body: Any, schema: Type, kind: str, version: str, api_version: str) -> Object:
    """The body as an object of this kind."""
    if not isinstance(body, dict):
        raise bad_request(f"the object provided is unrecognized (must be of type {kind}): expected an object")
    if body.get("kind", kind) != kind or body.get("apiVersion", api_version) != api_version:
        raise bad_request(f"the object provided is unrecognized (must be of type {kind} in {api_version})")
    obj, _ = normalise({**body, "kind": kind, "apiVersion": api_version}, schema, kind=kind, version=version)
    return obj


def _access(obj: Object, namespace: str, _user: User) -> Object:
    spec = obj.get("spec") or {}
    asked = [field for field in ("resourceAttributes", "nonResourceAttributes") if spec.get(field) is not None]
    if len(asked) != 1:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid_review("spec.resourceAttributes", spec.get("resourceAttributes"), detail)
    metadata = obj.get("metadata") or {}
    if namespace:
        asked_in = (spec.get("resourceAttributes") or {}).get("namespace", "")
        if asked_in != namespace:
            raise _invalid_review("spec.resourceAttributes.namespace", asked_in, "must match metadata.namespace")
        metadata = {**metadata, "namespace": namespace}
    return {"metadata": metadata, "spec": spec, "status": {"allowed": True}}


def _invalid_review(field: str, value: Any, detail: str) -> ApiError:
    error = invalid("", "authorization.k8s.io", "", [FieldError.invalid(field, value, detail)])
    if error.details is not None:
        # A review has no kind in the real server's words.
        error.details.pop("kind", None)
    return error


def _rules(obj: Object, _namespace: str, _user: User) -> Object:
    if not (obj.get("spec") or {}).get("namespace"):
        raise bad_request("no namespace on request")
    return {"metadata": {}, "spec": {}, "status": _EVERYTHING}


def _user_info(user: User) -> Object:
    return {"username": user.name, "groups": list(user.groups)}
