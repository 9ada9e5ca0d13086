package io.kagami.broker;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ConfigTableTest {
    @Test
    void theReadmeShowsEveryKeyWithItsDefault() throws IOException {
        StringBuilder table = new StringBuilder("| key | default | meaning |\n|---|---|---|\n");
        for (ConfigKey each : ConfigKey.values()) {
            String fallback = each.fallback().isEmpty() ? "" : "`" + each.fallback() + "`";
            table.append("| `" + each.key() + "` | " + fallback + " | " + each.doc() + " |\n");
        }
        assertThat(Files.readString(Path.of("..", "README.md"))).contains(table);
    }
}
