package io.kagami.it;

import java.util.Map;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * Gives test classes the source that they share: one broker of the newest Kafka, started at the first use and stopped after the
 * last class. Whoever needs a cluster of another shape starts it with {@link SourceKafka#start} and closes it.
 */
final class Sources implements ParameterResolver {
    /** The newest Kafka; the shared source runs it. */
    static final String NEWEST = "4.4.0";

    private static final ExtensionContext.Namespace NAMESPACE = ExtensionContext.Namespace.create(Sources.class);

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        return parameter.getParameter().getType() == SourceKafka.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        return shared(context);
    }

    static SourceKafka shared(ExtensionContext context) {
        return context.getRoot()
                .getStore(NAMESPACE)
                .getOrComputeIfAbsent(
                        "shared",
                        key -> SourceKafka.start(
                                "shared",
                                new SourceKafka.Spec(
                                        NEWEST,
                                        1,
                                        Map.of(
                                                "message.max.bytes", "33554432",
                                                "log.cleaner.backoff.ms", "500",
                                                "log.cleaner.min.cleanable.ratio", "0.01",
                                                // records of tests have timestamps of long ago
                                                "log.retention.ms", "-1",
                                                "auto.create.topics.enable", "false"),
                                        "768m")),
                        SourceKafka.class);
    }
}
