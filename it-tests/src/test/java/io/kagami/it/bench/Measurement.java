package io.kagami.it.bench;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What one run of one system gave. One line of JSON in the results file.
 *
 * @param run counted from 1
 * @param figures by name; a name ends in its unit
 */
record Measurement(String row, String system, int run, Map<String, Double> figures) {
    private static final Pattern LINE =
            Pattern.compile("\\{\"row\":\"([^\"]+)\",\"system\":\"([^\"]+)\",\"run\":(\\d+),\"figures\":\\{([^}]*)}}");
    private static final Pattern FIGURE = Pattern.compile("\"([^\"]+)\":(-?[0-9.]+(?:E-?\\d+)?)(?:,|$)");

    /** @throws IllegalArgumentException when a figure is not a number: such a run is not finished */
    Measurement {
        figures.forEach((name, value) -> {
            if (value.isNaN() || value.isInfinite()) {
                throw new IllegalArgumentException(row + ", " + system + ", run " + run + ": " + name + " is " + value);
            }
        });
        figures = new LinkedHashMap<>(figures);
    }

    boolean is(String otherRow, String otherSystem, int otherRun) {
        return row.equals(otherRow) && system.equals(otherSystem) && run == otherRun;
    }

    String json() {
        StringBuilder out = new StringBuilder("{\"row\":\"" + row + "\",\"system\":\"" + system + "\",\"run\":" + run);
        out.append(",\"figures\":{");
        String comma = "";
        for (Map.Entry<String, Double> figure : figures.entrySet()) {
            out.append(comma).append('"').append(figure.getKey()).append("\":").append(figure.getValue());
            comma = ",";
        }
        return out.append("}}").toString();
    }

    /** The measurement of a line, or null when the line is not whole: the program was stopped while it wrote. */
    static Measurement parse(String line) {
        Matcher whole = LINE.matcher(line.strip());
        if (!whole.matches()) {
            return null;
        }
        Map<String, Double> figures = new LinkedHashMap<>();
        Matcher figure = FIGURE.matcher(whole.group(4));
        while (figure.find()) {
            figures.put(figure.group(1), Double.valueOf(figure.group(2)));
        }
        return new Measurement(whole.group(1), whole.group(2), Integer.parseInt(whole.group(3)), figures);
    }
}
