"""The ad dialect: ops that request derivatives, functions that declare their own, and the passes that expand and remove both."""
