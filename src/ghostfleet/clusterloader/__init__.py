"""ClusterLoader2: the scale tests of Kubernetes (kubernetes/perf-tests), by their own config files.

Read it in this order. `config` has the types of the config API, `mapping`, `functions` and `templates` make text of
templates, `decoding`, `compiling` and `validation` make a Config of the text. `tuningsets`, `objects`, `phases`,
`namespaces` and `chaosmonkey` are what a test does to a cluster, `executor` does it step by step; `measurements` and
`dependencies` are what steps and tests ask for by name. `suite` runs one test after another, `summaries`, `junit` and
`reportdir` are what they leave behind.
"""
