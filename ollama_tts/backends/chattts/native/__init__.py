"""The native CPU step: C++ behind a plain C interface, without torch.

One call runs one step over any mix of prompt and decode rows: embedding, layers, heads and
sampling. `library` finds the compiled part (it is optional: a machine without a compiler has
none), `step.NativeStep` is the Python side, abi.h the interface between the two.
"""
