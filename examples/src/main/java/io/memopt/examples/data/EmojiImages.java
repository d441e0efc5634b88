// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0
package io.memopt.examples.data;

import java.awt.image.BufferedImage;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import javax.imageio.ImageIO;

/**
 * 1,906 emoji in nine classes (animals, flags, food, ...), drawn for Noto Emoji and shipped with the examples: small
 * enough for a repository, hard enough that a network has something to learn. See {@code NOTICE.md} beside the files.
 */
public final class EmojiImages {
    private static final int COLUMNS = 44;

    private static final List<String> CLASSES = List.of(
            "Smileys & Emotion",
            "People & Body",
            "Animals & Nature",
            "Food & Drink",
            "Travel & Places",
            "Activities",
            "Objects",
            "Symbols",
            "Flags");

    private EmojiImages() {}

    /** All images, in the order of the sheet. */
    public static ImageSet load() throws IOException {
        BufferedImage sheet;
        try (InputStream in = Resources.open("emoji/sheet.png")) {
            sheet = ImageIO.read(in);
        }
        if (sheet == null) {
            throw new IOException("emoji/sheet.png is not an image that this Java can read");
        }
        try (BufferedReader index =
                new BufferedReader(new InputStreamReader(Resources.open("emoji/index.csv"), StandardCharsets.UTF_8))) {
            List<ImageSet.Image> images = new ArrayList<>();
            index.readLine(); // the heading
            for (String line = index.readLine(); line != null; line = index.readLine()) {
                images.add(image(sheet, line));
            }
            return new ImageSet(CLASSES, images);
        }
    }

    private static ImageSet.Image image(BufferedImage sheet, String line) throws IOException {
        List<String> fields = List.of(line.split(",", 3));
        int label = fields.size() == 3 ? CLASSES.indexOf(fields.get(1)) : -1;
        if (label < 0) {
            throw new IOException(
                    "emoji/index.csv: \"" + line + "\" is not cell,class,name with a class of " + CLASSES);
        }
        int cell;
        try {
            cell = Integer.parseInt(fields.get(0));
        } catch (NumberFormatException e) {
            throw new IOException("emoji/index.csv: cell is no number in \"" + line + "\"", e);
        }
        int x = cell % COLUMNS * ImageSet.SIDE;
        int y = cell / COLUMNS * ImageSet.SIDE;
        if (cell < 0 || x + ImageSet.SIDE > sheet.getWidth() || y + ImageSet.SIDE > sheet.getHeight()) {
            throw new IOException("emoji/index.csv: cell " + cell + " lies outside the sheet of " + sheet.getWidth()
                    + "x" + sheet.getHeight() + " pixels");
        }
        return new ImageSet.Image(
                planes(sheet.getRGB(x, y, ImageSet.SIDE, ImageSet.SIDE, null, 0, ImageSet.SIDE)), label);
    }

    private static byte[] planes(int[] rgb) {
        byte[] pixels = new byte[ImageSet.BYTES];
        for (int i = 0; i < rgb.length; i++) {
            pixels[i] = (byte) (rgb[i] >> 16);
            pixels[rgb.length + i] = (byte) (rgb[i] >> 8);
            pixels[2 * rgb.length + i] = (byte) rgb[i];
        }
        return pixels;
    }
}
