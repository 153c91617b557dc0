"""Mutation testing: change the code in one small place, and see whether a test notices.

Why not a ready-made tool. mutmut (3.8) forks one child per mutant out of a process that has imported everything, and
calls every function through a trampoline: our tests start the real command as a process with an environment of its
own, and count what a hook imports, so both would measure the tool. cosmic-ray (8.7) changes files in place and has
one test command for the whole tree, which takes a quarter of an hour here. Neither takes a lock away, opens a mode,
or swaps two statements, and what this project most needs to know is whether a test notices exactly that. So the
changes are made here, as text at the place that `ast` names, in a private copy of the tree with an environment of its
own.

Which tests meet a mutant: `--learn` runs them once with a recorder and keeps in `.cache/mutants` which functions each
of them calls, also in processes that it starts. A mutant then meets the tests that call its function: a minute of
those in files that are called like its module, a minute of the others that are of its room or import its module, and
a minute of all others, the quickest of each file in turn. Test files that nothing is known about are run as they are,
first those that import the module, are called like it or name the function: a minute of the near ones (four for what
has to be noticed in any case), and a minute of the others. A survivor says so where some were not run.
"""
