package io.kagami.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.Container;
import org.testcontainers.kafka.KafkaContainer;

/** The second kind of source: Apache Kafka's own image. One broker; versions from 3.7 on, older ones have no such image. */
final class ContainerSource implements SourceKafka {
    private static final Map<String, String> TOOLS = Map.of(
            "org.apache.kafka.tools.DumpLogSegments", "kafka-dump-log.sh",
            "org.apache.kafka.tools.consumer.ConsoleConsumer", "kafka-console-consumer.sh");

    private final Spec spec;
    private final KafkaContainer container;

    ContainerSource(Spec spec) {
        this.spec = spec;
        this.container = new KafkaContainer("apache/kafka:" + spec.version());
        container.withEnv("KAFKA_HEAP_OPTS", "-Xmx" + spec.heap());
        spec.props()
                .forEach((key, value) ->
                        container.withEnv("KAFKA_" + key.replace('.', '_').toUpperCase(java.util.Locale.ROOT), value));
        container.start();
    }

    /** Null when this kind can run that source here, else the reason as a sentence. */
    static String whyNot(Spec spec) {
        if (spec.version().startsWith("2.")) {
            return "Kafka " + spec.version() + " has no official image";
        }
        if (spec.brokers() > 1) {
            return "container sources have one broker";
        }
        return DockerClientFactory.instance().isDockerAvailable()
                ? null
                : "there is no container engine on this machine";
    }

    @Override
    public String version() {
        return spec.version();
    }

    @Override
    public String bootstrap() {
        return container.getBootstrapServers();
    }

    @Override
    public int brokers() {
        return 1;
    }

    @Override
    public void stop(int node) {
        container.getDockerClient().stopContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void kill(int node) {
        container.getDockerClient().killContainerCmd(container.getContainerId()).exec();
    }

    @Override
    public void resume(int node) {
        container
                .getDockerClient()
                .startContainerCmd(container.getContainerId())
                .exec();
    }

    @Override
    public int runTool(String mainClass, List<String> args, Path stdout) {
        List<String> command = new ArrayList<>();
        command.add("/opt/kafka/bin/" + TOOLS.getOrDefault(mainClass, "kafka-run-class.sh"));
        if (!TOOLS.containsKey(mainClass)) {
            command.add(mainClass);
        }
        command.addAll(args);
        try {
            Container.ExecResult result = container.execInContainer(command.toArray(String[]::new));
            Files.writeString(stdout, result.getStdout());
            return result.getExitCode();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + mainClass, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + mainClass + " ran", e);
        }
    }

    @Override
    public void close() {
        container.close();
    }
}
