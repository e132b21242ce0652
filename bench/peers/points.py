# SPDX-License-Identifier: Apache-2.0
"""Pillars of scans in memory, f32 in. A turn is all scans once; `fixed_box` gives one of the three results of a scan."""

from bench.peers.peer import Missing, Peer

RESULTS = ("points", "count", "at")


def scans_of(job):
    import numpy
    return numpy.fromfile(job["scans"], numpy.float32).reshape(job["count"], -1, 4)


def penstock(job):
    from bench.peers.penstock import ROOT, Session

    def session():
        return Session(ROOT / "bench/pipelines/points.pipe", 1, scans=job["scans"], points=scans_of(job).shape[1])

    def fixed_box(number, box, flip):
        import numpy
        one, found = session(), []
        for _ in range(int(number) + 1):
            one.next(lambda batch: found.append([numpy.array(part) for part in list(batch)]))
        one.close()
        return found[-1][box[0]]

    measured = session()
    measured.take(2 * job["count"])
    return Peer(lambda: measured.take(job["count"]), "f32", f"penstock {measured.version}", fixed_box=fixed_box,
                parts={"pillars": lambda: measured.take(job["count"])})


def spconv(job):
    try:
        from cumm import tensorview
        from spconv.utils import Point2VoxelCPU3d
    except ImportError as error:
        raise Missing(str(error)) from error
    from importlib.metadata import version
    cells = Point2VoxelCPU3d(vsize_xyz=[0.16, 0.16, 4], coors_range_xyz=[0, -39.68, -3, 69.12, 39.68, 1], num_point_features=4,
                             max_num_voxels=16000, max_num_points_per_voxel=32)
    scans = scans_of(job)

    def results(scan):
        points, at, count = cells.point_to_voxel(tensorview.from_numpy(scan))
        return points, count, at

    def all_scans():
        for scan in scans:
            results(scan)
        return len(scans)

    return Peer(all_scans, "f32", f"spconv {version('spconv')}", fixed_box=lambda number, box, flip: results(scans[int(number)])[box[0]].numpy(),
                parts={"pillars": all_scans})
