# SPDX-License-Identifier: Apache-2.0
"""tf.data with TensorFlow's own decoder and resize."""

from bench.peers.peer import IMAGENET_MEAN, IMAGENET_STD, Peer


def imagenet(job):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(job["threads"])
    mean = tf.constant([255 * m for m in IMAGENET_MEAN], tf.float32)
    std = tf.constant([255 * s for s in IMAGENET_STD], tf.float32)
    paths = [f"{job['root']}/{path}" for path in job["paths"]]
    classes = sorted({path.split("/")[0] for path in job["paths"]})
    labels = [classes.index(path.split("/")[0]) for path in job["paths"]]

    def finish(encoded, box, flip):
        image = tf.image.decode_and_crop_jpeg(encoded, box, channels=3)
        image = tf.image.resize(image, [224, 224], method="bilinear")
        image = tf.cond(flip, lambda: tf.reverse(image, [1]), lambda: image)
        return tf.transpose((image - mean) / std, [2, 0, 1])

    def train(path, label):
        encoded = tf.io.read_file(path)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.image.extract_jpeg_shape(encoded), tf.zeros([1, 0, 4], tf.float32), min_object_covered=0.0,
            aspect_ratio_range=[3 / 4, 4 / 3], area_range=[0.08, 1.0], max_attempts=10,
            use_image_if_no_bounding_boxes=True)
        box = tf.stack([begin[0], begin[1], size[0], size[1]])
        return finish(encoded, box, tf.random.uniform([]) < 0.5), label

    data = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths), seed=job["seed"])
    data = data.map(train, num_parallel_calls=job["threads"], deterministic=False).batch(job["batch"]).prefetch(2)
    options = tf.data.Options()
    options.threading.private_threadpool_size = job["threads"]
    options.threading.max_intra_op_parallelism = 1
    data = data.with_options(options)

    def slice():
        return sum(len(labels) for _, labels in data)

    def fixed_box(path, box, flip):
        return finish(tf.io.read_file(path), tf.constant(box), tf.constant(bool(flip))).numpy()

    slice()
    return Peer(slice, "f32 CHW", f"tensorflow {tf.__version__}", fixed_box,
                reason="no antialias, resize in f32 without rounding to u8, fast IDCT")
