package io.kagami.it;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Assumptions;

/**
 * A real Apache Kafka cluster to mirror from. Two kinds exist: child JVMs from Kafka's published jars (default), and containers
 * ({@code -Dkagami.source=container}). Nodes are numbered from 1.
 */
interface SourceKafka extends AutoCloseable {
    /**
     * What to start.
     *
     * @param props into every broker's properties
     */
    record Spec(String version, int brokers, Map<String, String> props, String heap) {
        static Spec of(String version) {
            return new Spec(version, 1, Map.of(), "512m");
        }
    }

    /** Starts the kind that {@code kagami.source} names; skips the calling test, loudly, when that kind cannot run here. */
    static SourceKafka start(String name, Spec spec) {
        String kind = System.getProperty("kagami.source", "forked");
        return switch (kind) {
            case "forked" -> new ForkedSource(name, spec);
            case "container" -> {
                String why = ContainerSource.whyNot(spec);
                if (why != null) {
                    Announce.skipped(name + " with Kafka " + spec.version(), why);
                    Assumptions.abort(why);
                }
                yield new ContainerSource(spec);
            }
            default ->
                throw new IllegalArgumentException("kagami.source is " + kind + "; it can be forked or container");
        };
    }

    String version();

    /** host:port of every broker, separated by commas. */
    String bootstrap();

    int brokers();

    /** Clean shutdown of one node. */
    void stop(int node);

    /** Ends a node at once. */
    void kill(int node);

    /** Starts a stopped or killed node again on its data and address. */
    void resume(int node);

    /** Runs a command-line tool of this Kafka version by its main class; returns its exit code. */
    int runTool(String mainClass, List<String> args, Path stdout);

    @Override
    void close();
}
