"""Resources over HTTP: from a request on a path to a verb of the API, and back to an answer.

What a method means depends on what the path names: GET on a collection is a list or a watch, on an object a get, and
so on. A verb that a resource does not have answers 405, as does every method that HTTP may invent.
"""

from __future__ import annotations

from typing import Any, cast

import orjson

from ghostfleet.api.kinds import Resource
from ghostfleet.api.listing import check_revision
from ghostfleet.api.options import DeleteOptions, ListOptions, PatchType, WriteOptions
from ghostfleet.api.verbs import Api
from ghostfleet.core.errors import ApiError, bad_request, method_not_allowed
from ghostfleet.server.bodies import read_delete_options, read_object, read_patch
from ghostfleet.server.calls import Call
from ghostfleet.server.logs import LogStream, log_answer
from ghostfleet.server.metrics import GROUP as METRICS
from ghostfleet.server.metrics import ResourceMetrics
from ghostfleet.server.negotiation import error_form, patch_type
from ghostfleet.server.paths import Target
from ghostfleet.server.presenting import Presenter
from ghostfleet.server.protoanswers import Messages
from ghostfleet.server.queries import check_timeout, delete_options, listing, log_options, write_options
from ghostfleet.server.requests import Request
from ghostfleet.server.responses import Answer, error_answer, object_answer, page_not_found, warning
from ghostfleet.server.reviews import Reviews
from ghostfleet.server.streams import Stream, WatchStreams
from ghostfleet.server.tables import include_object_of
from ghostfleet.server.watching import EventLines, WatchStream

__all__ = ["Resources", "no_such_resource", "verb_of"]

_PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)
#: How much of a body is shown beside the whole.
_SUMMARY = 30
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
#: How long a watch lasts when the client does not say: 30 minutes and up to as much again, so that not all end at once.
_WATCH_SECONDS = 1800
_WATCH_STEP = 611
#: Ways into a running container; there is none.
_INTO_CONTAINERS = frozenset(("attach", "exec", "portforward", "proxy"))


def no_such_resource() -> ApiError:
    """A path below a known group and version that nothing is served at."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def verb_of(request: Request, target: Target) -> str:
    """The Kubernetes verb of a request; "" when its method is none of the API's."""
    verb = _VERBS.get(request.method, "")
    if verb == "get":
        if target.watch:
            return "watch"
        if not target.name:
            return "watch" if _asks_to_watch(request) else "list"
    elif verb == "delete" and not target.name:
        return "deletecollection"
    return verb


def _asks_to_watch(request: Request) -> bool:
    asked = request.query.get("watch")
    return asked is not None and asked[0].lower() not in ("false", "0")


