"""Pickles that an earlier layout of the package wrote, and what they predicted.

``python -m tests.golden.pickles FOLDER`` writes such files and answers.json. The folder
``flat`` is of the layout before models had folders of their own, and is never written
again.
"""
