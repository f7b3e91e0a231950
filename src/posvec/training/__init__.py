"""Training: the pipeline, the loop, threads, the learning-rate schedule, and the NumPy reference of the kernel."""
