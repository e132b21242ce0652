# SPDX-License-Identifier: Apache-2.0
"""Front ends of sound over waves of 10 s in memory, i16 in, f32 out. A peer's `parts` has a callable for each that it has; each call handles all waves once."""

from bench.peers.peer import Missing, Peer

PARTS = ("logmel", "fbank", "resample")


def waves_of(job, part):
    import numpy
    return numpy.fromfile(job["waves"][part], numpy.int16).reshape(job["count"], -1)


def penstock(job):
    from bench.peers.penstock import ROOT, Session
    parts, sessions = {}, {}
    for name in PARTS:
        waves = waves_of(job, name)
        session = sessions[name] = Session(ROOT / "bench/pipelines/audio.pipe", 1, name, waves=job["waves"][name], samples=waves.shape[1])
        batches = session.info().batches_per_epoch
        session.take(batches)
        parts[name] = lambda session=session, batches=batches: session.take(batches)

    def fixed_box(part, box, flip):
        session = Session(ROOT / "bench/pipelines/audio.pipe", 1, part, waves=job["waves"][part], samples=waves_of(job, part).shape[1])
        array = session.arrays(1)[0]
        session.close()
        return array

    return Peer(parts["logmel"], "f32", f"penstock {sessions['logmel'].version}", fixed_box, parts=parts)


def peer_of(job, functions, versions, convert, number):
    """`functions`: part -> function of one wave, made by `convert` of i16."""
    def over_all(name, one):
        waves = waves_of(job, name)

        def slice():
            for wave in waves:
                one(convert(wave))
            return len(waves)
        return slice

    parts = {name: over_all(name, one) for name, one in functions.items()}
    return Peer(parts["logmel"], "f32", versions, lambda part, box, flip: number(functions[part](convert(waves_of(job, part)[0]))), parts=parts)


def torchaudio(job):
    import torch
    torch.version.cuda = None  # torchaudio's wheel is of another one, and refuses this; neither is used
    import torchaudio
    from torchaudio.compliance import kaldi
    torch.set_num_threads(1)
    mel = torchaudio.transforms.MelSpectrogram(16000, 400, hop_length=160, n_mels=80)
    resample = torchaudio.transforms.Resample(44100, 16000)
    functions = {"logmel": lambda x: mel(x).clamp_(min=1e-6).log_(),
                 "fbank": lambda x: kaldi.fbank(x[None], htk_compat=True, window_type="hanning", num_mel_bins=128, dither=0.0),
                 "resample": resample}
    return peer_of(job, functions, f"torchaudio {torchaudio.__version__}, torch {torch.__version__}",
                   lambda wave: torch.from_numpy(wave).float().div_(32768), lambda value: value.numpy())


def librosa(job):
    try:
        import librosa
        import numpy
    except ImportError as error:
        raise Missing(str(error)) from error
    bank = {"sr": 16000, "n_fft": 400, "hop_length": 160, "n_mels": 80, "htk": True, "norm": None, "pad_mode": "reflect"}
    functions = {"logmel": lambda x: numpy.log(numpy.maximum(librosa.feature.melspectrogram(y=x, **bank), 1e-6))}
    return peer_of(job, functions, f"librosa {librosa.__version__}", lambda wave: wave.astype(numpy.float32) / 32768, lambda value: value)
