package io.kagami.cli;

import io.kagami.cli.view.Json;
import io.kagami.cli.view.Numbers;
import io.kagami.cli.view.Screen;
import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.MirrorError;
import io.kagami.protocol.MirrorMessages.Body;
import io.kagami.protocol.MirrorMessages.CreateClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DeleteClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorListing;
import io.kagami.protocol.MirrorMessages.MirrorResponse;
import io.kagami.protocol.MirrorMessages.MirrorTopicsRequest;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.PrivateApi;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code kagami mirrors}: the mirror calls, with the option names of Kafka's own tool for them. */
@Command(
        name = "mirrors",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "Create mirrors of other clusters, start and stop their topics, and see how far they are.",
        footer = {
            "",
            "Examples:",
            "  kagami mirrors --create --mirror a-to-b --source kafka1:9092",
            "  kagami mirrors --start --mirror a-to-b --topics all",
            "  kagami mirrors --describe --watch"
        })
final class MirrorsCommand implements Callable<Integer> {
    private static final String BOOTSTRAP = "bootstrap.servers";

    @ArgGroup(multiplicity = "1", heading = "What to do:%n")
    private Action action;

    private static final class Action {
        @Option(
                names = "--create",
                description = "Create a mirror. With topics.include in its configuration matching topics start by"
                        + " themselves; else nothing is copied before --start.")
        boolean create;

        @Option(names = "--start", description = "Start mirroring topics.")
        boolean start;

        @Option(names = "--pause", description = "Pause topics; they stay read-only.")
        boolean pause;

        @Option(names = "--resume", description = "Resume paused topics.")
        boolean resume;

        @Option(names = "--stop", description = "Stop mirroring topics; they become ordinary, writable topics.")
        boolean stop;

        @Option(names = "--recover", description = "Retry failed topics (not in this version).")
        boolean recover;

        @Option(names = "--delete", description = "Delete a mirror whose topics are all stopped.")
        boolean delete;

        @Option(names = "--list", description = "List mirrors.")
        boolean list;

        @Option(names = "--describe", description = "Show every mirror partition: offsets, lag, state.")
        boolean describe;
    }

    @Option(names = "--mirror", paramLabel = "NAME", description = "Name of the mirror.")
    private String mirror;

    @Option(
            names = "--mirror-config",
            paramLabel = "FILE",
            description =
                    "With --create: properties of the mirror, such as bootstrap.servers, topics.include, topics.exclude.")
    private Path mirrorConfig;

    @Option(
            names = "--source",
            paramLabel = "HOST:PORT",
            description = "With --create: the source's bootstrap.servers, in place of a file.")
    private String source;

    @Option(
            names = "--topics",
            paramLabel = "TOPIC",
            split = ",",
            description = "Names, patterns (RE2) or 'all', separated by commas.")
    private List<String> topics = new ArrayList<>();

    @Option(
            names = "--exclude",
            paramLabel = "PATTERN",
            split = ",",
            description = "Patterns taken out of --topics again.")
    private List<String> exclude = new ArrayList<>();

    @Option(names = "--failed", description = "With --describe: only failed partitions, with attempts and reason.")
    private boolean failed;

    @Option(
            names = "--watch",
            paramLabel = "SECONDS",
            arity = "0..1",
            fallbackValue = "1",
            description = "With --describe or --start: show progress, renewed every SECONDS (1), until Ctrl-C.")
    private Integer watchSeconds;

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Mixin
    private ConnectionOptions connection;

    @Spec
    private CommandSpec spec;

    private final Screen screen;
    private final Clusters clusters;

    MirrorsCommand(Screen screen, Clusters clusters) {
        this.screen = screen;
        this.clusters = clusters;
    }

    @Override
    public Integer call() {
        checkUsage();
        if (action.recover) {
            throw new Refused(
                    "--recover is not in this version. A failed partition is retried by itself as long as a retry"
                            + " can help; the others keep their data and their reason (--describe --failed).");
        }
        Map<String, String> configs = action.create ? configs() : Map.of();
        Predicate<String> shown = action.describe || watchSeconds != null ? topicFilter() : topic -> true;
        try (Wire wire = connection.connect(clusters)) {
            if (action.list) {
                return list(wire);
            }
            if (action.describe) {
                return describe(wire, shown);
            }
            int code = change(wire, configs);
            if (code == Shell.DONE && watchSeconds != null) {
                watch(wire, shown);
            }
            return code;
        }
    }

