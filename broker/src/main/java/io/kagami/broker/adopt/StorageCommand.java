package io.kagami.broker.adopt;

import io.kagami.broker.BrokerConfig;
import io.kagami.broker.ConfigFault;
import io.kagami.broker.api.TopicConfigs;
import io.kagami.broker.cluster.ClusterReader;
import io.kagami.broker.core.adopt.AdoptionPlan;
import io.kagami.broker.core.adopt.AdoptionPlan.Row;
import io.kagami.broker.core.adopt.AdoptionPlan.Verdict;
import io.kagami.broker.core.adopt.Journal;
import io.kagami.broker.core.adopt.Journal.Way;
import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.log.StorageFault;
import io.kagami.raft.StoreFault;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * {@code adopt DIR... --config FILE [--old-config FILE] [--metadata DIR] [--move] [--yes]}: takes over the log directories of a stopped broker. Without
 * {@code --yes} it prints what it would do and changes nothing. Exit codes: 0 done, 1 refused or failed, 2 wrong usage.
 */
public final class StorageCommand {
    static final int OK = 0;
    static final int FAILED = 1;
    static final int USAGE = 2;

    private static final Set<String> FILES = Set.of("--config", "--old-config", "--metadata");
    private static final String HELP =
            "usage: kagami storage adopt DIR... --config FILE [--old-config FILE] [--metadata DIR] [--move] [--yes]\n"
                    + "Try 'kagami storage adopt --help'.";

    /** What the command line says. */
    private record Options(
            List<Path> directories, Path config, Path oldConfig, Path metadata, boolean move, boolean yes) {}

    private final PrintStream out;
    private final Options options;
    private final BrokerConfig config;
    private final Path target;
    private final List<String> notes = new ArrayList<>();

    private StorageCommand(PrintStream out, Options options, BrokerConfig config) {
        this.out = out;
        this.options = options;
        this.config = config;
        this.target = config.logDirs().get(0).toAbsolutePath().normalize();
    }

    public static void main(String[] args) {
        int code = run(args, System.out, System.err);
        System.out.flush();
        System.err.flush();
        System.exit(code);
    }

    static int run(String[] args, PrintStream out, PrintStream err) {
        Options options;
        try {
            options = parse(args);
        } catch (IllegalArgumentException e) {
            err.println("kagami storage: " + e.getMessage() + "\n" + HELP);
            return USAGE;
        }
        try (DirectoryLocks locks = new DirectoryLocks()) {
            BrokerConfig config = BrokerConfig.load(options.config(), List.of());
            return new StorageCommand(out, options, config).run(locks);
        } catch (AdoptionFailed | ConfigFault | StorageFault | StoreFault e) {
            err.println("kagami: " + e.getMessage());
        } catch (IOException e) {
            err.println("kagami: " + e);
        }
        return FAILED;
    }

    private static Options parse(String[] args) {
        Deque<String> rest = new ArrayDeque<>(List.of(args));
        if (!"adopt".equals(rest.poll())) {
            throw new IllegalArgumentException("the one thing it can do is 'adopt'");
        }
        List<Path> directories = new ArrayList<>();
        Map<String, Path> files = new HashMap<>();
        Set<String> flags = new HashSet<>();
        while (!rest.isEmpty()) {
            String arg = rest.remove();
            if (FILES.contains(arg)) {
                if (rest.isEmpty()) {
                    throw new IllegalArgumentException("nothing follows " + arg);
                }
                files.put(arg, Path.of(rest.remove()));
            } else if (arg.equals("--move") || arg.equals("--yes")) {
                flags.add(arg);
            } else if (arg.startsWith("-")) {
                throw new IllegalArgumentException("unknown option " + arg);
            } else {
                directories.add(Path.of(arg));
            }
        }
        if (directories.isEmpty() || !files.containsKey("--config")) {
            throw new IllegalArgumentException(
                    directories.isEmpty() ? "name a directory to adopt" : "--config FILE is needed");
        }
        return new Options(
                List.copyOf(directories),
                files.get("--config"),
                files.get("--old-config"),
                files.get("--metadata"),
                flags.contains("--move"),
                flags.contains("--yes"));
    }

    private int run(DirectoryLocks locks) throws IOException {
        locks.take(target);
        Optional<Journal> unfinished = Adoption.pending(target);
        if (unfinished.isPresent()) {
            return resume(unfinished.get(), locks);
        }
        Source source = SourceReader.read(options.directories(), options.metadata(), locks);
        boolean inPlace = source.directories().contains(target);
        if (inPlace && source.kind().equals("Kagami")) {
            throw new AdoptionFailed(target + " is the data directory of this very Kagami");
        }
        Way way = options.move() || inPlace ? Way.MOVE : Way.COPY;
        AdoptionPlan plan = AdoptionPlan.make(source.catalog(), source.logs(), inherited(source), new Here());
        print(source, plan, way);
        if (plan.empty()) {
            out.println("There is nothing to adopt.");
            return OK;
        }
        checkDisk(plan, way);
        if (!options.yes()) {
            out.println("Nothing has been changed. To do it, run the command again with --yes.");
            return OK;
        }
        Journal journal = new Journal(
                way,
                source.directories().stream().map(Path::toString).toList(),
                source.clean(),
                plan.logs(),
                plan.records());
        Adoption adoption = adoption(out::println);
        Files.createDirectories(target);
        locks.take(target);
        adoption.begin(journal);
        adoption.finish(journal);
        out.println("Adopted. Start the server on it: kagami server --config " + options.config());
        return OK;
    }

