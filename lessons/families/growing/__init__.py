"""What lessons on growing networks share.

A *size* is a width or a depth. `low` is the smallest one, and K sizes run from there. All of them use `evidence`
(exact probabilities), `sizes`, `ledger`, `drawn` and `plane`; the lessons on neurons and on layers the rest, too.
"""
