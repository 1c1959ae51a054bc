"""The pass ``merge-launches``: what one work-group can do is one launch, loops and branches included.

.. code-block:: text

    ops of the host --reading--> parts (kernels, copies, loops, branches) --costs--> is one group faster? --writing--> one gpu.launch
"""
