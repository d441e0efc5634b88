// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;

/**
 * Turns images into batches: features {@code [miniBatch, 3, 32, 32]} from -1 (dark) to 1, labels
 * {@code [miniBatch, classes]} one-hot.
 */
public final class ImageBatches extends Batches {
    private static final long serialVersionUID = 1L;
    private static final int SHIFT = 2;

    private final transient ImageSet images;
    private final transient @Nullable Random random;
    private final int[] order;

    private ImageBatches(ImageSet images, int batch, @Nullable Random random) {
        super(batch);
        this.images = images;
        this.random = random;
        this.order = Shuffle.identity(images.size());
        startEpoch();
    }

    /**
     * Batches to learn from: shuffled anew each epoch, every image mirrored or not and moved by up to two pixels, and a
     * last batch that would be smaller left out. The same seed gives the same batches.
     */
    public static ImageBatches training(ImageSet images, int batch, long seed) {
        if (images.size() < batch) {
            throw new IllegalArgumentException(
                    "batch=" + batch + ", expected at most the " + images.size() + " training images");
        }
        return new ImageBatches(images, batch, new Random(seed));
    }

    /** Batches to judge by: all images as they are, in order. */
    public static ImageBatches evaluation(ImageSet images, int batch) {
        return new ImageBatches(images, batch, null);
    }

    @Override
    public int count() {
        return random == null ? (order.length + batch() - 1) / batch() : order.length / batch();
    }

    @Override
    void startEpoch() {
        if (random != null) {
            Shuffle.shuffle(order, random);
        }
    }

    @Override
    DataSet make(int index) {
        int from = index * batch();
        int size = Math.min(batch(), order.length - from);
        float[] features = new float[size * ImageSet.BYTES];
        float[] labels = new float[size * totalOutcomes()];
        for (int i = 0; i < size; i++) {
            int image = order[from + i];
            decode(images.pixels(image), features, i * ImageSet.BYTES);
            labels[i * totalOutcomes() + images.label(image)] = 1;
        }
        return new DataSet(
                Nd4j.create(features, new int[] {size, ImageSet.CHANNELS, ImageSet.SIDE, ImageSet.SIDE}, 'c'),
                Nd4j.create(labels, new int[] {size, totalOutcomes()}, 'c'));
    }

    /** Pixels pushed out on one side come back as copies of the edge on the other. */
    private void decode(byte[] pixels, float[] into, int offset) {
        boolean mirror = random != null && random.nextBoolean();
        int dx = random == null ? 0 : random.nextInt(2 * SHIFT + 1) - SHIFT;
        int dy = random == null ? 0 : random.nextInt(2 * SHIFT + 1) - SHIFT;
        int at = offset;
        for (int channel = 0; channel < ImageSet.CHANNELS; channel++) {
            for (int y = 0; y < ImageSet.SIDE; y++) {
                int row = (channel * ImageSet.SIDE + clamp(y + dy)) * ImageSet.SIDE;
                for (int x = 0; x < ImageSet.SIDE; x++) {
                    int column = clamp(x + dx);
                    int pixel = pixels[row + (mirror ? ImageSet.SIDE - 1 - column : column)] & 0xff;
                    into[at++] = pixel / 127.5f - 1;
                }
            }
        }
    }

    private static int clamp(int position) {
        return Math.max(0, Math.min(ImageSet.SIDE - 1, position));
    }

    @Override
    public int inputColumns() {
        return ImageSet.BYTES;
    }

    @Override
    public int totalOutcomes() {
        return images.classes().size();
    }

    @Override
    public List<String> getLabels() {
        return images.classes();
    }
}
