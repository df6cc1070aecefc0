"""Numbers and spans of time in words, as people read them."""

from __future__ import annotations

__all__ = ["amount", "count_of", "percent", "span"]


def span(seconds: float) -> str:
    """`350 µs`, `12.3 ms`, `1.25 s`, `2 min 05 s`, `1 h 02 min`, `3 d 4 h`: three figures or so."""
    if seconds < 0:
        return f"-{span(-seconds)}"
    if seconds < 0.9995e-3:
        return f"{_three(seconds * 1e6)} µs" if seconds >= 0.5e-6 else "0 s"
    if seconds < 0.9995:
        return f"{_three(seconds * 1e3)} ms"
    if seconds < 59.95:
        return f"{_three(seconds)} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600} h"


def _three(value: float) -> str:
    text = f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def amount(value: float) -> str:
    """`12,345`, `12.5`, `0.042`: with decimals only where there are any and they matter; little is not nothing."""
    if 0 < value < 0.1:
        return f"{value:.2g}" if value >= 0.001 else f"{value:.0e}"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.1f}"


def percent(share: float) -> str:
    """`43%`, `99.7%`: what is not all of it, or not nothing, does not read as if it were."""
    text = f"{share:.0%}"
    if text == "100%" and share < 1:
        return "99.9%" if share >= 0.999 else f"{share:.1%}"
    if text == "0%" and share > 0:
        return "0.1%" if share < 0.001 else f"{share:.1%}"
    return text


def count_of(number: int, noun: str) -> str:
    """`1 workload`, `2,000 workloads`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
