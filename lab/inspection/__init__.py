"""Shared parts of the commands that look into a program: what they look at, how its parts are named, and how results are written.

.. code-block:: text

    PROGRAM, --vjp, -p ...  --subject.py--> Subject   (a program, its derivative, or the text of a dump)
    "%12", "op:tanh", ...   --selectors.py--> Selected ops and values of it
"""
