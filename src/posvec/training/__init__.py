"""Training: from a corpus to a trained model.

``pipeline`` has the steps (count, encode, create, train, save), ``loop`` the epochs, callbacks, validation and
checkpoints. An ``executor`` runs jobs on chunks of the corpus: ``threads`` on this machine, :mod:`posvec.distributed`
on a cluster. ``kernel`` calls the compiled kernel, ``tables`` owns the parameters in the number format of the run,
``schedule`` has the learning rate. ``reference`` and ``reference_fixed16`` are the training step in NumPy, against
which the kernel is tested.

To add a number format: a format and its rows in ``cpp/kernel``, a subclass of ``TrainingTables``, a choice of the
setting ``precision``, and its reference.
"""

from posvec.system.lazy import lazy_names

TYPE_CHECKING = False

_PUBLIC = {
    "Callback": "posvec.training.callbacks",
    "StopTraining": "posvec.training.callbacks",
    "train": "posvec.training.loop",
}
__all__ = ["Callback", "StopTraining", "train"]

if TYPE_CHECKING:
    from posvec.training.callbacks import Callback, StopTraining
    from posvec.training.loop import train

__getattr__ = lazy_names(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)
