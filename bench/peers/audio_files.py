# SPDX-License-Identifier: Apache-2.0
"""Files of sound: FLAC to log-mel, a second out of half an hour of MP3, and AST's recipe from WAV files. `job` names the files of each part."""

import pathlib
import random

from bench.peers.peer import Missing, Peer

SECONDS = 16  # of MP3 in a turn
MEAN, DEVIATION = -6.845978, 5.5654526


def penstock(job):
    from bench.peers.penstock import ROOT, Session
    pipe, root = ROOT / "bench/pipelines/audio_files.pipe", job["root"]

    def of(part, **more):
        if part == "ast":
            return Session(ROOT / "examples/speech_commands.pipe", 1, list=job["ast"], root=root, per_rank=job["batch"])
        values = {"list": job[part], "root": root, **({"kept": job["kept"]} if part == "mp3_second" else {}), **more}
        return Session(pipe, 1, part, **values)

    sessions = {part: of(part) for part in ("flac_logmel", "mp3_second", "ast")}
    turns = {part: SECONDS if part == "mp3_second" else session.info().batches_per_epoch for part, session in sessions.items()}
    for session in sessions.values():
        session.take(3)

    def fixed_box(part, box, flip):
        one = of(part, **({"first": box[0]} if part == "mp3_second" else {}))
        array = one.arrays(1)
        one.close()
        return array

    parts = {part: lambda session=session, turn=turns[part]: session.take(turn) for part, session in sessions.items()}
    return Peer(parts["flac_logmel"], "f32", f"penstock {sessions['ast'].version}", fixed_box, parts=parts)


def lines(path):
    return pathlib.Path(path).read_text().split()


def ast_data(job):
    """The data set of YuanGongND/ast's dataloader.py, with soundfile in torchaudio.load's place."""
    import numpy
    import soundfile
    import torch
    import torchaudio
    from torchaudio.compliance import kaldi
    rows = [line.split(",") for line in lines(job["ast"])[1:]]
    hide = [torchaudio.transforms.FrequencyMasking(48), torchaudio.transforms.TimeMasking(48)]

    def wave_of(row):
        wave, _ = soundfile.read(pathlib.Path(job["root"]) / row[0], dtype="float32")
        wave = torch.from_numpy(wave)[None]
        return wave - wave.mean()

    class Clips(torch.utils.data.Dataset):
        def __len__(self):
            return len(rows)

        def __getitem__(self, number):
            wave, label = wave_of(rows[number]), torch.zeros(35)
            if random.random() < 0.6:
                other = rows[random.randint(0, len(rows) - 1)]
                second = wave_of(other)
                share = float(numpy.random.beta(10, 10))
                if second.shape[1] < wave.shape[1]:
                    second = torch.nn.functional.pad(second, (0, wave.shape[1] - second.shape[1]))
                wave = share * wave + (1 - share) * second[:, :wave.shape[1]]
                wave = wave - wave.mean()
                label[int(rows[number][1])] += share
                label[int(other[1])] += 1 - share
            else:
                label[int(rows[number][1])] = 1
            bands = kaldi.fbank(wave, htk_compat=True, sample_frequency=16000, use_energy=False, window_type="hanning",
                                num_mel_bins=128, dither=0.0, frame_shift=10)
            bands = torch.nn.functional.pad(bands, (0, 0, 0, max(128 - len(bands), 0)))[:128]
            bands = bands.transpose(0, 1)[None]
            for one in hide:
                bands = one(bands)
            bands = (bands[0].transpose(0, 1) - MEAN) / (2 * DEVIATION)
            bands = bands + torch.rand(*bands.shape) * numpy.random.rand() / 10
            return torch.roll(bands, int(numpy.random.randint(-10, 10)), 0), label
    return Clips()


def torchaudio(job):
    try:
        import numpy
        import soundfile
        import torch
        torch.version.cuda = None  # torchaudio's wheel is of another one, and refuses this; neither is used
        import torchaudio
    except ImportError as error:
        raise Missing(str(error)) from error
    torch.set_num_threads(1)
    mel = torchaudio.transforms.MelSpectrogram(16000, 400, hop_length=160, n_mels=80)
    root, draws = pathlib.Path(job["root"]), random.Random(1)
    flac, mp3 = ([root / line for line in lines(job[part])] for part in ("flac_logmel", "mp3_second"))
    frames = soundfile.info(mp3[0]).frames

    def logmel(path):
        wave, _ = soundfile.read(path, dtype="float32")
        return mel(torch.from_numpy(wave)).clamp_(min=1e-6).log_()

    def second(first):
        wave, _ = soundfile.read(mp3[0], 44100, first, dtype="float32")
        return wave.mean(1)

    def all_files():
        for path in flac:
            logmel(path)
        return len(flac)

    def seconds():
        second(draws.randint(0, frames - 44100))
        return 1

    # One worker, as we have one thread; it lives through the epochs.
    loader = torch.utils.data.DataLoader(ast_data(job), job["batch"], shuffle=True, num_workers=1, drop_last=True, persistent_workers=True)

    def fixed_box(part, box, flip):
        if part == "mp3_second":
            return second(box[0])[None]
        if part == "ast":
            return next(iter(loader))[0].numpy()
        return numpy.stack([logmel(path).numpy() for path in flac])

    parts = {"flac_logmel": all_files, "mp3_second": seconds, "ast": lambda: sum(len(batch[0]) for batch in loader)}
    return Peer(all_files, "f32", f"soundfile {soundfile.__version__}, torchaudio {torchaudio.__version__}, torch {torch.__version__}", fixed_box, parts=parts)
