"""Reversible jump: samplers that walk over models of different dimension."""
