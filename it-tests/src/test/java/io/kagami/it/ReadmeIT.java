package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Every command of the README does what the README says. The demo has {@link DemoIT}, a server each test that starts one. */
@ExtendWith(Sources.class)
class ReadmeIT {
    private static final String SHELL = "cli/bin/kagami ";
    private static final String DEMO = "cli/bin/kagami demo";
    private static final String SERVER = "cli/bin/kagami server --config cli/target/kagami/conf/kagami.properties";
    private static final String ADOPT = "cli/bin/kagami storage adopt ";
    private static final String TESTS = "mvn verify";
    private static final Pattern TOTALS = Pattern.compile("\\d+ topics?, \\d+ partitions?, lag \\d+");

    @Test
    void everyCommandIsKnownAndTheMirrorCommandsWorkInTheirOrder(SourceKafka source) throws IOException {
        List<String> commands = commands();
        assertThat(commands).contains(DEMO, TESTS, SERVER);
        assertThat(Checkout.read(Checkout.root().resolve(".ci/run")).lines())
                .as("CI runs the README's test command")
                .anyMatch(line -> line.equals(TESTS) || line.startsWith(TESTS + " ||"));
        assertThat(Checkout.root().resolve("cli/target/kagami/conf/kagami.properties"))
                .exists();

        Fill.create(source.bootstrap(), "orders", 2, Map.of());
        Fill.everyKindOfBatch(source.bootstrap(), "orders", 2, Seed.random("readme"));
        try (KagamiProcess kagami = KagamiProcess.start("readme")) {
            int ran = 0;
            for (String command : commands) {
                if (List.of(DEMO, TESTS, SERVER).contains(command) || command.startsWith(ADOPT)) {
                    continue;
                }
                assertThat(command).startsWith(SHELL);
                run(command, source.bootstrap(), kagami.bootstrap());
                if (command.contains("--start")) {
                    Eventually.mirrored(
                            Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of("orders"));
                }
                ran++;
            }
            assertThat(ran).isGreaterThanOrEqualTo(4);
            assertThat(kagami.states("from-prod")).containsEntry("orders-0", "STOPPED");
            kagami.sigterm();
            adopt(commands, kagami);
        }
    }

    private static void run(String command, String source, String kagami) throws IOException {
        List<String> words = new ArrayList<>(Arrays.asList(command.substring(SHELL.length())
                .replace("prod-kafka:9092", source)
                .split(" ")));
        words.add("--bootstrap-server");
        words.add(kagami);
        String program = Checkout.root().resolve(SHELL.strip()).toString();
        if (words.contains("--watch")) {
            watch(program, words);
            return;
        }
        Cli.Result result = Cli.run(program, words);
        assertThat(result.exitCode()).as("%s: %s", command, result).isZero();
    }

    /** The directory of a stopped broker is ours here; that of a Kafka has {@link AdoptIT}. */
    private static void adopt(List<String> commands, KagamiProcess stopped) throws IOException {
        List<String> adopting =
                commands.stream().filter(command -> command.startsWith(ADOPT)).toList();
        assertThat(adopting).hasSizeGreaterThanOrEqualTo(2);
        try (KagamiProcess other = KagamiProcess.stopped("readme-adopts", Map.of())) {
            for (String command : adopting) {
                String real = command.substring(SHELL.length())
                        .replace("/var/lib/kafka", stopped.data().toString())
                        .replace(
                                "/etc/kafka/server.properties",
                                stopped.configFile().toString())
                        .replace(
                                "cli/target/kagami/conf/kagami.properties",
                                other.configFile().toString());
                Cli.run(Checkout.root().resolve(SHELL.strip()).toString(), List.of(real.split(" ")))
                        .ok();
            }
            assertThat(other.data().resolve("orders-0")).isDirectory();
        }
    }

    /** Runs until it is stopped; without a terminal each refresh is a line of totals. */
    private static void watch(String program, List<String> words) throws IOException {
        List<String> all = new ArrayList<>(List.of(program));
        all.addAll(words);
        Process process = new ProcessBuilder(all).redirectErrorStream(true).start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8))) {
            List<String> seen = new ArrayList<>();
            String line;
            while (seen.size() < 10 && (line = out.readLine()) != null) {
                seen.add(line);
                if (TOTALS.matcher(line).find()) {
                    return;
                }
            }
            assertThat(seen).as("what --watch printed").anyMatch(TOTALS.asPredicate());
        } finally {
            process.descendants().forEach(ProcessHandle::destroy);
            process.destroy();
        }
    }

    /** Lines of the README's code blocks that are commands. */
    private static List<String> commands() {
        List<String> commands = new ArrayList<>();
        boolean code = false;
        for (String line : (Iterable<String>)
                Checkout.read(Checkout.root().resolve("README.md")).lines()::iterator) {
            if (line.startsWith("```")) {
                code = !code;
            } else if (code && (line.startsWith("cli/") || line.startsWith("mvn"))) {
                commands.add(line.strip());
            }
        }
        return commands;
    }
}
