"""``wengert diff``: what is different between two programs, op by op and value by value.

.. code-block:: text

    Subject --module_graph.py, text_graph.py--> Graph (graph.py)
    two graphs --matching.py (numbering.py, pairs.py, places.py)--> Matching
    Matching, Weights (figures.py) --changes.py--> Difference (difference.py), as text (text.py) and HTML (markup.py)
    Matching, inputs --values.py--> FirstDifference
"""
