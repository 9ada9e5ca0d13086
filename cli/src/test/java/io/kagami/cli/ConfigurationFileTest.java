package io.kagami.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The commented configuration of the distribution says what is so. */
class ConfigurationFileTest {
    private static final Pattern KEY = Pattern.compile("(#?)([a-z][a-z.]*[a-z])=(.*)");

    @Test
    void everyKeyIsKnownAndEveryCommentedValueIsTheDefault() throws Exception {
        Map<String, String> defaults = defaults();
        int keys = 0;
        for (String line : Files.readAllLines(Path.of("conf", "kagami.properties"))) {
            Matcher match = KEY.matcher(line);
            if (match.matches()) {
                keys++;
                assertThat(defaults).containsKey(match.group(2));
                if (!match.group(1).isEmpty()) {
                    assertThat(match.group(3)).as(line).isEqualTo(defaults.get(match.group(2)));
                }
            } else {
                assertThat(line).matches("(# .*)?");
            }
        }
        assertThat(keys).isGreaterThan(20);
    }

    /** The shell does not know the broker; its table of keys is looked at from outside. */
    private static Map<String, String> defaults() throws ReflectiveOperationException {
        Class<?> table = Class.forName("io.kagami.broker.ConfigKey");
        Method key = table.getDeclaredMethod("key");
        Method fallback = table.getDeclaredMethod("fallback");
        key.setAccessible(true);
        fallback.setAccessible(true);
        Map<String, String> defaults = new HashMap<>();
        for (Object constant : table.getEnumConstants()) {
            defaults.put((String) key.invoke(constant), (String) fallback.invoke(constant));
        }
        return defaults;
    }
}
