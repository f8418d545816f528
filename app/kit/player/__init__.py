"""What the player plays: scenes, and what is frozen of them."""
