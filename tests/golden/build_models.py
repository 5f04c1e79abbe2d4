#!/usr/bin/env python3
"""Builds the real models that tests/real reads into OUT, once, out of SmolLM2 and the recipes of this tree:

  OUT/default-q8_0.gguf      a link into the user's cache folder: the file that examples/run chats with
  OUT/default-f16.gguf       the same model with f16 matrices, 1.4 GB
  OUT/fine-grained.gguf      a mixture in DeepSeek-MoE's form (q8_0)
  OUT/fine-grained-f32.gguf  the same numbers as f32, 540 MB

CTest runs it before the tests that read them.  What cannot be had is an error, never a skip.  Usage: build_models.py OUT"""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))
import model_cache

if len(sys.argv) != 2:
    sys.exit(__doc__)
out = pathlib.Path(sys.argv[1]).resolve()
out.mkdir(parents=True, exist_ok=True)
link = out / "default-q8_0.gguf"
model = model_cache.default_model()
link.unlink(missing_ok=True)
link.symlink_to(model)
FINE_GRAINED = (HERE / "make/build_fine_grained_model.py", HERE / "data/fine-grained-model/recipe.safetensors")
model_cache.build(out, [
    model_cache.default_job("default-f16.gguf", "f16", "cfad998689d17c7dbe0dbd6f83ec66623ecf78fcdea3b0c997322e778bac8c95", 1_386_209_568),
    model_cache.Job("fine-grained.gguf", *FINE_GRAINED, "q8_0",
                    "2a02358a3d6e7f44ec3e73e94f413805b9ad5baa38274d2be5db41b29631f418", 145_426_432),
    model_cache.Job("fine-grained-f32.gguf", *FINE_GRAINED, "f32",
                    "e37ae433c13d85cbdaa42f5ba7ed7dacf7b33658d174d31eb73eaf3186d8f715", 540_461_056),
])
