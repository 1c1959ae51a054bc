"""Programs and their reverse derivatives in Google's Model Explorer: ``model-explorer p.mlir --extensions=wengert.lab.model_explorer``.

.. code-block:: text

    p.mlir --graphs.py--> the program, its derivative --layers.py--> LayeredGraph (nested.py)
                                                                          |  convert.py
                                                                          v
                                  main.py: the extensions --> data classes of the package model_explorer

Model Explorer imports the module ``main`` of what ``--extensions`` names; it alone and convert.py need the package.
"""
