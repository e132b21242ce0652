"""What `probe` and `decode` give of each medium, on files that NumPy and Pillow write."""
import io
import os

import numpy
from PIL import Image

from pipelines import LanguageTest
from support import main


class MediaTest(LanguageTest):
    def files(self, contents):
        """A list of files with these bytes; the arguments that a pipeline over it takes."""
        os.makedirs(self.data, exist_ok=True)
        for i, data in enumerate(contents):
            with open(os.path.join(self.data, f"{i}.bin"), "wb") as file:
                file.write(data)
        path = os.path.join(self.folder, "list.txt")
        with open(path, "w") as file:
            file.writelines(f"{i}.bin\n" for i in range(len(contents)))
        return ["--set", f"list={path}", "--set", f"root={self.data}"]

    def decoded(self, settings, outputs, lets="", position=0):
        lines = "\n".join(f"output {name}: {kind} = {value}" for name, (kind, value) in outputs.items())
        return self.sample(f"""pipeline test(list: path, root: path) {{
  for row in file_list(list, root)
  {lets}
  batch 1 per rank last drop {{
  {lines}
  }}
}}""", position, *settings)


class Headers(MediaTest):
    def test_of_images(self):
        stream = io.BytesIO()
        exif = Image.Exif()
        exif[0x0112] = 6
        Image.new("RGB", (30, 20)).save(stream, "JPEG", exif=exif)
        found = self.decoded(self.files([stream.getvalue()]), {
            "sides": ("i64[n, k]", "stack([facts.height, facts.width, facts.orientation], k)"),
            "upright": ("i64[n, k]", "stack([extent(image, h), extent(image, w)], k)"),
            "drawn": ("i64[n]", "draw int(facts.width ..= facts.width)")}, """
  let facts = probe(row.data, image)
  let image = row.data |> decode(gray, orient = true)""")
        self.assertEqual(found["sides"].tolist(), [20, 30, 6])
        self.assertEqual(found["upright"].tolist(), [30, 20])
        self.assertEqual(found["drawn"].tolist(), 30)

    def test_of_what_is_no_image(self):
        path = self.write("""pipeline test(list: path, root: path) with on_error = fail {
  for row in file_list(list, root)
  batch 1 per rank last drop { output h: i64[n] = probe(row.data, image).height }
}""")
        done = self.run_tool("run", path, *self.files([b"plain text"]), expect=1)
        self.assertIn("0.bin: not an image file: its first bytes are no image format's", done.stderr)

    def test_mistakes_are_told_at_their_place(self):
        for medium, message in (("imgae", "hint: `image`"), ("smell", "there is no medium `smell`"),
                                ("3", "`probe` takes the name of a medium, and this is int")):
            self.refused(f"""pipeline test(root: path) {{
  for row in image_folder(root)
  let facts = row.data |> probe({medium})
  batch 1 per rank last drop {{ output h: i64[n] = facts.height }}
}}""", f"test.pipe:4:33: error: ", message)
        self.refused("""pipeline test(root: path) {
  for row in image_folder(root)
  batch 1 per rank last drop { output h: i64[n] = probe(row.label, image).height }
}""", "test.pipe:4:57: error: `probe` takes the bytes of a file, and this is int")


if __name__ == "__main__":
    main()
