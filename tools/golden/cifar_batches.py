"""Writes tests/fixtures/data/cifar_py: CIFAR-10 batches of one image each as Python pickles.

Usage: python2.7 tools/golden/cifar_batches.py FOLDER   (needs numpy 1.x)

The published files were pickled by Python 2, whose opcodes for text no newer Python writes. The
image of batch b has b at its first red pixel, 100 + b at the first green one, and the position in
its plane modulo 251 elsewhere in the blue plane.
"""

import os
import pickle
import sys

import numpy


def batch(number):
    planes = numpy.zeros((3, 1024), dtype=numpy.uint8)
    planes[0, 0] = number
    planes[1, 0] = 100 + number
    planes[2] = numpy.arange(1024) % 251
    return {
        "batch_label": "batch %d" % number,
        "labels": [number],
        "data": planes.reshape(1, 3072),
        "filenames": ["image_%d.png" % number],
    }


def main(folder):
    names = ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"]
    for number, name in enumerate(names + ["test_batch"]):
        with open(os.path.join(folder, name), "wb") as file:
            pickle.dump(batch(number), file, 2)


main(sys.argv[1])
