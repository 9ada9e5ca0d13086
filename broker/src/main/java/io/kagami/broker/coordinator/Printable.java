package io.kagami.broker.coordinator;

/** Names that clients choose, made harmless for a log line. */
final class Printable {
    private static final int CHARACTERS_MAX = 256;

    private Printable() {}

    /** Control characters, line separators and lone surrogates are escaped, the rest is cut at 256 characters. */
    static String of(String name) {
        StringBuilder out = new StringBuilder();
        int end = Math.min(name.length(), CHARACTERS_MAX);
        for (int i = 0; i < end; i++) {
            char c = name.charAt(i);
            boolean harmless = !Character.isISOControl(c)
                    && c != '\u2028'
                    && c != '\u2029'
                    && c != '\\'
                    && Character.getType(c) != Character.FORMAT
                    && !Character.isSurrogate(c);
            if (harmless) {
                out.append(c);
            } else {
                out.append(String.format("\\u%04x", (int) c));
            }
        }
        return end < name.length() ? out.append("...").toString() : out.toString();
    }
}
