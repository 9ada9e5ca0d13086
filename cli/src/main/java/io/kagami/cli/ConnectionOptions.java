package io.kagami.cli;

import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.client.ClientOptions;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** How a command reaches its cluster. */
final class ConnectionOptions {
    private static final int FRAME_BYTES_MAX = 100 * 1024 * 1024;
    private static final int CONNECT_TIMEOUT_MS = 10_000;

    @Option(
            names = "--bootstrap-server",
            paramLabel = "HOST:PORT",
            split = ",",
            defaultValue = "127.0.0.1:9092",
            description = "Brokers to connect to (default: ${DEFAULT-VALUE}).")
    private List<String> bootstrapServers;

    @Option(
            names = "--command-config",
            paramLabel = "FILE",
            description = "Properties of the connection: client.id, request.timeout.ms.")
    private Path commandConfig;

    @Spec(Spec.Target.MIXEE)
    private CommandSpec spec;

    Wire connect(Clusters clusters) {
        ClientOptions options = options();
        try {
            return new Wire(clusters.client(options), options, "--bootstrap-server");
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--bootstrap-server: " + e.getMessage(), e);
        }
    }

    /** The list as typed, for printing commands to copy. */
    String bootstrap() {
        return String.join(",", bootstrapServers);
    }

    private ClientOptions options() {
        String clientId = "kagami-shell";
        long requestTimeoutMs = 30_000;
        for (Map.Entry<String, String> entry : read(commandConfig).entrySet()) {
            switch (entry.getKey()) {
                case "client.id" -> clientId = entry.getValue();
                case "request.timeout.ms" -> requestTimeoutMs = positive(entry.getKey(), entry.getValue());
                case "security.protocol" -> requirePlaintext(entry.getValue());
                default ->
                    throw new Refused(commandConfig + ": " + entry.getKey()
                            + " is not a setting of this shell; it knows client.id, request.timeout.ms and"
                            + " security.protocol=PLAINTEXT");
            }
        }
        return new ClientOptions(
                bootstrapServers,
                clientId,
                Duration.ofMillis(requestTimeoutMs),
                Duration.ofMillis(Math.min(CONNECT_TIMEOUT_MS, requestTimeoutMs)),
                -1,
                FRAME_BYTES_MAX);
    }

    private long positive(String key, String value) {
        try {
            long number = Long.parseLong(value.strip());
            if (number > 0) {
                return number;
            }
        } catch (NumberFormatException e) {
            throw new Refused(commandConfig + ": " + key + " is '" + value + "', not a number of milliseconds", e);
        }
        throw new Refused(commandConfig + ": " + key + " is " + value + "; it must be above 0");
    }

    private void requirePlaintext(String value) {
        if (!value.equals("PLAINTEXT")) {
            throw new Refused(commandConfig + ": security.protocol is " + value
                    + "; this version of the shell connects in PLAINTEXT only");
        }
    }

    /** A properties file in key order; empty when there is none. Values may be secrets and are never printed. */
    static Map<String, String> read(Path file) {
        Map<String, String> values = new TreeMap<>();
        if (file == null) {
            return values;
        }
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(file)) {
            properties.load(reader);
        } catch (IOException e) {
            throw new Refused("Cannot read " + file + ": " + FileReason.of(e), e);
        } catch (IllegalArgumentException e) {
            throw new Refused(file + " is no properties file: it has a malformed \\u sequence", e);
        }
        properties.stringPropertyNames().forEach(name -> values.put(name, properties.getProperty(name)));
        return values;
    }
}
