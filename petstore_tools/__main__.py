"""`python -m petstore_tools` is the command line."""

from petstore_tools.cli import main

main()
