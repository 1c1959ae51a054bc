"""Optimizers: they change parameters in place, so that compiled training steps can hold them too.

    >>> import wengert.eager as eager
    >>> import wengert.optim as optim
    >>> w = eager.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = optim.SGD({"w": w}, lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> print([round(v, 4) for v in w.tolist()])
    [0.8, 1.6]

Parameters are tensors in lists, tuples and dictionaries, nested in any way.
"""

# The folder is frontends/optim, the package wengert.optim.
if __name__ != "wengert.optim":
    raise ImportError(f"{__name__} has another name: import it as wengert.optim")

from wengert.optim.adagrad import Adagrad
from wengert.optim.adam import Adam, AdamW
from wengert.optim.loss_scaler import LossScaler
from wengert.optim.optimizer import Optimizer
from wengert.optim.parameters import parameters
from wengert.optim.rmsprop import RMSprop
from wengert.optim.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "LossScaler", "Optimizer", "RMSprop", "parameters"]
