"""``wengert kept``: what the forward part of a reverse derivative leaves for the reverse part.

.. code-block:: text

    derivative --parts.py--> forward | reverse --residuals.py--> Residual, who needs it, what it takes
                                                                    |  records.py: tapes and stacks of loops
                                                                    |  recomputation.py: what computing it again would cost
                                                                    v
                                                    kept.py: verdicts and totals --> Kept (text, JSON, HTML)
"""

from wengert.lab.kept.kept import Kept, kept

__all__ = ["Kept", "kept"]
