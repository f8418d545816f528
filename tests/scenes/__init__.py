"""Pictures of all lessons before and after a change of how they are drawn: `python -m tests.scenes.compare --help`."""
