"""The pointers of a program: the addresses of its buffers, where they are computed, and the arrays in which tasks and kernels take them."""
