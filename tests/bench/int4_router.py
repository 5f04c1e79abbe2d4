#!/usr/bin/env python3
"""Copy a GGUF file with its routers taken through int4 (q4_0) and back: what a library that quantises routers does to a model.
The numbers are stored as f32, so the copy loads like any other.      int4_router.py MODEL.gguf OUT.gguf      pip install gguf numpy"""
import sys

import gguf
import numpy as np

source, target = sys.argv[1:]
reader = gguf.GGUFReader(source)
fields = reader.fields
writer = gguf.GGUFWriter(target, fields["general.architecture"].contents())
for name, field in fields.items():
    if name.startswith("GGUF.") or name == "general.architecture":
        continue
    kind = field.types[0]
    writer.add_key_value(name, field.contents(), kind, field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None)
changed = 0
for tensor in reader.tensors:
    if tensor.name.endswith("ffn_gate_inp.weight"):
        values = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        codes = gguf.quants.quantize(values, gguf.GGMLQuantizationType.Q4_0)
        writer.add_tensor(tensor.name, gguf.quants.dequantize(codes, gguf.GGMLQuantizationType.Q4_0).astype(np.float32))
        changed += 1
    else:
        writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
if changed == 0:
    sys.exit(f"int4_router.py: '{source}' has no routers (ffn_gate_inp)")
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
