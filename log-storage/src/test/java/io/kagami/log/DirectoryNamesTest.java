package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.CharRange;
import net.jqwik.api.constraints.Chars;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.StringLength;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class DirectoryNamesTest {
    @Property(tries = 500)
    void kafka5232_everyLegalNameComesBack(
            @ForAll
                    @StringLength(min = 1, max = 249)
                    @CharRange(from = 'a', to = 'f')
                    @CharRange(from = '0', to = '2')
                    @Chars({'.', '_', '-'})
                    String topic,
            @ForAll @IntRange(min = 0) int partition) {
        LogName name = new LogName(topic, partition);
        assertThat(DirectoryNames.parse(name.toString())).contains(name);
        String deleted = DirectoryNames.deleted(name);
        assertThat(deleted.length()).isLessThanOrEqualTo(255);
        assertThat(DirectoryNames.parse(deleted)).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"t", "-1", "t-", "t-x", "t-01", "t--", "t-2147483648", "t-99999999999", "t-0.abc-delete"})
    void otherNamesAreNoLogs(String name) {
        assertThat(DirectoryNames.parse(name)).isEmpty();
    }
}
