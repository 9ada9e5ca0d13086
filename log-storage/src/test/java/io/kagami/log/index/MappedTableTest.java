package io.kagami.log.index;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MappedTableTest {
    private static final int ENTRIES_MAX = (10 << 20) / 12;

    @TempDir
    Path directory;

    private MappedTable open(boolean growing) throws IOException {
        return MappedTable.open(new FileDisk(), directory.resolve("table"), 12, ENTRIES_MAX, growing);
    }

    private static void append(MappedTable table, int from, int to) throws IOException {
        for (int i = from; i < to; i++) {
            table.prepare();
            table.putLong(0, i + 1);
            table.putInt(8, i);
            table.publish();
        }
    }

    /** Looking for it through the mapping takes pages, which a full disk answers with a signal. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 2, 341, 342, 5_000})
    void theHoleBehindTheEntriesOfATableThatWasNotTrimmedIsNotReadAsEntries(int entries) throws IOException {
        MappedTable table = open(true);
        append(table, 0, entries);
        table.close(); // as a kill leaves it
        assertThat(Files.size(directory.resolve("table"))).isGreaterThanOrEqualTo(entries == 0 ? 0 : 12L * ENTRIES_MAX);
        try (MappedTable again = open(false)) {
            assertThat(again.count()).isEqualTo(entries);
        }
        try (MappedTable again = open(true)) {
            assertThat(again.count()).isEqualTo(entries);
            append(again, entries, entries + 1_000);
            for (int i = 0; i < entries + 1_000; i++) {
                assertThat(again.readLong(i, 0)).isEqualTo(i + 1);
                assertThat(again.readInt(i, 8)).isEqualTo(i);
            }
            again.trim();
        }
        assertThat(Files.size(directory.resolve("table"))).isEqualTo(12L * (entries + 1_000));
    }
}
