"""Stock MLIR beside ours: its tools read, compile and run text that was written here.

``tools`` finds an installation (LLVM's commands, or the libraries in the package ``torch-mlir``), ``pipelines`` says by which of its passes text becomes code
for a CPU or for a device, and ``running`` calls a function of a text with arrays.
"""
