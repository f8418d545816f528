"""The algorithms in plain NumPy, one file each, to be read in one sitting. Each draws the random numbers of its kernel in
the kernel's order and gives its draws; a line marked `# wrong: name` is all that sets a wrong variant apart, and
`# phase: name` says to which part of a transition a line belongs, for the pages that light it."""