class Resources:
    """Serves all resources of an API."""

    def __init__(self, api: Api, reviews: Reviews, streams: WatchStreams) -> None:
        self._api = api
        self._reviews = reviews
        self._streams = streams
        self._metrics = ResourceMetrics(api)
        self._messages = Messages()
        self._presenter = Presenter(api.clock, self._messages)
        self._watches = 0
        self._verbs = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def answer(self, verb: str, call: Call) -> Answer | Stream:
        """What to send for a call."""
        resource, target = call.resource, call.target
        part = target.subresource
        if resource.namespaced is not bool(target.namespace) and (target.namespace or target.name):
            if resource.custom:
                return page_not_found()
            raise no_such_resource()
        if part and part not in resource.subresources:
            raise self._no_such_part(call)
        allowed = resource.subresources[part][3] if part else resource.verbs
        if verb not in allowed or not _fits(verb, resource, target):
            raise method_not_allowed()
        if part == "log":
            return self._log(call)
        query = call.request.query
        if query and verb != "watch":
            check_timeout(query)
        if part == "token" or self._reviews.takes(resource):
            return self._review(call)
        if not call.version.deprecated:
            return self._verbs[verb](call)
        answer = self._warned(verb, call)
        answer.headers = (warning(call.version.deprecated), *answer.headers)
        return answer

    def _warned(self, verb: str, call: Call) -> Answer | Stream:
        """The answer of a version that is to go, of which errors warn too."""
        try:
            return self._verbs[verb](call)
        except ApiError as error:
            return error_answer(error, error_form(call.request.accept))

    def _no_such_part(self, call: Call) -> ApiError:
        target = call.target
        if call.resource.key == "pods" and target.subresource in _INTO_CONTAINERS:
            self._api.get(call.resource, call.version, target.namespace, target.name)
            return bad_request(
                f"pod {target.name} has no process behind it, for its node is simulated: "
                f"{target.subresource} cannot work"
            )
        return no_such_resource()

    # -- reading -----------------------------------------------------------------------------------------------------

    def _get(self, call: Call) -> Answer:
        form, target = call.form(), call.target
        if call.resource.group == METRICS:
            obj = self._metrics.get(call.resource, call.version, target.namespace, target.name)
        else:
            check_revision(self._api.store, call.request.parameter("resourceVersion"))
            obj = self._api.get(call.resource, call.version, target.namespace, target.name, target.subresource)
        return self._presenter.object(call, form, 200, obj)

    def _list(self, call: Call) -> Answer:
        form = call.form()
        options = listing(call.request.query).options
        source = self._metrics if call.resource.group == METRICS else self._api
        page = source.list(call.resource, call.version, call.target.namespace, options)
        return self._presenter.page(call, form, page)

    def _watch(self, call: Call) -> Answer | Stream:
        request, resource, version = call.request, call.resource, call.version
        form = call.negotiated(stream=True)
        asked = listing(request.query, watch=True)
        options = asked.options
        if call.target.name:
            _select_name(options, call.target.name)
        include_object = include_object_of(request.parameter("includeObject"))
        lines = EventLines(resource, version, form, include_object, self._api.clock, self._messages)
        from_start = options.resource_version in ("", "0")
        initial = from_start if asked.initial_events is None else asked.initial_events
        if from_start and not initial:
            options.resource_version = str(self._api.store.revision)
        try:
            watch = self._api.watch(resource, version, call.target.namespace, options, initial_events=initial)
        except ApiError as error:
            if error.code not in (410, 504):
                raise
            # A watch that cannot begin where it should is told so in the stream, where clients look for it.
            return Answer(200, lines.error(error), lines.media)
        if asked.timeout < 0:
            watch.close()
            return Answer(200, b"", lines.media)
        timeout = asked.timeout or self._usual_timeout()
        return WatchStream(
            self._streams, watch, timeout, lines, lambda: self._api.store.revision, bookmarks=asked.bookmarks
        )

    def _usual_timeout(self) -> int:
        self._watches += 1
        return _WATCH_SECONDS + self._watches * _WATCH_STEP % _WATCH_SECONDS

    def _log(self, call: Call) -> Answer | Stream:
        namespace, name = call.target.namespace, call.target.name
        options = log_options(call.request.query, name)

        def read(tail: int | None = None) -> str:
            return self._api.logs(namespace, name, container=options.container, previous=options.previous, tail=tail)

        shown = read(options.tail)
        if not options.follow or options.previous:
            return log_answer(shown, options.limit_bytes)
        pod = self._api.get(call.resource, call.version, namespace, name)
        selected = ListOptions(field_selector=f"metadata.name={name}", resource_version=str(self._api.store.revision))
        watch = self._api.watch(call.resource, call.version, namespace, selected, initial_events=False)
        return LogStream(self._streams, watch, pod, read, shown)

    # -- writing -----------------------------------------------------------------------------------------------------

    def _create(self, call: Call) -> Answer:
        form, target = call.form(), call.target
        options = write_options(call.request.query, call.request.user_agent, "CreateOptions")
        obj = _sent(call, options)
        made = self._api.create(
            call.resource,
            call.version,
            target.namespace,
            obj,
            options,
            name=target.name,
            subresource=target.subresource,
        )
        return self._presenter.object(call, form, 201, made, options.warnings)

    def _update(self, call: Call) -> Answer:
        form, target = call.form(), call.target
        options = write_options(call.request.query, call.request.user_agent, "UpdateOptions")
        obj = _sent(call, options)
        made, created = self._api.update(
            call.resource, call.version, target.namespace, target.name, obj, options, target.subresource
        )
        return self._presenter.object(call, form, 201 if created else 200, made, options.warnings)

    def _patch(self, call: Call) -> Answer:
        request, target = call.request, call.target
        sort = patch_type(request.content_type, custom=call.resource.custom)
        form = call.form()
        options = write_options(request.query, request.user_agent, "PatchOptions", apply=sort == "apply")
        made, created = self._api.patch(
            call.resource,
            call.version,
            target.namespace,
            target.name,
            cast(PatchType, sort),
            read_patch(call.body, sort),
            options,
            target.subresource,
        )
        return self._presenter.object(call, form, 201 if created else 200, made, options.warnings)

    def _delete(self, call: Call) -> Answer:
        form, target = call.form(), call.target
        asked = delete_options(call.request.query, read_delete_options(call.request.content_type, call.body))
        last, gone = self._api.delete(call.resource, call.version, target.namespace, target.name, asked.options)
        answer = self._presenter.object(call, form, 202 if asked.accepted and not gone else 200, last)
        return _with_deletion_warning(call, asked.options, answer)

    def _delete_collection(self, call: Call) -> Answer:
        form, query = call.form(), call.request.query
        chosen = listing(query).options
        asked = delete_options(query, read_delete_options(call.request.content_type, call.body))
        page = self._api.delete_collection(call.resource, call.version, call.target.namespace, chosen, asked.options)
        return _with_deletion_warning(call, asked.options, self._presenter.page(call, form, page))

    def _review(self, call: Call) -> Answer:
        form, target = call.form(), call.target
        options = write_options(call.request.query, call.request.user_agent, "CreateOptions")
        obj = _sent(call, options)
        if target.subresource:
            made = self._reviews.request_token(target.namespace, target.name, obj)
        else:
            made = self._reviews.create(call.resource, call.version, target.namespace, obj, call.user)
        return object_answer(201, made, form)


