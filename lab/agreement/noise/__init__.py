"""Noisy runs of programs: how far right results may be apart.

.. code-block:: text

    machine.py: noisy_run ──► frame.py: what each op may do ──► kinds.py: which kind of op it is
                                   │                            backward_error.py: what factorizations leave open
                                   └──► disturbance.py: errors, drawn ──► nans.py: signs of NaNs, floats.py: types of floats
"""
