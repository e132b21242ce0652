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


def dali(job):
    """Its resampling has another filter, so that it has log-mel alone; a batch is all waves, and it runs one batch ahead."""
    import numpy
    try:
        import nvidia.dali
        from nvidia.dali import fn, pipeline_def, types
    except ImportError as error:
        raise Missing(str(error)) from error
    waves = list(waves_of(job, "logmel"))

    @pipeline_def(batch_size=len(waves), num_threads=1, device_id=None, prefetch_queue_depth=1)
    def logmel():
        wave = fn.cast(fn.external_source(lambda: waves, batch=True), dtype=types.FLOAT) * (1 / 32768)
        window = [float(0.5 - 0.5 * numpy.cos(2 * numpy.pi * k / 400)) for k in range(400)]
        power = fn.spectrogram(wave, nfft=400, window_length=400, window_step=160, window_fn=window, power=2)
        mel = fn.mel_filter_bank(power, sample_rate=16000, nfilter=80, freq_low=0.0, freq_high=8000.0, mel_formula="htk", normalize=False)
        return fn.to_decibels(mel, multiplier=float(numpy.log(10)), reference=1.0, cutoff_db=float(numpy.log(1e-6)))  # natural logarithms

    pipeline = logmel()
    pipeline.build()

    def slice():
        pipeline.run()
        return len(waves)

    return Peer(slice, "f32", f"DALI {nvidia.dali.__version__}", lambda part, box, flip: pipeline.run()[0].at(0), parts={"logmel": slice})
