# SPDX-License-Identifier: Apache-2.0
"""The module `audio` against torchaudio, torch and NumPy: within the bounds that stand with each result.

Generated code has the bits of the reference interpreter. Where torchaudio computes in f32 what it need not, it is asked for f64.
Without torchaudio's wheel (scripts/setup fetches it), what needs it is left out.
"""
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest
import warnings

import numpy
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL, REFERENCE = sys.argv[1:3]
WHEEL = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "penstock", "torchaudio")


def with_torchaudio():
    """torchaudio 0.13's Python, without its C++: Debian's torch is another build of 1.13 than the wheel's."""
    if not os.path.isdir(WHEEL):
        return None
    sys.path.insert(0, WHEEL)
    for name in ("cuda_version", "_lfilter", "_lfilter_core_loop", "_overdrive_core_loop"):
        setattr(torch.ops.torchaudio, name, lambda *_: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torchaudio
        import torchaudio.compliance.kaldi
        import torchaudio.transforms
    return torchaudio


torchaudio = with_torchaudio()
needs_torchaudio = unittest.skipIf(torchaudio is None, f"no torchaudio in {WHEEL}")
random = numpy.random.default_rng(1)
COUNT = 12345
# A sweep of rising noise, so that every band has something.
WAVE = (0.3 * numpy.sin(numpy.arange(COUNT) ** 1.3 * 0.01) + random.normal(0, 0.1, COUNT) * numpy.linspace(0.01, 1, COUNT)).astype("f4")
NOISE = random.normal(0, 0.1, COUNT).astype("f4")
RESPONSE = (random.normal(0, 1, 1500) * numpy.exp(-numpy.arange(1500) / 300)).astype("f4")
QUIET = numpy.concatenate([numpy.zeros(4000), WAVE, numpy.zeros(3000)]).astype("f4")
COMPLEX = random.normal(0, 1, (2, 45)) + 1j * random.normal(0, 1, (2, 45))
INPUTS = {"wave": WAVE, "noise": NOISE, "response": RESPONSE, "quiet": QUIET,
          "complex": numpy.stack([COMPLEX.real, COMPLEX.imag], -1).astype("f4")}
COLUMNS = {"wave": "t", "noise": "t", "response": "tap", "quiet": "t"}
TEXT = """pipe 1
use audio, signal
pipeline sound({parameters}) {{
  for row in raw({columns}) order sequential
{lets}
  batch 1 per rank last keep {{
{outputs}
  }}
}}
"""


def exact(wave):
    """As f64, for a peer that computes in its input's type."""
    return torch.from_numpy(wave).double()


def recurrence(b, a, x):
    """The filter of second order as it is written down, in f64."""
    y = numpy.zeros(len(x) + 2)
    x = numpy.concatenate([[0, 0], x.astype(float)])
    for i in range(2, len(x)):
        y[i] = (b[0] * x[i] + b[1] * x[i - 1] + b[2] * x[i - 2] - a[1] * y[i - 1] - a[2] * y[i - 2]) / a[0]
    return y[2:]


def coefficients(name, *arguments, **named):
    """b and a of one of torchaudio's filters."""
    found = []
    keep = torchaudio.functional.filtering.biquad
    torchaudio.functional.filtering.biquad = lambda wave, *six: found.append([float(value) for value in six]) or wave
    try:
        getattr(torchaudio.functional, name)(torch.zeros(1, dtype=torch.float64), *arguments, **named)
    finally:
        torchaudio.functional.filtering.biquad = keep
    return found[0][:3], found[0][3:]


class Audio(unittest.TestCase):
    def of(self, outputs, lets="", position=0):
        """The outputs of a pipeline for {name: (type, expression)}: arrays without their batch axis, and the draws."""
        with tempfile.TemporaryDirectory(prefix="penstock-test-") as folder:
            used = [name for name in INPUTS if name == "wave" or re.search(rf"row\.{name}\b", lets + str(outputs))]
            columns = [f"{name} = column({name}, f32[{f'{COLUMNS[name]} = {len(INPUTS[name])}' if name in COLUMNS else 'side = 2, k = 45, part = 2'}])"
                       for name in used]
            with open(os.path.join(folder, "sound.pipe"), "w") as file:
                file.write(TEXT.format(parameters=", ".join(f"{name}: path" for name in used), columns=", ".join(columns), lets=lets,
                                       outputs="\n".join(f"    output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())))
            settings = []
            for name in used:
                numpy.repeat(INPUTS[name][None], position + 1, 0).tofile(os.path.join(folder, name))
                settings += ["--set", f"{name}={folder}/{name}"]
            code, reference = os.path.join(folder, "code"), os.path.join(folder, "reference")
            os.mkdir(reference)
            said = subprocess.run([TOOL, "sample", file.name, "--position", str(position), "-o", code, *settings], capture_output=True, text=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            subprocess.run([REFERENCE, file.name, str(position), reference, *settings], check=True)
            found = {}
            for name in outputs:
                found[name] = numpy.fromfile(os.path.join(code, name + ".raw"), "f4")
                self.assertEqual(found[name].tobytes(), numpy.fromfile(os.path.join(reference, name + ".raw"), "f4").tobytes(), name)
            return found, [float(value) for value in re.findall(r"draw .*uniform\S* = (\S+)", said.stdout)]

    def compare(self, cases, lets=""):
        """Cases: {name: (axes, expression, expected, bound)}; bounds are absolute."""
        found, _ = self.of({name: (f"f32[n, {axes}]", value) for name, (axes, value, *_) in cases.items()}, lets)
        for name, (_, value, expected, bound) in cases.items():
            expected = numpy.ascontiguousarray(expected)
            with self.subTest(value):
                self.assertEqual(found[name].size, expected.size)
                self.assertLessEqual(numpy.abs(found[name].reshape(expected.shape) - expected).max(), bound)

    @needs_torchaudio
    def test_resample(self):
        cases = {}
        for i, (orig, new) in enumerate([(44100, 16000), (16000, 44100), (48000, 16000), (22050, 16000), (8000, 16000), (16000, 16000)]):
            theirs = torchaudio.functional.resample(exact(WAVE), orig, new)
            cases[f"y{i}"] = ("t", f"sinc_resample(row.wave, {orig}Hz, {new}Hz)", theirs, 5e-7)
        theirs = torchaudio.functional.resample(exact(WAVE), 44100, 16000, lowpass_filter_width=16, rolloff=0.9)
        cases["wide"] = ("t", "sinc_resample(row.wave, 44100Hz, 16kHz, width = 16, rolloff = 0.9)", theirs, 5e-7)
        cases["faster"] = ("t", "speed(row.wave, 1.1, 16kHz)", torchaudio.functional.resample(exact(WAVE), 17600, 16000), 5e-7)
        self.compare(cases)

    @needs_torchaudio
    def test_resample_as_torchaudio_does_by_default(self):
        theirs = torchaudio.functional.resample(torch.from_numpy(WAVE), 48000, 16000)
        self.compare({"y": ("t", "sinc_resample(row.wave, 48kHz, 16kHz)", theirs, 2e-6)})

    def test_windows(self):
        cases = {}
        for name in ("hann", "hamming", "blackman"):
            for periodic in (True, False):
                theirs = getattr(torch, name + "_window")(400, periodic=periodic, dtype=torch.float64)
                cases[f"{name}{periodic}"] = ("k", f"{name}_window(400, periodic = {str(periodic).lower()})", theirs, 6e-8)
        cases["povey"] = ("k", "povey_window(400)", torch.hann_window(400, periodic=False, dtype=torch.float64) ** 0.85, 6e-8)
        cases["ones"] = ("k", "rectangular_window(9)", numpy.ones(9), 0)
        cases["wave"] = ("t", "row.wave", WAVE, 0) # some output must be of the row
        self.compare(cases)

    def test_short_time_transforms(self):
        for size, width, hop, center, border in [(400, 400, 160, True, "reflect"), (512, 400, 160, True, "edge"),
                                                 (512, 512, 128, False, "constant"), (405, 405, 100, True, "constant")]:
            how = {"n_fft": size, "hop_length": hop, "win_length": width, "window": torch.hann_window(width, dtype=torch.float64), "center": center}
            mode = {"edge": "replicate"}.get(border, border)
            theirs = torch.stft(exact(WAVE), pad_mode=mode, return_complex=True, **how)
            cases = {"spec": ("t, freq, part", "spec", torch.view_as_real(theirs).permute(1, 0, 2), 2e-5),
                     "size": ("t, freq", "magnitude(spec)", theirs.abs().T, 2e-5),
                     "whole": ("t", f"istft(spec, hann_window({width}), {size}, {hop}, 12000, center = {str(center).lower()})[t = 400 .. 11000]",
                               WAVE[400:11000], 2e-6)}
            if center: # torch refuses a window that begins with 0 without
                cases["back"] = ("t", f"istft(spec, hann_window({width}), {size}, {hop}, 12000)", torch.istft(theirs, length=12000, **how), 2e-6)
            self.compare(cases, f"  let spec = stft(row.wave, hann_window({width}), {size}, {hop}, center = {str(center).lower()}, border = {border})")

    def test_inverse_and_complex_transforms(self):
        parts = lambda values: numpy.stack([values.real, values.imag], -1)
        half = numpy.fft.rfft(WAVE[:400]), numpy.fft.rfft(WAVE[:405])
        self.compare({
            "even": ("k", "inverse_fft(fft(row.wave[t = 0 .. 400], t), 400)", numpy.fft.irfft(half[0], 400), 2e-7),
            "odd": ("k", "inverse_fft(fft(row.wave[t = 0 .. 405], t), 405)", numpy.fft.irfft(half[1], 405), 2e-7),
            "forth": ("side, freq, part", "complex_fft(row.complex)", parts(numpy.fft.fft(COMPLEX)), 1e-5),
            "back": ("side, freq, part", "complex_fft(row.complex, inverse = true)", parts(numpy.fft.ifft(COMPLEX)), 3e-7),
            "even_forth": ("side, freq, part", "complex_fft(row.complex[k = 0 .. 44])", parts(numpy.fft.fft(COMPLEX[:, :44])), 1e-5)})

    @needs_torchaudio
    def test_mel_spectra(self):
        cases = {}
        for slaney in (False, True):
            for normed in (False, True):
                law = torchaudio.transforms.MelSpectrogram(16000, 400, hop_length=160, n_mels=80, mel_scale="slaney" if slaney else "htk",
                                                           norm="slaney" if normed else None)
                words = f"slaney = {slaney}, normed = {normed}".lower()
                cases[f"mel{slaney}{normed}"] = (
                    "t, freq", f"log_clamped(mel_spectrogram(row.wave, 16kHz, 400, 160, 80, 0Hz .. 8kHz, {words}), 1e-6)",
                    law(torch.from_numpy(WAVE)).clamp(min=1e-6).log().T, 3e-4)
        decibels = torchaudio.transforms.AmplitudeToDB()(torch.from_numpy(WAVE).abs())
        cases["decibels"] = ("t", "decibels(abs(row.wave))", decibels, 1e-5)
        cases["mfcc"] = ("t, freq", "mfcc(row.wave, 16kHz, 400, 200, 128, 0Hz .. 8kHz)",
                         torchaudio.transforms.MFCC(16000, 40)(torch.from_numpy(WAVE)).T, 1e-3)
        self.compare(cases)

    @needs_torchaudio
    def test_whisper(self):
        filters = torchaudio.functional.melscale_fbanks(201, 0, 8000, 80, 16000, norm="slaney", mel_scale="slaney").numpy()
        spectra = torch.stft(torch.from_numpy(WAVE), 400, 160, window=torch.hann_window(400), return_complex=True)[..., :-1].abs().numpy() ** 2
        level = numpy.log10(numpy.maximum(spectra.T @ filters, 1e-10))
        theirs = (numpy.maximum(level, level.max() - 8) + 4) / 4
        self.compare({"features": ("t, freq", "whisper_features(row.wave)", theirs, 3e-5)})

    @needs_torchaudio
    def test_nemo(self):
        """The front end of examples/conformer.pipe, as AudioToMelSpectrogramPreprocessor of NeMo defines it, but for what is drawn."""
        filters = torchaudio.functional.melscale_fbanks(257, 0, 8000, 80, 16000, norm="slaney", mel_scale="slaney").double()
        wave = exact(WAVE)
        sharp = torch.cat([wave[:1], wave[1:] - 0.97 * wave[:-1]])
        spectra = torch.stft(sharp, 512, 160, 400, torch.hann_window(400, periodic=False, dtype=torch.float64), center=True, pad_mode="constant",
                             return_complex=True).abs() ** 2
        level = torch.log(spectra.T @ filters + 2 ** -24)
        theirs = (level - level.mean(0)) / (level.std(0, unbiased=True) + 1e-5)
        with open(os.path.join(HERE, "..", "..", "examples", "conformer.pipe")) as file:
            lets = [line for line in file if re.match("  let (power|bands|mel) ", line)]
        self.assertEqual(len(lets), 3)
        self.compare({"features": ("t, freq", "mel", theirs, 3e-4)}, "  let sharp = preemphasis(row.wave)\n" + "".join(lets))

    @needs_torchaudio
    def test_kaldi(self):
        cases = {}
        for i, (words, settings, rate) in enumerate([
                ("povey_window(400), 160, 23, 20Hz .. 8kHz, 16kHz", {}, 16000),
                ("hann_window(400, periodic = false), 160, 128, 20Hz .. 8kHz, 16kHz", {"window_type": "hanning", "num_mel_bins": 128}, 16000),
                ("hamming_window(160, periodic = false), 64, 40, 20Hz .. 3600Hz, 8kHz, preemphasis = 0.0, snip = false",
                 {"window_type": "hamming", "num_mel_bins": 40, "snip_edges": False, "frame_shift": 8, "frame_length": 20, "high_freq": -400,
                  "preemphasis_coefficient": 0.0}, 8000)]):
            theirs = torchaudio.compliance.kaldi.fbank(torch.from_numpy(WAVE)[None], dither=0.0, sample_frequency=rate, **settings)
            cases[f"bands{i}"] = ("t, freq", f"kaldi_fbank(row.wave, {words})", theirs, 3e-4)
        self.compare(cases)

    def test_levels_and_lengths(self):
        features = WAVE[:12000].reshape(600, 20).astype(float)
        centred = (features - features.mean(0)) / (features.std(0, ddof=1) + 1e-5)
        padded = numpy.pad(QUIET.astype(float), 1024)
        level = numpy.array([(padded[i:i + 2048] ** 2).mean() for i in range(0, len(QUIET) + 1, 512)])
        heard = numpy.flatnonzero(10 * numpy.log10(numpy.maximum(level, 1e-10) / level.max()) > -60)
        mean = lambda x: x - x.astype(float).mean()
        ratio = math.sqrt((WAVE.astype(float) ** 2).sum() / (NOISE.astype(float) ** 2).sum() / 10 ** 1.2)
        self.compare({
            "gain": ("t", "gain(row.wave, 6.5)", WAVE * numpy.float32(10 ** (6.5 / 20)), 1e-7),
            "sharp": ("t", "preemphasis(row.wave)", numpy.r_[WAVE[0], WAVE[1:] - numpy.float32(0.97) * WAVE[:-1]], 0),
            "features": ("t, freq", "normalize_features(split(row.wave[t = 0 .. 12000], t, freq, 20))", centred, 1e-5),
            "normal": ("t", "normalize_wave(row.wave)", torch.nn.functional.layer_norm(torch.from_numpy(WAVE), WAVE.shape), 1e-6),
            "longer": ("t", "fit_length(row.wave, 20000)", numpy.r_[WAVE, numpy.zeros(20000 - COUNT)], 0),
            "shorter": ("t", "fit_length(row.wave, 2000)", WAVE[:2000], 0),
            "looped": ("t", "looped(row.wave, 30000, 5)", numpy.resize(numpy.roll(WAVE, -5), 30000), 0),
            "loud": ("t", "mix_at_snr(row.wave, row.noise, 12.0)", WAVE + ratio * NOISE, 1e-7),
            "silent": ("t", "mix_at_snr(row.wave, row.noise * 0.0, 12.0)", WAVE, 0),
            "mixed": ("t", "mix_waves(row.wave, row.noise, 0.3)", mean(0.3 * mean(WAVE) + 0.7 * mean(NOISE)), 1e-7),
            "room": ("t", "reverberate(row.wave, row.response, 512)", numpy.convolve(WAVE.astype(float), RESPONSE)[:COUNT], 5e-6),
            "small_room": ("t", "reverberate(row.wave, row.response)", numpy.convolve(WAVE.astype(float), RESPONSE)[:COUNT], 5e-6)})
        found, _ = self.of({"kept": ("f32[n, t <= 30000] ragged", "trim(row.quiet)")})
        self.assertEqual(found["kept"].tobytes(), QUIET[heard[0] * 512:(heard[-1] + 1) * 512].tobytes())

    @needs_torchaudio
    def test_filters(self):
        cases = {}
        for i, (ours, theirs) in enumerate([
                ("lowpass(row.wave, 16kHz, 1kHz)", ("lowpass_biquad", 16000, 1000)),
                ("lowpass(row.wave, 16kHz, 20Hz, q = 0.3)", ("lowpass_biquad", 16000, 20, 0.3)), # poles are real,
                ("lowpass(row.wave, 16kHz, 20Hz, q = 0.5)", ("lowpass_biquad", 16000, 20, 0.5)), # equal,
                ("lowpass(row.wave, 16kHz, 20Hz, q = 30.0)", ("lowpass_biquad", 16000, 20, 30.0)), # and on the verge
                ("highpass(row.wave, 16kHz, 300Hz)", ("highpass_biquad", 16000, 300)),
                ("bandpass(row.wave, 16kHz, 300Hz)", ("bandpass_biquad", 16000, 300)),
                ("bandreject(row.wave, 16kHz, 300Hz)", ("bandreject_biquad", 16000, 300)),
                ("equalizer(row.wave, 16kHz, 300Hz, 6.0)", ("equalizer_biquad", 16000, 300, 6.0)),
                ("low_shelf(row.wave, 16kHz, 300Hz, -6.0)", ("bass_biquad", 16000, -6.0, 300)),
                ("high_shelf(row.wave, 16kHz, 3kHz, 6.0)", ("treble_biquad", 16000, 6.0, 3000))]):
            cases[f"y{i}"] = ("t", ours, recurrence(*coefficients(*theirs), WAVE), 1e-7)
        self.compare(cases)

    @needs_torchaudio
    def test_time_and_pitch(self):
        cases, window = {}, torch.hann_window(512, dtype=torch.float64)
        spec = torch.stft(exact(WAVE), 512, 128, window=window, return_complex=True)
        for i, rate in enumerate((1.3, 0.8)):
            slow = torchaudio.functional.phase_vocoder(spec, rate, torch.linspace(0, math.pi * 128, 257, dtype=torch.float64)[:, None])
            cases[f"slow{i}"] = ("t", f"time_stretch(row.wave, {rate})", torch.istft(slow, 512, 128, window=window, length=round(COUNT / rate)), 1e-4)
        for i, steps in enumerate((12, -12)): # between octaves torchaudio's table of phases has gigabytes
            cases[f"pitch{i}"] = ("t", f"pitch_shift(row.wave, {float(steps)}, 16kHz)", torchaudio.functional.pitch_shift(exact(WAVE), 16000, steps), 2e-5)
        self.compare(cases)

    @needs_torchaudio
    def test_masks_are_torchaudios_for_the_same_draws(self):
        ours = {"time": ("f32[n, t]", "time_mask(row.wave, 4000)"), "share": ("f32[n, t]", "time_mask(row.wave, 4000, share = 0.1, fill = 2.0)")}
        places = set()
        for position in range(5):
            found, (size, first, small, where) = self.of(ours, position=position)
            places.add(int(first))
            for name, most, draws, fill in [("time", 4000, (size, first), 0.0), ("share", COUNT // 10, (small, where), 2.0)]:
                shares = iter([draws[0] / most, draws[1] / (COUNT - draws[0])])
                keep, torch.rand = torch.rand, lambda *_, **__: torch.tensor([next(shares)], dtype=torch.float64)
                try:
                    theirs = torchaudio.functional.mask_along_axis(torch.from_numpy(WAVE)[None, None], most, fill, 2)
                finally:
                    torch.rand = keep
                self.assertEqual(found[name].tobytes(), theirs.numpy().tobytes())
        self.assertGreater(len(places), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
