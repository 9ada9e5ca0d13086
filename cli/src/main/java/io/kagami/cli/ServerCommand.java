package io.kagami.cli;

import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The help entry of {@code kagami server}; the start script runs the server itself, in a JVM set up for it. */
@Command(
        name = "server",
        mixinStandardHelpOptions = true,
        description = {
            "Run a broker until SIGTERM.",
            "The distribution has a commented configuration in conf/kagami.properties.",
            "KAGAMI_HEAP_OPTS and KAGAMI_JVM_OPTS set its JVM up."
        })
final class ServerCommand implements Runnable {
    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "Properties file; Kafka's keys where they exist.",
            required = true)
    private Path config;

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(
                spec.commandLine(),
                "The server is started by the script: bin/kagami server --config " + config + ", with 'server' first");
    }
}
