package io.kagami.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.mirror.core.FetchPlan;
import io.kagami.mirror.ports.LocalCluster.Refused;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MirrorConfigTest {
    private static MirrorConfig with(String... pairs) {
        Map<String, String> configs = new HashMap<>();
        configs.put("bootstrap.servers", "a:1,b:65535");
        for (int i = 0; i < pairs.length; i += 2) {
            configs.put(pairs[i], pairs[i + 1]);
        }
        return MirrorConfig.parse(configs);
    }

    @Test
    void theDefaultsAreTheDocumentedOnes() {
        MirrorConfig config = with();
        assertThat(config.bootstrapServers()).containsExactly("a:1", "b:65535");
        assertThat(config.fetch()).isEqualTo(new FetchPlan.Limits(1000, 1, 10_485_760, 1_048_576));
        assertThat(config.fetchBackoffMs()).isEqualTo(1000);
        assertThat(config.requestTimeoutMs()).isEqualTo(30_000);
        assertThat(config.receiveBufferBytes()).isEqualTo(-1);
        assertThat(config.discovery()).isNull();
        assertThat(config.exclude().excludedBy("__consumer_offsets")).isEqualTo("__.*");
        assertThat(config.haltOnRetentionGap()).isFalse();
        assertThat(config.propertiesExclude()).contains("min.insync.replicas").hasSize(10);
    }

    @ParameterizedTest
    @CsvSource({
        "no.such.key, 1",
        "fetch.max.bytes, many",
        "fetch.max.bytes, 0",
        "fetch.wait.max.ms, -1",
        "request.timeout.ms, 1000",
        "retention.gap.policy, maybe",
        "topics.include, a(",
        "security.protocol, SSL",
        "bootstrap.servers, nowhere",
        "bootstrap.servers, host:0",
        "bootstrap.servers, host:x",
        "bootstrap.servers, ''",
    })
    void aBadKeyOrValueIsRefusedByName(String key, String value) {
        assertThatThrownBy(() -> with(key, value))
                .isInstanceOfSatisfying(Refused.class, refused -> assertThat(refused.errorCode())
                        .isEqualTo(Errors.INVALID_CONFIG.code()))
                .hasMessageContaining(key);
    }

    @Test
    void credentialsAreRefusedWithoutRepeatingThem() {
        assertThatThrownBy(() -> with("sasl.jaas.config", "user=\"u\" password=\"hunter2\""))
                .hasMessageContaining("sasl.jaas.config")
                .hasMessageContaining("not supported yet")
                .hasMessageNotContaining("hunter2");
    }

    @Test
    void keysWithoutEffectAreNamed() {
        assertThat(with("groups.include", "g.*", "acls.include", "*", "fetch.min.bytes", "5")
                        .withoutEffect())
                .containsExactly("acls.include", "groups.include");
    }

    @Test
    void aBudgetGrantsWhatIsFreeAndWakesWhoWaits() {
        FlightBudget budget = new FlightBudget(100);
        int[] woken = new int[1];
        assertThat(budget.take(10, 60, () -> {})).isEqualTo(60);
        assertThat(budget.take(10, 60, () -> {})).isEqualTo(40);
        assertThat(budget.take(10, 60, () -> woken[0]++)).isZero();
        budget.give(40);
        assertThat(woken[0]).isEqualTo(1);
        budget.takeMore(500);
        budget.give(560);
        assertThat(budget.used()).isZero();
        // more than there is, when nothing else is in flight
        assertThat(budget.take(1000, 1000, () -> {})).isEqualTo(1000);
    }
}
