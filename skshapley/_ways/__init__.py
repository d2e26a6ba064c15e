"""How the rows of a fitted explainer are explained."""
