package io.kagami.cli.view;

import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Writes maps, lists, strings, numbers, booleans and nulls as JSON, two spaces deep, keys in the map's order. */
public final class Json {
    private Json() {}

    public static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value, 0);
        return out.toString();
    }

    /** A number, or null in place of the -1 that means unknown: an unknown lag must never look like a small one. */
    public static Long known(long number) {
        return number < 0 ? null : Long.valueOf(number);
    }

    private static void write(StringBuilder out, Object value, int depth) {
        if (value instanceof Map<?, ?> map) {
            writeMap(out, map, depth);
        } else if (value instanceof List<?> list) {
            writeList(out, list, depth);
        } else if (value == null || value instanceof Boolean || value instanceof Number) {
            out.append(value);
        } else {
            writeString(out, value.toString());
        }
    }

    private static void writeMap(StringBuilder out, Map<?, ?> map, int depth) {
        if (map.isEmpty()) {
            out.append("{}");
            return;
        }
        out.append('{');
        for (Iterator<? extends Map.Entry<?, ?>> it = map.entrySet().iterator(); it.hasNext(); ) {
            Map.Entry<?, ?> entry = it.next();
            newLine(out, depth + 1);
            writeString(out, entry.getKey().toString());
            out.append(": ");
            write(out, entry.getValue(), depth + 1);
            out.append(it.hasNext() ? "," : "");
        }
        newLine(out, depth);
        out.append('}');
    }

    private static void writeList(StringBuilder out, List<?> list, int depth) {
        if (list.isEmpty()) {
            out.append("[]");
            return;
        }
        out.append('[');
        for (Iterator<?> it = list.iterator(); it.hasNext(); ) {
            newLine(out, depth + 1);
            write(out, it.next(), depth + 1);
            out.append(it.hasNext() ? "," : "");
        }
        newLine(out, depth);
        out.append(']');
    }

    private static void newLine(StringBuilder out, int depth) {
        out.append('\n').append("  ".repeat(depth));
    }

    private static void writeString(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ' || (Character.isSurrogate(c) && !paired(text, i))) {
                        out.append(String.format("\\u%04x", (int) c));
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }

    private static boolean paired(String text, int i) {
        char c = text.charAt(i);
        return Character.isHighSurrogate(c)
                ? i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))
                : i > 0 && Character.isHighSurrogate(text.charAt(i - 1));
    }
}
