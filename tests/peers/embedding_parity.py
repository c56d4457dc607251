"""Embeds the texts of indexes again with onnxruntime and tokenizers, and compares.

One text per run, the first token's vector (CLS), 512 tokens at most, length 1:
what models/README.md says of bge-small-en-v1.5. Reads the index files with
nothing but json and numpy.

usage: embedding_parity.py MODEL_DIR TOOL_TEXTS.json INDEX_DIR...
TOOL_TEXTS.json: {INDEX_DIR: [text of each tool]}, the one text that the index
does not hold.  exit 0: every cosine is at least 0.9999
"""

import json
import pathlib
import sys

import numpy as np
import onnxruntime
import tokenizers

AT_LEAST = 0.9999
MAX_LENGTH = 512


class Model:
    def __init__(self, folder):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(folder / "model.onnx", options)
        self.tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_LENGTH)
        self.known = {}
        self.n_cut = 0

    def embed(self, text):
        if text not in self.known:
            tokens = self.tokenizer.encode(text)
            self.n_cut += bool(tokens.overflowing)
            fields = {
                "input_ids": tokens.ids,
                "attention_mask": tokens.attention_mask,
                "token_type_ids": tokens.type_ids,
            }
            feed = {
                one.name: np.array([fields[one.name]], dtype=np.int64)
                for one in self.session.get_inputs()
            }
            vector = self.session.run(None, feed)[0][0, 0].astype(np.float64)
            self.known[text] = vector / np.linalg.norm(vector)
        return self.known[text]


def tensors(path):
    """The safetensors format: length of the header, header, data."""
    content = path.read_bytes()
    n_header = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + n_header])
    types = {"F32": "<f4", "U32": "<u4", "U8": "u1", "U64": "<u8"}
    found = {}
    for name, tensor in header.items():
        if name != "__metadata__":
            start, end = (8 + n_header + offset for offset in tensor["data_offsets"])
            numbers = np.frombuffer(content[start:end], dtype=types[tensor["dtype"]])
            found[name] = numbers.reshape(tensor["shape"])
    return found


def texts_and_rows(index, tool_texts):
    """Yields matrix name, texts, matrix."""
    generation = index / (index / "CURRENT").read_text().strip()
    matrices = tensors(generation / "vectors.safetensors")
    lines = (generation / "catalog.jsonl").read_bytes().decode().split("\n")[:-1]
    n_servers = len(matrices["server_description"])
    servers = [json.loads(line) for line in lines[:n_servers]]
    tools = [json.loads(line) for line in lines[n_servers:]]
    for kind in ["description", "summary", "digest"]:
        name = f"server_{kind}"
        yield name, [server[kind] for server in servers], matrices[name]
    yield "tool_description", [tool["description"] for tool in tools], matrices["tool_description"]
    yield "tool_text", tool_texts, matrices["tool_text"]


def main():
    folder, tool_texts, *indexes = sys.argv[1:]
    model = Model(pathlib.Path(folder))
    with open(tool_texts, encoding="utf-8") as file:
        tool_texts = json.load(file)
    cosines = []
    for index in indexes:
        for name, texts, rows in texts_and_rows(pathlib.Path(index), tool_texts[index]):
            if len(texts) != len(rows):
                sys.exit(f"{index}: {name} has {len(rows)} rows for {len(texts)} texts")
            for number, (text, row) in enumerate(zip(texts, rows.astype(np.float64))):
                if not text:
                    if row.any():
                        sys.exit(f"{index}: row {number} of {name} has no text, but a vector")
                    continue
                cosines.append(model.embed(text) @ row)
                if not cosines[-1] >= AT_LEAST:
                    print(f"{index}: row {number} of {name}: {cosines[-1]:.6f} {text[:60]!r}")
    n_low = sum(not cosine >= AT_LEAST for cosine in cosines)
    print(f"{len(cosines)} rows, {model.n_cut} texts cut, least cosine {min(cosines):.7f}, {n_low} low")
    if n_low or not model.n_cut:
        sys.exit(1)


main()
