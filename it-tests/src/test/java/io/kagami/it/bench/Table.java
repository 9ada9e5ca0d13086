package io.kagami.it.bench;

import java.util.List;

/** Lines of cells as a Markdown table whose columns stand below each other. */
final class Table {
    private Table() {}

    /** @param lines the first is the head; all have the same number of cells */
    static String of(List<List<String>> lines) {
        int columns = lines.get(0).size();
        int[] widths = new int[columns];
        for (List<String> line : lines) {
            for (int c = 0; c < columns; c++) {
                widths[c] = Math.max(widths[c], line.get(c).length());
            }
        }
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < lines.size(); i++) {
            for (int c = 0; c < columns; c++) {
                String cell = lines.get(i).get(c);
                out.append("| ").append(cell).append(" ".repeat(widths[c] - cell.length() + 1));
            }
            out.append("|\n");
            if (i == 0) {
                for (int width : widths) {
                    out.append('|').append("-".repeat(width + 2));
                }
                out.append("|\n");
            }
        }
        return out.toString();
    }
}
