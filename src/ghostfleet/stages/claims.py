"""Claims on devices, as a kubelet looks at them: a pod runs when all of its claims are allocated and reserved for it.

Until then the pod waits, and an event says for what. Whatever happens to a claim that some pod waits for makes the
fleet look at the pod again.
"""

from __future__ import annotations

from collections.abc import Callable

from ghostfleet.api.podclaims import CLAIMS, ClaimError, allocation_of, is_made_for, is_reserved_for, used_claims
from ghostfleet.core.changes import Change, Object
from ghostfleet.core.store import Store
from ghostfleet.core.subscription import Subscription
from ghostfleet.stages.playstage import EventSink

__all__ = ["PreparedClaims"]

Key = tuple[str, str]


class PreparedClaims:
    """Looks at the claims of pods in one store; `look_at` is told of pods whose claims have changed."""

    def __init__(self, store: Store, look_at: Callable[[str, str], None], recorder: EventSink | None) -> None:
        self._store = store
        self._look_at = look_at
        self._recorder = recorder
        #: Pods that wait, and what they were told.
        self._waiting: dict[Key, str] = {}
        self._subscription = Subscription(lambda: store.listen(CLAIMS, self._notice))

    def are_ready(self, pod: Object) -> bool:
        """Whether a pod may use its claims; one that is on its way out does not wait for any."""
        metadata = pod["metadata"]
        key = (metadata["namespace"], metadata["name"])
        why = "" if "deletionTimestamp" in metadata or pod["status"].get("phase") != "Pending" else self._missing(pod)
        if not why:
            self._waiting.pop(key, None)
        elif self._waiting.get(key) != why:
            self._waiting[key] = why
            if self._recorder is not None:
                message = f"Failed to prepare dynamic resources: prepare dynamic resources: {why}"
                self._recorder.warning(pod, "FailedPrepareDynamicResources", message)
        self._subscription.subscribe_if(self._waiting)
        return not why

    def _missing(self, pod: Object) -> str:
        """What keeps a pod from its claims, in the words of the kubelet; "" when nothing does."""
        own = pod["metadata"]
        try:
            for name, made in used_claims(pod):
                claim = self._store.find(CLAIMS, own["namespace"], name)
                if claim is None:
                    return f'fetch ResourceClaim {name}: {CLAIMS} "{name}" not found'
                if made and not is_made_for(claim, pod):
                    where = f"{own['namespace']}/{name}", f"{own['namespace']}/{own['name']}"
                    return f"ResourceClaim {where[0]} was not created for Pod {where[1]} (Pod is not owner)"
                if not is_reserved_for(claim, pod):
                    theirs = f"ResourceClaim {name} ({claim['metadata']['uid']})"
                    return f"pod {own['name']} ({own['uid']}) is not allowed to use {theirs}"
                if allocation_of(claim) is None:
                    return f"ResourceClaim {name}: no allocation"
        except ClaimError as error:
            return str(error)
        return ""

    def _notice(self, change: Change) -> None:
        for namespace, name in list(self._waiting):
            if namespace != change.namespace:
                continue
            pod = self._store.find("pods", namespace, name)
            if pod is None:
                del self._waiting[namespace, name]
            elif not self._missing(pod):
                self._look_at(namespace, name)
