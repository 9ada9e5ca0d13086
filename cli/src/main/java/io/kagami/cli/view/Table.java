package io.kagami.cli.view;

import java.util.ArrayList;
import java.util.List;

/** Rows under headings; columns are as wide as their widest cell, numbers stand to the right. */
public final class Table {
    private static final String GAP = "  ";

    private final List<String> headings;
    private final List<List<String>> rows = new ArrayList<>();

    public Table(String... headings) {
        this.headings = List.of(headings);
    }

    public Table row(Object... cells) {
        if (cells.length != headings.size()) {
            throw new IllegalArgumentException(cells.length + " cells under " + headings.size() + " headings");
        }
        List<String> row = new ArrayList<>();
        for (Object cell : cells) {
            row.add(String.valueOf(cell));
        }
        rows.add(row);
        return this;
    }

    public int size() {
        return rows.size();
    }

    /** Heading line first; no line ends in a space. */
    public List<String> lines() {
        int[] widths = new int[headings.size()];
        boolean[] right = new boolean[headings.size()];
        for (int column = 0; column < widths.length; column++) {
            int at = column;
            widths[column] = headings.get(column).length();
            right[column] = !rows.isEmpty() && rows.stream().allMatch(row -> isNumber(row.get(at)));
            for (List<String> row : rows) {
                widths[column] = Math.max(widths[column], row.get(column).length());
            }
        }
        List<String> lines = new ArrayList<>();
        lines.add(line(headings, widths, right));
        rows.forEach(row -> lines.add(line(row, widths, right)));
        return lines;
    }

    private static String line(List<String> cells, int[] widths, boolean[] right) {
        StringBuilder line = new StringBuilder();
        for (int column = 0; column < widths.length; column++) {
            String pad = " ".repeat(widths[column] - cells.get(column).length());
            line.append(column == 0 ? "" : GAP);
            line.append(right[column] ? pad + cells.get(column) : cells.get(column) + pad);
        }
        return line.toString().stripTrailing();
    }

    /** Also true for what stands in for a number: {@code -} and {@code ?}; and for a number with a unit behind it. */
    private static boolean isNumber(String cell) {
        return cell.matches("[-?]|-?[0-9][0-9,.]*( ?[A-Za-z%][A-Za-z/]*)?");
    }
}
