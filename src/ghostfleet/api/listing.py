"""Lists and watches: which objects a request means, page by page and as they change.

A list is cut in *pages* when it has a limit. A *continue token* carries the revision of the first page and the place of
the last object, so that all pages show one moment; when that moment is no longer in the history, the answer is 410 and
a client starts again. Selectors by label and field are checked once per request; a field selector on an indexed field
(`spec.nodeName`, the name) does not scan.
"""

from __future__ import annotations

import base64
import bisect
from collections.abc import Iterable, Sequence

import orjson

from ghostfleet.api.kinds import Resource, Version, from_storage, storage_key
from ghostfleet.api.options import ListOptions, Page
from ghostfleet.core.changes import Object
from ghostfleet.core.errors import ApiError, FieldError, bad_request, expired, invalid
from ghostfleet.core.selectors import (
    FieldSelector,
    LabelSelector,
    ObjectTest,
    custom_field_labels,
    field_labels,
    matcher,
    parse_field_selector,
    parse_label_selector,
)
from ghostfleet.core.store import Store
from ghostfleet.core.watch import Watch

__all__ = ["check_revision", "list_objects", "parse_revision", "watch_objects"]


def list_objects(store: Store, resource: Resource, version: Version, namespace: str, options: ListOptions) -> Page:
    """One page of a list."""
    _check_list_options(options)
    labels, fields = _selectors(resource, version, options)
    found = _objects(store, resource, namespace, fields, options)
    revision = found.revision
    items = _filtered(found.items, labels, fields)
    remaining, continue_ = None, ""
    # Where any revision will do, a list comes whole, from the cache that all resources but events have.
    cached = options.resource_version == "0" and not options.continue_ and storage_key(resource) != "events"
    paged = options.limit and not cached
    if paged and len(items) > options.limit:
        # Kubernetes does not count what is left behind a selector; it would have to read it all.
        remaining = len(items) - options.limit if labels.empty and fields.empty else None
        items = items[: options.limit]
        continue_ = _token(revision, items[-1])
    return Page([from_storage(resource, version, obj) for obj in items], revision, continue_, remaining)


def watch_objects(
    store: Store, resource: Resource, version: Version, namespace: str, options: ListOptions, *, initial_events: bool
) -> Watch:
    """A watch from the asked-for revision on; objects come in their stored form."""
    labels, fields = _selectors(resource, version, options)
    revision = parse_revision(options.resource_version, "")
    if revision is not None and revision > store.revision:
        raise too_large_resource_version(revision, store.revision)
    return Watch(
        store,
        storage_key(resource),
        namespace or None,
        matches=_matcher(labels, fields),
        since=revision or None,
        initial_events=initial_events,
    )


def parse_revision(text: str, why: str = "invalid resource version: ") -> int | None:
    """A resourceVersion as clients send it; None when there is none. `why` begins the refusal of one that is none."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        quoted = orjson.dumps(text).decode()
        raise bad_request(
            f"{why}resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: invalid syntax"
        )
    return int(text)


def check_revision(store: Store, text: str) -> None:
    """Refuse to read at a revision that has not come yet."""
    asked = parse_revision(text)
    if asked and asked > store.revision:
        raise too_large_resource_version(asked, store.revision)


def too_large_resource_version(asked: int, newest: int) -> ApiError:
    """A revision that has not come yet: a client may try again."""
    return ApiError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {newest}",
        {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        },
    )


def _objects(store: Store, resource: Resource, namespace: str, fields: FieldSelector, options: ListOptions) -> Page:
    """The objects to filter, all of one moment, and what comes after the continue token only."""
    key = storage_key(resource)
    where = namespace or None
    if options.continue_:
        revision, start = _read_token(options.continue_)
        items = _at(store, key, where, revision)
        places = [_place(obj) for obj in items]
        return Page(list(items[bisect.bisect_right(places, start) :]), revision)
    asked = parse_revision(options.resource_version)
    if asked and options.resource_version_match == "Exact":
        return Page(list(_at(store, key, where, asked)), asked)
    if asked and asked > store.revision:
        raise too_large_resource_version(asked, store.revision)
    return Page(_present(store, key, namespace, fields), store.revision)


def _present(store: Store, key: str, namespace: str, fields: FieldSelector) -> list[Object]:
    """Objects as they are now, by an index where the field selector names an indexed field."""
    wanted = fields.equalities()
    if "metadata.name" in wanted and namespace:
        found = store.find(key, namespace, wanted["metadata.name"])
        return [found] if found is not None else []
    if wanted.get("spec.nodeName") and "node" in store.bucket(key).indexes:
        found_there = store.having(key, "node", wanted["spec.nodeName"])
        return sorted((obj for obj in found_there if not namespace or _space(obj) == namespace), key=_place)
    return store.list(key, namespace or None)


def _at(store: Store, key: str, namespace: str | None, revision: int) -> Sequence[Object]:
    if revision == store.revision:
        return store.list(key, namespace)
    try:
        return store.list_at(key, namespace, revision)
    except ApiError as error:
        raise expired(
            "The provided continue parameter is too old to display a consistent list result. "
            "You must start a new list without the continue parameter."
        ) from error


def _selectors(resource: Resource, version: Version, options: ListOptions) -> tuple[LabelSelector, FieldSelector]:
    known = (
        custom_field_labels(version.selectable_fields, resource.namespaced)
        if resource.custom
        else field_labels(resource.key, version.name)
    )
    try:
        labels = parse_label_selector(options.label_selector)
        return labels, parse_field_selector(options.field_selector, known)
    except ValueError as error:
        raise bad_request(str(error)) from None


def _matcher(labels: LabelSelector, fields: FieldSelector) -> ObjectTest | None:
    """A test of both selectors, or None when they leave nothing out."""
    return None if labels.empty and fields.empty else matcher(labels, fields)


def _filtered(items: Iterable[Object], labels: LabelSelector, fields: FieldSelector) -> list[Object]:
    matches = _matcher(labels, fields)
    return list(items) if matches is None else [obj for obj in items if matches(obj)]


def _check_list_options(options: ListOptions) -> None:
    match, revision = options.resource_version_match, options.resource_version
    if options.continue_:
        _read_token(options.continue_)
    if options.continue_ and revision and revision != "0":
        raise bad_request("specifying resource version is not allowed when using continue")
    if options.continue_ and match:
        raise _forbidden_option("resourceVersionMatch is forbidden when continue is provided")
    if match and not revision:
        raise _forbidden_option("resourceVersionMatch is forbidden unless resourceVersion is provided")
    if match and match not in ("Exact", "NotOlderThan"):
        raise invalid(
            "ListOptions",
            "meta.k8s.io",
            "",
            [FieldError.unsupported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""])],
        )
    if match == "Exact" and revision == "0":
        raise _forbidden_option('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')


def _forbidden_option(detail: str) -> ApiError:
    return invalid("ListOptions", "meta.k8s.io", "", [FieldError.forbidden("resourceVersionMatch", detail)])


def _token(revision: int, last: Object) -> str:
    raw = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": _place(last)})
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read_token(token: str) -> tuple[int, str]:
    try:
        read = orjson.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        revision, start = read["rv"], read["start"]
        if not isinstance(revision, int) or not isinstance(start, str) or revision < 0:
            raise ValueError("wrong types")
    except (ValueError, KeyError, TypeError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from None
    return revision, start


def _space(obj: Object) -> str:
    space: str = obj["metadata"].get("namespace", "")
    return space


def _place(obj: Object) -> str:
    metadata = obj["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"