    private Map<String, String> inherited(Source source) {
        Map<String, String> old = new HashMap<>();
        if (options.oldConfig() == null) {
            notes.add("Defaults of topics that are set in that broker's own configuration file (log.retention.*,"
                    + " log.cleanup.policy, log.segment.bytes, ...) are not in its directories. Where they differ from those of "
                    + options.config()
                    + ", name that file with --old-config; retention might delete too much else.");
        } else {
            old.putAll(OldDefaults.read(options.oldConfig()));
        }
        old.putAll(source.catalog().brokerConfigs());
        Map<String, String> inherited = OldDefaults.differing(old, config.topicDefaults());
        if (!inherited.isEmpty()) {
            notes.add("Topics that do not set it themselves keep, as configs of their own, " + inherited + ".");
        }
        return inherited;
    }

    private int resume(Journal journal, DirectoryLocks locks) {
        List<String> named = options.directories().stream()
                .map(path -> path.toAbsolutePath().normalize().toString())
                .toList();
        if (!journal.sources().equals(named)) {
            throw new AdoptionFailed("an adoption of " + String.join(" ", journal.sources()) + " into " + target
                    + " was begun and is not finished: name the same directories to go on with it");
        }
        out.println(
                "An adoption was begun here and not finished: " + journal.logs().size() + " partitions.");
        if (!options.yes()) {
            out.println("Nothing has been changed. To go on with it, run the command again with --yes.");
            return OK;
        }
        options.directories().forEach(locks::take);
        adoption(out::println).finish(journal);
        out.println("Adopted. Start the server on it: kagami server --config " + options.config());
        return OK;
    }

    private Adoption adoption(Consumer<String> progress) {
        return new Adoption(
                target,
                config.metadataDir(),
                config.nodeId(),
                config.clusterId(),
                InstantSource.system(),
                what -> progress.accept("  " + what));
    }

    private void checkDisk(AdoptionPlan plan, Way way) throws IOException {
        Path existing = target;
        while (!Files.exists(existing)) {
            existing = existing.getParent();
        }
        if (way == Way.COPY) {
            long needed = 0;
            for (Journal.Log log : plan.logs()) {
                needed += bytes(Path.of(log.path()));
            }
            long free = Files.getFileStore(existing).getUsableSpace();
            if (needed > free) {
                throw new AdoptionFailed("the copy needs " + needed + " bytes, and " + existing + " has " + free
                        + " left. Make room, or take the files themselves with --move");
            }
            return;
        }
        for (Journal.Log log : plan.logs()) {
            if (!Files.getFileStore(Path.of(log.path())).equals(Files.getFileStore(existing))) {
                throw new AdoptionFailed(log.path() + " is on another file system than " + target
                        + " and cannot be moved there: adopt without --move, which copies");
            }
        }
    }

    /** Of all files, the indexes too. */
    private static long bytes(Path directory) throws IOException {
        long bytes = 0;
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                bytes += Files.size(file);
            }
        }
        return bytes;
    }

    private void print(Source source, AdoptionPlan plan, Way way) {
        boolean inPlace = source.directories().contains(target);
        out.println(source.kind() + ", cluster " + source.catalog().clusterId() + ", "
                + (source.clean()
                        ? "stopped cleanly"
                        : "not stopped cleanly: the ends of the logs are checked at the start, as that broker would"));
        String how = way == Way.COPY ? "are copied to " : inPlace ? "stay in " : "are moved to ";
        out.println("Adopted files " + how + target + ".");
        List<String[]> lines = new ArrayList<>();
        lines.add(new String[] {"TOPIC", "PARTITIONS", "BYTES", "OUTCOME", "WHY"});
        for (Row row : plan.rows()) {
            lines.add(new String[] {
                row.name(),
                Integer.toString(row.partitions()),
                row.verdict() == Verdict.HERE ? "-" : Long.toString(row.bytes()),
                word(row.verdict()),
                row.why()
            });
        }
        int[] widths = new int[4];
        lines.forEach(line -> {
            for (int i = 0; i < widths.length; i++) {
                widths[i] = Math.max(widths[i], line[i].length());
            }
        });
        String format = "%-" + widths[0] + "s  %" + widths[1] + "s  %" + widths[2] + "s  %-" + widths[3] + "s  %s";
        lines.forEach(line -> out.println(String.format(format, (Object[]) line).stripTrailing()));
        notes.addAll(plan.notes());
        notes.forEach(note -> out.println("Note: " + note));
    }

    private static String word(Verdict verdict) {
        return switch (verdict) {
            case ADOPT -> "adopt";
            case HERE -> "here";
            case REFUSE -> "refused";
            case LEAVE -> "left";
        };
    }

    /** This Kagami, as it is before the adoption. */
    private final class Here implements AdoptionPlan.Target {
        private final ClusterState state = ClusterReader.read(config.metadataDir());

        @Override
        public ClusterState state() {
            return state;
        }

        @Override
        public Optional<String> problem(Map<String, String> configs) {
            return TopicConfigs.problem(configs);
        }

        @Override
        public boolean occupied(String directory, String sourcePath) {
            Path path = target.resolve(directory);
            return Files.exists(path) && !path.equals(Path.of(sourcePath));
        }
    }
}
