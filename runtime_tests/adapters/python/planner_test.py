"""The Python package's planner functions, which ask the program."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import espalier

# Node, parent, output, execution, work: 7 bytes are the least.
TREE = [(-1, 1, 1, 1), (0, 2, 0, 1), (0, 3, 4, 1)]


class Planner(unittest.TestCase):
    def test_plans_trees(self):
        answer = espalier.plan(TREE, memory=7, workers=2, schedule=True)
        self.assertTrue(answer["feasible"])
        self.assertEqual(answer["peak_bytes"], 7)
        self.assertEqual(len(answer["schedule"]), 3)
        self.assertEqual(sorted(row["id"] for row in answer["schedule"]), [0, 1, 2])

    def test_says_what_suffices_where_it_does_not_fit(self):
        answer = espalier.plan(TREE, memory=6, schedule=True)
        self.assertFalse(answer["feasible"])
        self.assertEqual(answer["least_bytes"], 7)
        self.assertNotIn("schedule", answer)

    def test_reads_files_as_well(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "small.tree"
            path.write_text("0 -1 1 1 1\n1 0 2 0 1\n2 0 3 4 1\n")
            self.assertEqual(espalier.plan(path)["least_bytes"], 7)
            self.assertEqual(espalier.plan(str(path), order="liu")["order"], "liu")

    def test_orders_graphs(self):
        answer = espalier.order({"tensors": {"a": {"size": 4}, "b": {"size": 2}},
                                 "ops": [{"name": "f", "inputs": [], "outputs": ["a"]},
                                         {"name": "g", "inputs": ["a"],
                                          "outputs": ["b"]}]})
        self.assertEqual(answer["schedule"], ["f", "g"])
        self.assertEqual(answer["least_bytes"], 6)

    def test_plans_checkpoints(self):
        answer = espalier.checkpoint(length=10, slots=3, schedule=True)
        self.assertTrue(answer["schedule"])
        self.assertEqual({action[0] for action in answer["schedule"]}
                         - {"Forward", "Reverse", "Copy", "Move", "EndForward",
                            "EndReverse"}, set())

    def test_lays_buffers_out(self):
        answer = espalier.layout([(0, 2, 4096), (1, 5, 1024), (2, 5, 4096)])
        self.assertEqual(answer["capacity_bytes"], 5120)
        self.assertEqual(len(answer["offsets"]), 3)
        self.assertEqual(answer["offsets"][0], answer["offsets"][2])
        self.assertFalse(espalier.layout([(0, 2, 8), (1, 3, 8)], capacity=12)["feasible"])

    def test_names_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, "none.tree"):
            espalier.plan("none.tree")
        for message, wrong in (
                ("^--workers: .*0", lambda: espalier.plan(TREE, workers=0)),
                ("^--length: '-1' is not a whole number from 1",
                 lambda: espalier.checkpoint(length=-1, slots=3)),
                ("^--alignment: 0 is", lambda: espalier.layout([(0, 2, 1)], alignment=0)),
                ("^--length needs either --slots or --levels",
                 lambda: espalier.checkpoint(length=10)),
                ("--fast", lambda: espalier.layout([(0, 2, 1)], fast=True))):
            with self.assertRaisesRegex(ValueError, message):
                wrong()

    def test_says_where_it_looked_for_the_program(self):
        code = ("import espalier\n"
                "try: espalier.plan([(-1, 1, 1, 1)])\n"
                "except FileNotFoundError as error: assert 'ESPALIER_PROGRAM' in "
                "str(error)\n"
                "else: raise SystemExit(1)\n")
        subprocess.run([sys.executable, "-c", code], check=True,
                       env={**os.environ, "ESPALIER_PROGRAM": "/nowhere/espalier"})


if __name__ == "__main__":
    unittest.main()
