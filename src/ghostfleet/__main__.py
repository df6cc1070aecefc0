"""`python -m ghostfleet`."""

from ghostfleet.cli.main import main

main()
