"""Selecting objects: by namespace, labels and fields, as all measurements do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ghostfleet.clusterloader.measurements.measurement import MeasurementError
from ghostfleet.clusterloader.params import Params
from ghostfleet.core.changes import Object
from ghostfleet.core.selectors import field_labels, parse_field_selector, parse_label_selector
from ghostfleet.drive.interface import Cluster, Kind, Seen

__all__ = ["ObjectSelector"]


class ObjectSelector(NamedTuple):
    """Which objects a measurement is about."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    @classmethod
    def read(cls, params: Params) -> ObjectSelector:
        selector = cls(params.text("namespace", ""), params.text("labelSelector", ""), params.text("fieldSelector", ""))
        try:
            parse_label_selector(selector.labels)
        except ValueError as error:
            raise MeasurementError(f"params.labelSelector: {error}") from None
        return selector

    def watch(self, cluster: Cluster, kind: Kind, seen: Seen) -> Callable[[], None]:
        """Call `seen` for the selected objects that there are, and for every change of them."""
        if not self.fields:
            return cluster.watch(kind, self.namespace, self.labels, seen)
        matches = self._by_fields(kind)

        def chosen(time: int, event: str, obj: Object) -> None:
            if matches(obj):
                seen(time, event, obj)

        return cluster.watch(kind, self.namespace, self.labels, chosen)

    def matches(self, kind: Kind, obj: Object) -> bool:
        """Whether an object that namespace and labels have chosen is meant."""
        return not self.fields or self._by_fields(kind)(obj)

    def _by_fields(self, kind: Kind) -> Callable[[Object], bool]:
        key = f"{kind.plural}.{kind.group}" if kind.group else kind.plural
        try:
            return parse_field_selector(self.fields, field_labels(key, kind.version)).matches
        except ValueError as error:
            raise MeasurementError(f"params.fieldSelector: {error}") from None

    def __str__(self) -> str:
        parts = (("namespace", self.namespace), ("labelSelector", self.labels), ("fieldSelector", self.fields))
        return ", ".join(f"{name}({value})" for name, value in parts if value) or "all namespaces"
