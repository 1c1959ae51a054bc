"""``wengert profile``: the time of each kernel of a compiled program, beside what it computes, moves, and was predicted to take.

.. code-block:: text

    program --timed.py--> code with a clock around each kernel --runs--> ticks by kernel, a log of one run
                                                                            |  trace.py: for Perfetto
                                                                            v
                                                                 profile.py --> Profile (text, JSON, HTML)
"""

from wengert.lab.profile.profile import Profile, profile

__all__ = ["Profile", "profile"]
