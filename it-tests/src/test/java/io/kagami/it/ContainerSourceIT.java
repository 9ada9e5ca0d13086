package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** The second kind of source is alive; without a container engine this is skipped, counted and printed. */
class ContainerSourceIT {
    @Test
    void aSourceInAContainerCanBeFilledAndRead() {
        SourceKafka.Spec spec = SourceKafka.Spec.of(Sources.NEWEST);
        String why = ContainerSource.whyNot(spec);
        if (why != null) {
            Announce.skipped("a source in a container", why);
        }
        Assumptions.assumeTrue(why == null, why);
        try (SourceKafka source = new ContainerSource(spec)) {
            Fill.create(source.bootstrap(), "contained", 1, Map.of());
            Fill.everyKindOfBatch(source.bootstrap(), "contained", 1, new Random(9));
            assertThat(Reading.all(source.bootstrap(), "contained", "read_committed"))
                    .hasSize(221);
        }
    }
}
