package io.kagami.broker;

import java.io.IOException;
import java.io.StringReader;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/** A properties file that remembers where each key was written, so that a complaint can name the line. */
final class PropertyLines {
    /** @param where {@code file:line}, or the command line */
    record Entry(String value, String where) {}

    private final Map<String, Entry> entries = new LinkedHashMap<>();

    Map<String, Entry> entries() {
        return entries;
    }

    static PropertyLines read(Path file) {
        List<String> lines;
        try {
            lines = Files.readAllLines(file);
        } catch (NoSuchFileException e) {
            throw new ConfigFault("configuration file " + file + " does not exist", e);
        } catch (CharacterCodingException e) {
            throw new ConfigFault("configuration file " + file + " is not UTF-8 text", e);
        } catch (IOException e) {
            throw new ConfigFault("configuration file " + file + " cannot be read: " + e, e);
        }
        return parse(lines, file.toString());
    }

    /** Syntax of {@link Properties}: comments with # or !, a backslash at the end continues a line. */
    static PropertyLines parse(List<String> lines, String name) {
        PropertyLines result = new PropertyLines();
        for (int i = 0; i < lines.size(); i++) {
            int first = i + 1;
            String line = lines.get(i).stripLeading();
            if (line.isEmpty() || line.charAt(0) == '#' || line.charAt(0) == '!') {
                continue;
            }
            List<String> logical = new ArrayList<>();
            logical.add(line);
            while (continues(line) && i + 1 < lines.size()) {
                i++;
                line = lines.get(i);
                logical.add(line);
            }
            result.addLine(String.join("\n", logical), name + ":" + first);
        }
        return result;
    }

    /** {@code key=value} of the command line; replaces what the file says. */
    void override(String assignment) {
        int at = assignment.indexOf('=');
        if (at <= 0) {
            throw new ConfigFault("--override needs key=value, not \"" + assignment + "\"");
        }
        entries.put(
                assignment.substring(0, at).strip(),
                new Entry(assignment.substring(at + 1).strip(), "--override"));
    }

    private void addLine(String logical, String where) {
        Properties one = new Properties();
        try {
            one.load(new StringReader(logical));
        } catch (IOException | IllegalArgumentException e) {
            throw new ConfigFault(where + ": not a line of a properties file: " + e.getMessage(), e);
        }
        for (String key : one.stringPropertyNames()) {
            Entry before = entries.put(key, new Entry(one.getProperty(key).strip(), where));
            if (before != null) {
                throw new ConfigFault(where + ": " + key + " is set a second time; the first is at " + before.where());
            }
        }
    }

    private static boolean continues(String line) {
        int slashes = 0;
        for (int i = line.length() - 1; i >= 0 && line.charAt(i) == '\\'; i--) {
            slashes++;
        }
        return slashes % 2 == 1;
    }
}
