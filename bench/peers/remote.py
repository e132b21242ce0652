# SPDX-License-Identifier: Apache-2.0
"""Photos in tar files behind URLs: penstock.torch, WebDataset, and a data set that asks for each photo."""

import io
import os
import pathlib
import tarfile

from bench.peers import penstock, torch_loader
from bench.peers.peer import Missing, Peer
from bench.peers.torch_loader import loop, ours, photo_transform, reason_of_pillow, temporary_folder


def versions(*more):
    return ", ".join([*more, torch_loader.versions()])


def shard_of_one(job, path):
    """The URL of a tar file with this photo alone."""
    folder = temporary_folder(dict(job, work=job["served"]))
    body = pathlib.Path(path).read_bytes()
    with tarfile.open(folder / "one.tar", "w") as tar:
        for name, data in (("0.jpg", body), ("0.cls", b"0")):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return f"{job['url']}/{folder.name}/one.tar"


def pixels(body):
    from PIL import Image
    with Image.open(io.BytesIO(body)) as image:
        return image.convert("RGB")


# --- WebDataset -----------------------------------------------------------------

def webdataset(job):
    """As its README has it: shards in random order, split by worker, a buffer that is shuffled, batches made by the workers."""
    import torch
    import webdataset as wds
    torch.set_num_threads(1)

    def pipeline(url, transform, batch, shuffle):
        rows = wds.WebDataset(url, shardshuffle=len(job["shards"]) if shuffle else False, workersplitter=wds.split_by_worker, empty_check=False)
        rows = rows.shuffle(1000) if shuffle else rows
        return rows.to_tuple("jpg", "cls").map_tuple(lambda body: transform(pixels(body)), int).batched(batch, partial=True)

    workers = job["workers"]
    loader = wds.WebLoader(pipeline(job["shards"], photo_transform(), job["batch"], True), batch_size=None, shuffle=False, num_workers=workers,
                           persistent_workers=workers > 0, prefetch_factor=4 if workers else None)

    def fixed_box(path, box, flip):
        return next(iter(pipeline(shard_of_one(job, path), photo_transform(flip), 1, False)))[0][0].numpy().copy()

    return Peer(lambda: loop(loader), "f32 CHW", versions(f"webdataset {wds.__version__}"), fixed_box, reason=reason_of_pillow())


# --- a request for each photo ---------------------------------------------------

class Photos:
    """A data set as people write them, of photos behind URLs; each worker has a connection that stays open."""

    def __init__(self, urls, transform):
        self.urls, self.transform, self.pool = urls, transform, None

    def __len__(self):
        return len(self.urls)

    def __getitem__(self, index):
        import urllib3
        self.pool = self.pool or urllib3.PoolManager()
        answer = self.pool.request("GET", self.urls[index])
        if answer.status != 200:
            raise OSError(f"{self.urls[index]}: {answer.status}")
        return self.transform(pixels(answer.data)), 0


def request_each(job):
    try:
        import urllib3
    except ImportError as why:
        raise Missing(str(why)) from why
    return torch_loader.of_data_loader(
        job, Photos([f"{job['url']}/{path}" for path in job["photos"]], photo_transform()),
        lambda path, flip: Photos([f"{job['url']}/photos/{pathlib.Path(path).relative_to(job['root'])}"], photo_transform(flip)), reason=reason_of_pillow())


# --- penstock.torch -------------------------------------------------------------

def text_of(flip=None):
    from penstock.torch import compile_transforms
    return compile_transforms(photo_transform(flip), source="tar_shards(shards, data = column(\"jpg\", bytes), label = column(\"cls\", i64))",
                              parameters="shards: path, per_rank: int = 64", image="row.data |> decode(rgb)", batch="per_rank per rank last keep")


def penstock_torch(job):
    """An epoch from its first request on: a new loader for each, as one that stays reads ahead while others take their turn. The program is kept, and
    unless it is a `first` start, what says where the rows lie."""
    version = penstock.package().__version__
    os.environ["XDG_CACHE_HOME"] = str(temporary_folder(job))

    def one_epoch():
        if job["first"]:
            os.environ["XDG_CACHE_HOME"] = str(temporary_folder(job))
        with ours(text_of(), job, shards=job["range"], per_rank=job["batch"]) as loader:
            samples = loop(loader)
        if not list(pathlib.Path(os.environ["XDG_CACHE_HOME"]).glob("**/tar-shards*")):
            raise RuntimeError("the index of the shards lies elsewhere")
        return samples

    def fixed_box(path, box, flip):
        with ours(text_of(flip), job, shards=shard_of_one(job, path), per_rank=1) as one:
            return torch_loader.images_of(next(iter(one)))[0].numpy().copy()

    return Peer(one_epoch, "f32 CHW", versions(f"penstock {version}"), fixed_box)