def _check_stated(resource: Resource, body: Any) -> None:
    """A custom object says what it is; nobody else would know."""
    for field, named in (("kind", "Kind"), ("apiVersion", "apiVersion")):
        if isinstance(body, dict) and not body.get(field):
            text = orjson.dumps(body).decode()
            shown = text if len(text) < _SUMMARY else f"{text[:_SUMMARY]} ..."
            missing = f"Object '{named}' is missing in '{text}' ({shown})"
            raise bad_request(f"the object provided is unrecognized (must be of type {resource.kind}): {missing}")


def _with_deletion_warning(call: Call, options: DeleteOptions, answer: Answer) -> Answer:
    """The answer to a delete; whoever deletes Jobs as in their first days is told that pods stay."""
    if call.resource.key == "jobs.batch" and options.propagation is None:
        answer.headers = (*answer.headers, warning(_PODS_STAY))
    return answer


def _fits(verb: str, resource: Resource, target: Target) -> bool:
    """Whether a verb can go to a path of this shape: objects are made in a namespace and changed by name."""
    if verb in ("create", "deletecollection"):
        if resource.namespaced and not target.namespace:
            return False
        return verb != "create" or bool(target.name) is bool(target.subresource)
    return bool(target.name) or verb in ("list", "watch")


def _sent(call: Call, options: WriteOptions) -> Any:
    """The object in a call's body; keys that it states twice are noted in the options."""
    part = call.target.subresource
    kind = call.resource.subresources[part][2] if part else call.resource.kind
    obj, options.duplicates = read_object(
        call.request.content_type,
        call.body,
        kind,
        custom=call.resource.custom,
        check=options.validation != "Ignore",
    )
    if call.resource.custom and not part:
        _check_stated(call.resource, obj)
    return obj


def _select_name(options: ListOptions, name: str) -> None:
    """Narrow a watch to the object that its path names."""
    selector = f"metadata.name={name}"
    if options.field_selector not in ("", selector):
        raise bad_request("fieldSelector metadata.name doesn't match requested name")
    options.field_selector = selector
