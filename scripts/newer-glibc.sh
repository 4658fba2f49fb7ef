#!/usr/bin/env bash
# newer-glibc.sh NODE FOLDER: makes FOLDER/node, the same Node with the C library of Debian 13, on an older Debian: uWebSockets.js has
# binaries for Node 24 that need it. Nothing outside FOLDER changes, but for the package patchelf.
set -euo pipefail
node=$(realpath "$1")
mkdir -p "$2"
cd "$2"
folder=$PWD
command -v patchelf > /dev/null || { apt-get update -qq && apt-get install -y -qq patchelf; } > /dev/null
mirror=$(grep -rhoE 'https?://[^ ]+/debian/? ' <(sed 's/$/ /' /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null) | head -n 1)
mkdir -p sources lists/partial cache/archives/partial root
printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' "$mirror" > sources/trixie.sources
printf 'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "%s/sources";\nDir::State::lists "%s/lists";\nDir::Cache "%s/cache";\nAPT::Sandbox::User "root";\n' "$folder" "$folder" "$folder" > apt.conf
export APT_CONFIG=$folder/apt.conf
apt-get update -qq
apt-get download -qq libc6 libstdc++6 libgcc-s1
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries=$(dirname "$(find "$folder/root" -name libc.so.6)")
cp "$node" node
patchelf --set-interpreter "$(find "$libraries" -name 'ld-linux-*' | head -n 1)" --force-rpath --set-rpath "$libraries" node
./node --version > /dev/null