    private void checkUsage() {
        boolean changesTopics = action.start || action.pause || action.resume || action.stop || action.recover;
        boolean changes = changesTopics || action.create || action.delete;
        require(!changes || mirror != null, "--mirror is missing: which mirror?");
        require(mirror == null || !mirror.isBlank(), "--mirror is empty");
        require(
                !changesTopics || !topics.isEmpty(),
                "--topics is missing: name topics or patterns, or say --topics all");
        require(action.create || mirrorConfig == null, "--mirror-config goes with --create");
        require(action.create || source == null, "--source goes with --create");
        require(
                !action.create || mirrorConfig != null || source != null,
                "--create needs the source: --source HOST:PORT or --mirror-config FILE");
        require(
                changesTopics || action.describe || topics.isEmpty(),
                "--topics goes with neither --create, --delete nor --list");
        require(changesTopics || action.describe || exclude.isEmpty(), "--exclude goes with --topics");
        require(action.describe || !failed, "--failed goes with --describe");
        require(action.describe || action.start || watchSeconds == null, "--watch goes with --describe or --start");
        require(watchSeconds == null || watchSeconds > 0, "--watch: " + watchSeconds + " is no number of seconds");
        require(watchSeconds == null || !json, "--watch and --json exclude each other; poll --json instead");
    }

    private void require(boolean condition, String otherwise) {
        if (!condition) {
            throw new ParameterException(spec.commandLine(), otherwise);
        }
    }

    private int list(Wire wire) {
        ListClusterMirrorsResponse answer = wire.mirrors(
                PrivateApi.LIST_CLUSTER_MIRRORS, new ListClusterMirrorsRequest(), ListClusterMirrorsResponse.class);
        wire.check(answer.errorCode(), answer.errorMessage(), "Cannot list the mirrors");
        List<MirrorListing> mirrors = answer.mirrors().stream()
                .filter(listing -> mirror == null || listing.mirror().equals(mirror))
                .toList();
        if (mirror != null && mirrors.isEmpty()) {
            wire.check(MirrorError.UNKNOWN_CLUSTER_MIRROR.code(), null, "Cannot list mirror " + mirror);
        }
        if (json) {
            print(List.of(Json.write(MirrorRows.listJson(mirrors))));
        } else if (mirrors.isEmpty()) {
            screen.err().println("No mirrors at " + wire.address() + ".");
        } else {
            print(MirrorRows.list(mirrors).lines());
        }
        return Shell.DONE;
    }

    private void watch(Wire wire, Predicate<String> shown) {
        new Watch(screen, wire, watchSeconds)
                .until(mirrorNames(), mirrors -> MirrorRows.only(mirrors, shown, failed), () -> false);
    }

    private int describe(Wire wire, Predicate<String> shown) {
        if (watchSeconds != null) {
            watch(wire, shown);
            return Shell.DONE;
        }
        List<MirrorDescription> mirrors = described(wire, mirrorNames());
        List<MirrorRows.Row> rows = MirrorRows.rows(MirrorRows.only(mirrors, shown, failed));
        if (json) {
            print(List.of(Json.write(MirrorRows.describeJson(mirrors, rows))));
            return Shell.DONE;
        }
        if (mirrors.isEmpty()) {
            screen.err().println("No mirrors at " + wire.address() + ".");
        } else if (rows.isEmpty()) {
            screen.err().println(failed ? "No failed partitions." : "No topics yet.");
        } else {
            print((failed ? MirrorRows.failed(rows) : MirrorRows.describe(rows)).lines());
        }
        for (MirrorDescription described : mirrors) {
            if (described.sourceStatus() != null && !described.sourceStatus().equals("connected")) {
                screen.err().println("Mirror " + described.mirror() + ": " + described.sourceStatus());
            }
        }
        return Shell.DONE;
    }

    /** Asks for descriptions; empty list means all. An error of the whole call or of one mirror is thrown. */
    static List<MirrorDescription> described(Wire wire, List<String> names) {
        DescribeClusterMirrorsResponse answer = wire.mirrors(
                PrivateApi.DESCRIBE_CLUSTER_MIRRORS,
                new DescribeClusterMirrorsRequest(names),
                DescribeClusterMirrorsResponse.class);
        wire.check(answer.errorCode(), answer.errorMessage(), "Cannot describe the mirrors");
        for (MirrorDescription described : answer.mirrors()) {
            wire.check(described.errorCode(), described.errorMessage(), "Cannot describe mirror " + described.mirror());
        }
        return answer.mirrors();
    }

