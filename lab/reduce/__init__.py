"""Making programs and their inputs smaller as long as they show something (``wengert reduce``)."""
