package io.kagami.broker;

import io.kagami.broker.adopt.AdoptionFailed;
import io.kagami.log.StorageFault;
import io.kagami.raft.StoreFault;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * {@code --config FILE [--override key=value]...}: runs a broker until SIGTERM or Ctrl-C. Exit codes: 0 stopped as asked, 1 failed (the
 * reason is in the log and, in one line, on standard error), 2 wrong usage.
 */
public final class Main {
    static final int OK = 0;
    static final int FAILED = 1;
    static final int USAGE = 2;

    private static final Logger LOG = LoggerFactory.getLogger(Main.class);
    private static final String HELP = "usage: kagami server --config FILE [--override key=value]...";

    private Main() {}

    public static void main(String[] args) throws InterruptedException {
        int code = run(args, System.err);
        if (code != OK) {
            System.exit(code);
        }
    }

    /** Returns only when the broker has not started. */
    static int run(String[] args, PrintStream err) throws InterruptedException {
        Path file = null;
        List<String> overrides = new ArrayList<>();
        Deque<String> rest = new ArrayDeque<>(List.of(args));
        while (!rest.isEmpty()) {
            String arg = rest.remove();
            if (arg.equals("--help") || arg.equals("-h")) {
                err.println(HELP);
                return OK;
            }
            if (rest.isEmpty() || !(arg.equals("--config") || arg.equals("--override"))) {
                err.println((rest.isEmpty() ? "nothing follows " : "unknown argument ") + arg + "\n" + HELP);
                return USAGE;
            }
            if (arg.equals("--config")) {
                file = Path.of(rest.remove());
            } else {
                overrides.add(rest.remove());
            }
        }
        if (file == null) {
            err.println("--config FILE is needed\n" + HELP);
            return USAGE;
        }
        try {
            BrokerConfig config = BrokerConfig.load(file, overrides);
            new ShutdownLoop(Broker.start(config, InstantSource.system(), Main::fatal)).await();
            return OK;
        } catch (ConfigFault | StorageFault | StoreFault | AdoptionFailed e) {
            err.println("kagami: " + e.getMessage());
        } catch (FileSystemException e) {
            err.println("kagami: " + e.getFile() + " cannot be used: " + reason(e));
        } catch (IOException e) {
            err.println("kagami: " + e.getMessage());
        } catch (RuntimeException | Error e) {
            LOG.error("the broker cannot start", e);
        }
        return FAILED;
    }

    private static String reason(FileSystemException e) {
        if (e instanceof FileAlreadyExistsException || e instanceof NotDirectoryException) {
            return "it is a file, not a directory";
        }
        if (e instanceof NoSuchFileException) {
            return "it does not exist and cannot be created there";
        }
        if (e instanceof AccessDeniedException) {
            return "this user has no permission";
        }
        return e.getReason() == null ? e.getClass().getSimpleName() : e.getReason();
    }

    /** After a bug nothing in memory can be trusted; the logs and the metadata are recovered at the next start. */
    private static void fatal(String what, Throwable failure) {
        LOG.error("{}; the process ends", what, failure);
        Runtime.getRuntime().halt(FAILED);
    }
}