    private int change(Wire wire, Map<String, String> configs) {
        if (action.create) {
            return result(
                    wire, PrivateApi.CREATE_CLUSTER_MIRROR, new CreateClusterMirrorRequest(mirror, configs), "Created");
        }
        if (action.delete) {
            return result(wire, PrivateApi.DELETE_CLUSTER_MIRROR, new DeleteClusterMirrorRequest(mirror), "Deleted");
        }
        MirrorTopicsRequest request = new MirrorTopicsRequest(mirror, topics, exclude);
        if (action.start) {
            return result(wire, PrivateApi.START_MIRROR_TOPICS, request, "Started");
        }
        if (action.pause) {
            return result(wire, PrivateApi.PAUSE_MIRROR_TOPICS, request, "Paused");
        }
        if (action.resume) {
            return result(wire, PrivateApi.RESUME_MIRROR_TOPICS, request, "Resumed");
        }
        return result(wire, PrivateApi.STOP_MIRROR_TOPICS, request, "Stopped");
    }

    private int result(Wire wire, PrivateApi api, Body request, String did) {
        MirrorResponse answer = wire.mirrors(api, request, MirrorResponse.class);
        answer.warnings().forEach(warning -> screen.err().println("Warning: " + warning));
        List<String> done = new ArrayList<>();
        List<TopicResult> refused = new ArrayList<>();
        for (TopicResult topic : answer.topics()) {
            if (topic.errorCode() == 0) {
                done.add(topic.topic());
            } else {
                refused.add(topic);
            }
        }
        boolean ok = answer.errorCode() == 0 && refused.isEmpty();
        if (json) {
            print(List.of(Json.write(resultJson(answer, ok))));
        }
        if (answer.errorCode() != 0) {
            throw new Refused("Mirror " + mirror + ": " + Wire.sentence(answer.errorCode(), answer.errorMessage()));
        }
        for (TopicResult topic : refused) {
            screen.err()
                    .println("kagami: topic " + topic.topic() + ": "
                            + Wire.sentence(topic.errorCode(), topic.errorMessage()));
        }
        if (!json && (!done.isEmpty() || action.create || action.delete)) {
            screen.out().println(sentence(did, done));
        } else if (!json && refused.isEmpty()) {
            screen.err()
                    .println("No topic matches; none was " + did.toLowerCase(Locale.ROOT) + " in mirror " + mirror
                            + ".");
        }
        return ok ? Shell.DONE : Shell.FAILED;
    }

    private String sentence(String did, List<String> done) {
        if (action.create || action.delete) {
            return did + " mirror " + mirror + ".";
        }
        return did + " " + Numbers.of(done.size(), "topic") + " in mirror " + mirror + ": " + String.join(", ", done);
    }

    private Map<String, Object> resultJson(MirrorResponse answer, boolean ok) {
        List<Map<String, Object>> results = new ArrayList<>();
        for (TopicResult topic : answer.topics()) {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("topic", topic.topic());
            map.put("error", topic.errorCode() == 0 ? null : Wire.errorName(topic.errorCode()));
            map.put("errorMessage", topic.errorMessage());
            results.add(map);
        }
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("mirror", mirror);
        map.put("ok", ok);
        map.put("error", answer.errorCode() == 0 ? null : Wire.errorName(answer.errorCode()));
        map.put("errorMessage", answer.errorMessage());
        map.put("topics", results);
        map.put("warnings", answer.warnings());
        return map;
    }

    private Map<String, String> configs() {
        Map<String, String> configs = ConnectionOptions.read(mirrorConfig);
        if (source != null) {
            require(
                    configs.put(BOOTSTRAP, source) == null,
                    "--source and " + BOOTSTRAP + " in --mirror-config " + mirrorConfig
                            + " both name the source; give one of them");
        }
        if (!configs.containsKey(BOOTSTRAP)) {
            throw new Refused(mirrorConfig + " does not name the source: " + BOOTSTRAP + " is missing");
        }
        return configs;
    }

    private List<String> mirrorNames() {
        return mirror == null ? List.of() : List.of(mirror);
    }

    /** Of --describe: what to show. The shell filters what the broker sent. */
    private Predicate<String> topicFilter() {
        Predicate<String> wanted = topics.isEmpty() || topics.contains("all") ? name -> true : matches(topics);
        return exclude.isEmpty() ? wanted : wanted.and(matches(exclude).negate());
    }

    private Predicate<String> matches(List<String> patterns) {
        try {
            List<Pattern> compiled = patterns.stream().map(Pattern::compile).toList();
            return name ->
                    compiled.stream().anyMatch(pattern -> pattern.matcher(name).matches());
        } catch (PatternSyntaxException e) {
            throw new ParameterException(spec.commandLine(), "No pattern: " + e.getMessage(), e);
        }
    }

    private void print(List<String> lines) {
        lines.forEach(screen.out()::println);
        screen.out().flush();
    }
}
