# THE rank table.  A room includes its own files, the rooms listed here, and the public headers of objects at or below
# its rank.  Link lines (MixturaRoom.cmake) and the structure test (tests/structure/check.py) both read it; nothing else
# says who may use whom.  Columns: room | rank | rooms it may use.  "0-2" stands for every room of rank 0 to 2.
# A room gets a folder in lib/ when it gets code.
set(MIXTURA_LAYERS
  "base      | 0  | "
  "observe   | 1  | 0-0"
  "parallel  | 2  | 0-1"
  "memory    | 2  | 0-1"
  "formats   | 3  | 0-2"
  "kernels   | 3  | 0-2"
  "comm      | 3  | 0-2"
  "measure   | 4  | 0-2 kernels"
  "tokenizer | 4  | 0-2 formats"
  "weights   | 4  | 0-2 formats kernels"
  "router    | 5  | 0-2 formats kernels"
  "cache     | 5  | 0-2 formats kernels"
  "sampler   | 5  | 0-2 formats kernels"
  "planner   | 5  | 0-2 formats kernels weights"
  "experts   | 6  | 0-2 formats kernels comm weights router"
  "model     | 7  | 0-4 router cache experts"
  "engine    | 8  | 0-7"
  "doctor    | 8  | 0-2 kernels router experts"
  "capi      | 9  | "
  "examples  | 10 | ")
