package io.kagami.cli;

import io.kagami.cli.demo.DemoFailed;
import io.kagami.cli.view.Screen;
import io.kagami.cli.wire.Refused;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code kagami}: the list of commands, and what they end with: 0 done, 1 refused or failed, 2 wrong usage. */
@Command(
        name = "kagami",
        mixinStandardHelpOptions = true,
        versionProvider = Shell.Version.class,
        synopsisSubcommandLabel = "COMMAND",
        description = "A standalone Kafka-wire-compatible mirroring broker.",
        commandListHeading = "%nCommands:%n",
        footer = {"", "Exit codes: 0 done, 1 refused or failed (the reason is on stderr), 2 wrong usage."})
public final class Shell implements Runnable {
    static final int DONE = 0;
    static final int FAILED = 1;
    static final int WRONG_USAGE = 2;

    @Spec
    private CommandSpec spec;

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "What shall be done? Name a command.");
    }

    /** Entry of bin/kagami for everything but the server itself. */
    public static void main(String[] args) {
        Screen screen = Screen.ofProcess();
        int code = commandLine(screen, Clusters.overNetty()).execute(args);
        screen.out().flush();
        screen.err().flush();
        System.exit(code);
    }

    static CommandLine commandLine(Screen screen, Clusters clusters) {
        CommandLine line = new CommandLine(new Shell())
                .addSubcommand(new ServerCommand())
                .addSubcommand(new MirrorsCommand(screen, clusters))
                .addSubcommand(new TopicsCommand(screen, clusters))
                .addSubcommand(new GroupsCommand(screen, clusters))
                .addSubcommand(new StorageCommand())
                .addSubcommand(new DemoCommand(screen));
        line.setOut(screen.out());
        line.setErr(screen.err());
        line.setColorScheme(CommandLine.Help.defaultColorScheme(
                screen.colour() ? CommandLine.Help.Ansi.ON : CommandLine.Help.Ansi.OFF));
        line.setUsageHelpAutoWidth(false);
        line.setExecutionExceptionHandler((failure, command, parsed) -> {
            screen.out().flush();
            screen.err().println("kagami: " + reason(failure));
            return FAILED;
        });
        line.setParameterExceptionHandler((wrong, args) -> {
            CommandLine command = wrong.getCommandLine();
            String name = command.getCommandSpec().qualifiedName();
            screen.err().println(name + ": " + wrong.getMessage());
            CommandLine.UnmatchedArgumentException.printSuggestions(wrong, screen.err());
            screen.err().println("Try '" + name + " --help'.");
            return WRONG_USAGE;
        });
        return line;
    }

    private static String reason(Exception failure) {
        if (failure instanceof Refused || failure instanceof DemoFailed) {
            return failure.getMessage();
        }
        String text = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        StackTraceElement[] at = failure.getStackTrace();
        return text + " (" + failure.getClass().getSimpleName() + (at.length == 0 ? "" : " at " + at[0])
                + "); this is a fault of the shell itself, please report it";
    }

    /** Reads the version that the build wrote down. */
    static final class Version implements IVersionProvider {
        @Override
        public String[] getVersion() throws IOException {
            Properties properties = new Properties();
            try (InputStream in = Shell.class.getResourceAsStream("version.properties")) {
                properties.load(in);
            }
            return new String[] {"kagami " + properties.getProperty("version")};
        }
    }
}
