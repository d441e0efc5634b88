// SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
// SPDX-License-Identifier: Apache-2.0

import java.awt.Color;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.awt.image.IndexColorModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.imageio.ImageIO;

/**
 * Cuts the chosen cells out of an emoji-datasource sheet and packs them, on white and without gaps, into a smaller
 * one. Run by prepare.sh as {@code java EmojiSheet.java SHEET CELLS OUT_PNG OUT_CSV}; each line of CELLS is
 * {@code sheetX,sheetY,class,name}.
 */
final class EmojiSheet {
    private static final int SIDE = 32;
    /** Each cell of the source has a transparent border of one pixel. */
    private static final int PITCH = SIDE + 2;

    private static final int COLUMNS = 44;

    public static void main(String[] args) throws IOException {
        BufferedImage source = ImageIO.read(Path.of(args[0]).toFile());
        List<String> cells = Files.readAllLines(Path.of(args[1]));
        int rows = (cells.size() + COLUMNS - 1) / COLUMNS;
        BufferedImage packed = new BufferedImage(COLUMNS * SIDE, rows * SIDE, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = packed.createGraphics();
        graphics.setColor(Color.WHITE);
        graphics.fillRect(0, 0, packed.getWidth(), packed.getHeight());
        List<String> index = new ArrayList<>(List.of("cell,class,name"));
        for (int cell = 0; cell < cells.size(); cell++) {
            String[] fields = cells.get(cell).split(",");
            int x = Integer.parseInt(fields[0]) * PITCH + 1;
            int y = Integer.parseInt(fields[1]) * PITCH + 1;
            graphics.drawImage(
                    source.getSubimage(x, y, SIDE, SIDE),
                    cell % COLUMNS * SIDE,
                    cell / COLUMNS * SIDE,
                    null);
            index.add(cell + "," + fields[2] + "," + fields[3]);
        }
        ImageIO.write(indexed(packed), "png", Path.of(args[2]).toFile());
        Files.writeString(Path.of(args[3]), String.join("\n", index) + "\n");
    }

    /** The source has 256 colours, so has the packed sheet: no colour is changed. */
    private static BufferedImage indexed(BufferedImage image) {
        Map<Integer, Integer> palette = new HashMap<>();
        byte[] indices = new byte[image.getWidth() * image.getHeight()];
        int[] pixels = image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, image.getWidth());
        byte[] red = new byte[256];
        byte[] green = new byte[256];
        byte[] blue = new byte[256];
        for (int i = 0; i < pixels.length; i++) {
            int rgb = pixels[i];
            int next = palette.size();
            int at = palette.computeIfAbsent(rgb, unused -> next);
            if (at > 255) {
                throw new IllegalStateException("the sheet has more than 256 colours");
            }
            red[at] = (byte) (rgb >> 16);
            green[at] = (byte) (rgb >> 8);
            blue[at] = (byte) rgb;
            indices[i] = (byte) at;
        }
        BufferedImage result = new BufferedImage(
                image.getWidth(),
                image.getHeight(),
                BufferedImage.TYPE_BYTE_INDEXED,
                new IndexColorModel(8, 256, red, green, blue));
        result.getRaster().setDataElements(0, 0, image.getWidth(), image.getHeight(), indices);
        return result;
    }
}
