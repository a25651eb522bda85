"""Jobs of several machines on HTCondor's parallel universe: a training that is one, also when it is
evicted, and what such a job cannot be.
"""

import csv
import json
import unittest

from jobs import CondorTest, setUpModule, tearDownModule  # noqa: F401 (a pool for this file too)
from pool import wait_until

KEYS = ["train.precision=fp64", "train.epochs=20", "optimizer.name=sgd", "optimizer.lr=0.001"]


class SeveralMachines(CondorTest):
    def losses(self, run: str) -> list[float]:
        file = self.folder / "runs" / "pool" / run / "metrics.csv"
        with file.open() as rows:
            return [float(row["val/loss"]) for row in csv.DictReader(rows)]

    def test_two_machines_train_as_one_also_when_they_are_evicted(self):
        key = self.submit("config.yaml", "job.nodes=2", "run.id=both", *KEYS)
        started = self.folder / "runs" / "pool" / "both" / "metrics.csv"
        wait_until("a first epoch", started.exists, 240)
        cluster = self.job(key)["tasks"][0]["id"].split(".")[0]
        self.pool.run("condor_vacate_job", cluster)
        self.wait_for(key, "done")
        said = self.kedge("logs", key).stdout
        for words in ("2 machines", "resume   attempt 2", "epoch 1/20", "epoch 20/20"):
            self.assertIn(words, said)
        self.kedge("train", "config.yaml", "run.id=alone", *KEYS)
        for both, alone in zip(self.losses("both"), self.losses("alone"), strict=True):
            self.assertAlmostEqual(both, alone, places=9)

    def test_a_failure_is_the_jobs(self):
        key = self.submit("config.yaml", "job.nodes=2", "job.setup=[exit 3]")
        self.wait_for(key, "failed")
        self.assertEqual(self.job(key)["tasks"][0]["exit_code"], 3)

    def test_more_machines_than_there_are_is_said_before(self):
        asked = self.kedge("submit", "config.yaml", "job.nodes=9", "--json")
        self.assertIn("and the job needs 9", asked.stderr)
        key = json.loads(asked.stdout)[0]["job"]
        self.kedge("cancel", key)
        self.wait_for(key, "cancelled")

    def test_arrays_and_images_are_refused(self):
        for words in (["--in=a,b", "job.nodes=2"], ["job.nodes=2", "job.container=x.sif"]):
            asked = self.kedge("submit", "config.yaml", *words, check=False)
            self.assertEqual(asked.returncode, 2)
            self.assertIn("job.nodes is 2: HTCondor runs", asked.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
