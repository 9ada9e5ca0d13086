package io.kagami.mirror.core;

import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.util.ArrayList;
import java.util.List;

/** Include and exclude patterns over topic names: full matches, in time linear in the name; exclude wins. */
public final class TopicSelector {
    /** Matches internal topics. */
    public static final String EXCLUDE_DEFAULT = "__.*";
    /** Stands for every topic that is not excluded. */
    public static final String ALL = "all";
    /** Longest pattern accepted; RE2 programs grow with it. */
    public static final int PATTERN_CHARS_MAX = 1000;

    private final List<Pattern> include;
    private final List<Pattern> exclude;

    private TopicSelector(List<Pattern> include, List<Pattern> exclude) {
        this.include = include;
        this.exclude = exclude;
    }

    /** @throws IllegalArgumentException that names the pattern and what is wrong with it */
    public static TopicSelector of(List<String> include, List<String> exclude) {
        return new TopicSelector(compile(include), compile(exclude));
    }

    /** Included and not excluded. */
    public boolean matches(String topic) {
        return excludedBy(topic) == null && includes(topic);
    }

    public boolean includes(String topic) {
        for (Pattern pattern : include) {
            if (pattern.matches(topic)) {
                return true;
            }
        }
        return false;
    }

    /** The exclude pattern that matches, or null. */
    public String excludedBy(String topic) {
        for (Pattern pattern : exclude) {
            if (pattern.matches(topic)) {
                return pattern.pattern();
            }
        }
        return null;
    }

    /** Whether a word of a command can only be a topic name: no character that Kafka forbids in names. */
    public static boolean plainName(String word) {
        if (word.isEmpty() || word.length() > 249) {
            return false;
        }
        for (int i = 0; i < word.length(); i++) {
            char c = word.charAt(i);
            boolean legal = (c >= 'a' && c <= 'z')
                    || (c >= 'A' && c <= 'Z')
                    || (c >= '0' && c <= '9')
                    || c == '.'
                    || c == '_'
                    || c == '-';
            if (!legal) {
                return false;
            }
        }
        return !word.equals(".") && !word.equals("..");
    }

    private static List<Pattern> compile(List<String> patterns) {
        List<Pattern> compiled = new ArrayList<>();
        for (String pattern : patterns) {
            if (pattern.length() > PATTERN_CHARS_MAX) {
                throw new IllegalArgumentException("a pattern of " + pattern.length()
                        + " characters is longer than the " + PATTERN_CHARS_MAX + " allowed");
            }
            try {
                compiled.add(Pattern.compile(pattern.equals(ALL) ? ".*" : pattern));
            } catch (PatternSyntaxException e) {
                throw new IllegalArgumentException("bad pattern \"" + pattern + "\": " + e.getMessage(), e);
            }
        }
        return List.copyOf(compiled);
    }
}
