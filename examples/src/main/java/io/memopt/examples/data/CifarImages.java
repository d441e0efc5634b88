// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * Reads CIFAR-10 in its binary version: files {@code data_batch_1.bin} to {@code data_batch_5.bin} and
 * {@code test_batch.bin} of 3,073-byte records, one byte for the class and 1,024 each for red, green and blue. The data
 * set does not come with this project, for it states no licence.
 */
public final class CifarImages {
    private static final int RECORD = 1 + ImageSet.BYTES;

    private static final List<String> CLASSES =
            List.of("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck");

    private CifarImages() {}

    /**
     * Reads every {@code data_batch_*.bin} of a directory for training and its {@code test_batch.bin} for the test;
     * without the latter, or when {@code path} is a single file, a fifth of the images is put aside for the test.
     *
     * @throws IOException if there is no such file, or one that is not in the format; the message says which
     */
    public static ImageSet.Split load(Path path, long seed) throws IOException {
        if (!Files.isDirectory(path)) {
            return new ImageSet(CLASSES, read(List.of(path))).split(0.2, seed);
        }
        List<Path> files = new ArrayList<>();
        try (DirectoryStream<Path> found = Files.newDirectoryStream(path, "data_batch_*.bin")) {
            found.forEach(files::add);
        }
        if (files.isEmpty()) {
            throw new NoSuchFileException(
                    path.toString(), null, "no data_batch_*.bin in it; unpack CIFAR-10's binary version there");
        }
        Collections.sort(files);
        ImageSet train = new ImageSet(CLASSES, read(files));
        Path test = path.resolve("test_batch.bin");
        return Files.exists(test)
                ? new ImageSet.Split(train, new ImageSet(CLASSES, read(List.of(test))))
                : train.split(0.2, seed);
    }

    private static List<ImageSet.Image> read(List<Path> files) throws IOException {
        List<ImageSet.Image> images = new ArrayList<>();
        for (Path file : files) {
            long length = Files.size(file);
            if (length == 0 || length % RECORD != 0) {
                throw new IOException(file + " has " + length + " bytes, expected a multiple of " + RECORD
                        + ": it is cut short or not CIFAR-10's binary version");
            }
            try (InputStream in = Files.newInputStream(file)) {
                for (long at = 0; at < length; at += RECORD) {
                    images.add(image(file, at, in.readNBytes(RECORD)));
                }
            }
        }
        return images;
    }

    private static ImageSet.Image image(Path file, long at, byte[] record) throws IOException {
        if (record.length < RECORD) {
            throw new IOException(file + " ends within the record at byte " + at);
        }
        if (record[0] < 0 || record[0] >= CLASSES.size()) {
            throw new IOException(file + " has class " + (record[0] & 0xff) + " at byte " + at + ", expected 0 to 9: it"
                    + " is not CIFAR-10's binary version");
        }
        return new ImageSet.Image(Arrays.copyOfRange(record, 1, RECORD), record[0]);
    }
}
