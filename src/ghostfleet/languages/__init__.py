"""jq, Go templates and CEL: compiled once to Python functions, for whoever evaluates them (stages, API, schedulers)."""
