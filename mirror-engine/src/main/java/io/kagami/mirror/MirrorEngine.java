package io.kagami.mirror;

import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.TopicResult;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/**
 * Facade of the engine; thread-safe, nothing blocks. The broker calls {@link #apply} after every metadata change that touches mirrors.
 */
public interface MirrorEngine extends AutoCloseable {
    /** Checks a configuration without contacting anyone; throws {@link io.kagami.mirror.ports.LocalCluster.Refused} that names key and reason. */
    void check(String mirror, Map<String, String> configs);

    /** The set of mirrors that should exist now; starts, re-configures and ends mirror loops. Topics and desired states are re-read through the port. */
    void apply(Collection<MirrorSpec> mirrors);

    /** Resolves names, patterns or {@code all} at the source and creates or re-starts the topics here. */
    CompletionStage<List<TopicResult>> start(String mirror, List<String> topics, List<String> exclude);

    CompletionStage<List<TopicResult>> pause(String mirror, List<String> topics, List<String> exclude);

    CompletionStage<List<TopicResult>> resume(String mirror, List<String> topics, List<String> exclude);

    /** Completes when every partition of the matched topics is STOPPED and writable. */
    CompletionStage<List<TopicResult>> stop(String mirror, List<String> topics, List<String> exclude);

    CompletionStage<MirrorDescription> describe(String mirror);

    @Override
    void close();
}
