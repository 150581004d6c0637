"""ESTOI and wide-band PESQ of pairs of recordings (48 kHz float WAV as the project writes them).

Standard input has one pair a line, `RESTORED<tab>REFERENCE`; standard output one line for each: `ESTOI<tab>PESQ`.
"""

import sys

import numpy
from pesq import pesq
from pystoi import stoi
from scipy.signal import resample_poly

HEADER_BYTES = 58


def at_16_khz(path):
    samples = numpy.fromfile(path, dtype="<f4", offset=HEADER_BYTES)
    return resample_poly(samples.astype("f8"), 1, 3).astype("f4")


for line in sys.stdin:
    restored, reference = (at_16_khz(path) for path in line.rstrip("\n").split("\t"))
    estoi = stoi(reference, restored, 16000, extended=True)
    print(f"{estoi}\t{pesq(16000, reference, restored, 'wb')}", flush=True)
