"""The run: from a plan to the values of coalitions, and to attributions."""
