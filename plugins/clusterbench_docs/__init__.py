"""Makes the parts of the pages that the code knows best, such as the tables of keys.

In a page such a part stands between two markers, and ``python -m clusterbench_docs`` writes it:

    <!-- made by clusterbench_docs: keys clusterbench.spec.experiment.Sweep -->
    …
    <!-- end -->

``keys`` is the kind of the block, and the rest of the line is its argument. A module of this package adds kinds with
a ``KINDS`` of its own: a dict from the name of a kind to a function that turns the argument into Markdown.
"""
