package io.kagami.cli;

import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** The help entry of {@code kagami storage}; the start script runs the broker's own program, which works on the files. */
@Command(
        name = "storage",
        mixinStandardHelpOptions = true,
        subcommands = StorageCommand.Adopt.class,
        description = "Work on the data directories of a broker that is stopped.")
final class StorageCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "What shall be done? Name a command.");
    }

    /** The help entry of {@code kagami storage adopt}. */
    @Command(
            name = "adopt",
            mixinStandardHelpOptions = true,
            sortOptions = false,
            description = {
                "Take over the log directories of a stopped Apache Kafka (4.x, KRaft) or of another Kagami: topics with their"
                        + " ids, configs, partitions, offsets and bytes, and the offsets that groups have committed.",
                "Without --yes it prints what it would do, what it refuses and why, and changes nothing. The server must not run"
                        + " meanwhile. After a crash the same command goes on where it ended.",
                "Files are copied, so that the other broker can be started again; --move takes them themselves, in no time."
                        + " When DIR is the data directory of this Kagami, they stay where they are."
            })
    @SuppressWarnings("UnusedVariable") // the fields are there for the help text
    static final class Adopt implements Runnable {
        @Parameters(
                paramLabel = "DIR",
                arity = "1..*",
                description = "Log directories of the other broker (its log.dirs).")
        private List<Path> directories;

        @Option(
                names = "--config",
                paramLabel = "FILE",
                description = "Configuration of the server that takes them over.",
                required = true)
        private Path config;

        @Option(
                names = "--old-config",
                paramLabel = "FILE",
                description =
                        "Configuration file of the other broker: its defaults are kept where they differ from ours.")
        private Path oldConfig;

        @Option(
                names = "--metadata",
                paramLabel = "DIR",
                description =
                        "Directory of the other broker's metadata log, when it is none of those (its metadata.log.dir).")
        private Path metadata;

        @Option(names = "--move", description = "Move the files instead of copying them; same file system only.")
        private boolean move;

        @Option(names = "--yes", description = "Do it, not only say it.")
        private boolean yes;

        @Spec
        private CommandSpec spec;

        @Override
        public void run() {
            throw new ParameterException(
                    spec.commandLine(),
                    "It is started by the script: bin/kagami storage adopt ..., with 'storage' first");
        }
    }
}
