"""Sweeps over many machines: Dask carries tasks to workers, each of which runs them in a child process.

.. code-block:: text

    client.py, with the database        worker.py, in a process of Dask         child.py, a process of its own
    batches of tasks ──► scheduler ──► a core where times are taken ──► ──► the task, pinned
    a record for each result ◄──────── what it told, and where ◄─────────── values as they come
"""
