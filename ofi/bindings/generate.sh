#!/bin/sh
# Makes src/bindings.rs of libfabric's headers: bindings/generate.sh DIRECTORY, in which libfabric v2.5.1 is unpacked.
# Needs bindgen (cargo install bindgen-cli, 0.73.2) and libclang. The result is checked in, because a build must not depend
# on the headers of the machine: a core of 2.x copies whole structures, which those of 1.17 are too small for.
set -e
cd "$(dirname "$0")"
bindgen wrapper.h \
    --output ../src/bindings.rs \
    --rust-edition 2024 --rust-target 1.85 \
    --no-doc-comments --no-prepend-enum-name --default-enum-style consts \
    --ignore-functions --wrap-unsafe-ops --with-derive-default --generate types,vars \
    --allowlist-type 'fi_.*|fid.*' --allowlist-var 'FI_.*' \
    --blocklist-type 'fi_hmem_override_ops|fi_profile.*|fi_trigger.*|fi_deferred.*' \
    --raw-line '//! Types and constants of libfabric v2.5.1, made by bindings/generate.sh: not to be changed by hand.' \
    -- -I "$1/include"
