"""``wengert trace``: the values of a run by name, and where NaN and infinity begin."""
