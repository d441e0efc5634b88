// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Labelled colour images of 32x32 pixels, kept as bytes: red, green and blue plane one after the other, each row by
 * row, as CIFAR-10 stores them.
 *
 * <p>Threading: immutable.
 */
public final class ImageSet {
    public static final int SIDE = 32;
    public static final int CHANNELS = 3;
    static final int BYTES = CHANNELS * SIDE * SIDE;

    private final List<String> classes;
    private final List<Image> images;

    /** One image: {@value #BYTES} bytes, and the index of its class. */
    @SuppressWarnings("ArrayRecordComponent") // never compared, and the array does not leave this package
    record Image(byte[] pixels, int label) {}

    /** Images to learn from and others to be judged by. */
    public record Split(ImageSet train, ImageSet test) {}

    ImageSet(List<String> classes, List<Image> images) {
        this.classes = List.copyOf(classes);
        this.images = List.copyOf(images);
    }

    public int size() {
        return images.size();
    }

    public List<String> classes() {
        return classes;
    }

    /** The class of image {@code index}, as an index into {@link #classes()}. */
    public int label(int index) {
        return images.get(index).label();
    }

    byte[] pixels(int index) {
        return images.get(index).pixels();
    }

    /** How many images each class has, in the order of {@link #classes()}. */
    public int[] counts() {
        int[] counts = new int[classes.size()];
        for (Image image : images) {
            counts[image.label()]++;
        }
        return counts;
    }

    /**
     * Shuffles and cuts: the same seed gives the same split.
     *
     * @param testShare the part to keep for the test, between 0 and 1
     */
    public Split split(double testShare, long seed) {
        if (!(testShare > 0 && testShare < 1)) {
            throw new IllegalArgumentException("testShare=" + testShare + ", expected between 0 and 1");
        }
        List<Image> shuffled = new ArrayList<>(images);
        Collections.shuffle(shuffled, new Random(seed));
        int test = (int) Math.round(shuffled.size() * testShare);
        return new Split(
                new ImageSet(classes, shuffled.subList(test, shuffled.size())),
                new ImageSet(classes, shuffled.subList(0, test)));
    }
}
