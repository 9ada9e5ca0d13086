package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** Reads the sources: rules that no compiler knows. */
class HouseRulesTest {
    private static final int FILE_LINES_MAX = 600;
    /** Tables of cases may be longer. */
    private static final int TEST_LINES_MAX = 800;

    private static final int LINE_CHARACTERS_MAX = 200;

    /** Shells that may read the system clock or wait: each is a place where the outside world begins. */
    private static final Set<String> CLOCK_READERS = Set.of("ForkedKafka.java");

    @Test
    void theTreeIsSeen() {
        assertThat(Checkout.files(".java")).hasSizeGreaterThan(40);
        assertThat(Checkout.files("pom.xml")).hasSize(Checkout.MODULES.size() + 2);
    }

    @Test
    void timeIsAnArgument() {
        Pattern clock = Pattern.compile("System\\.currentTimeMillis\\(|Thread\\.sleep\\(|Instant\\.now\\(\\)");
        assertThat(hits(mainSources(), line -> clock.matcher(line).find(), CLOCK_READERS))
                .as("main code takes an InstantSource and never sleeps")
                .isEmpty();
    }

    @Test
    void testsWaitForConditionsAndNeverSleep() {
        Pattern sleep = Pattern.compile("Thread\\.sleep" + "\\(|TimeUnit\\.[A-Z]+\\.sleep\\(");
        assertThat(hits(testSources(), line -> sleep.matcher(line).find(), Set.of()))
                .isEmpty();
    }

    @Test
    void nothingIsLeftToDoInTheText() {
        Pattern later = Pattern.compile("\\b(TO" + "DO|FIX" + "ME|XX" + "X|HA" + "CK)\\b");
        assertThat(hits(
                        Checkout.files(".java", ".md", ".xml", ".sh", ".yaml", ".yml", ".properties", ".ci/run"),
                        line -> later.matcher(line).find(),
                        Set.of()))
                .isEmpty();
    }

    @Test
    void noFileKnowsTheMachineItWasWrittenOn() {
        Pattern machine =
                Pattern.compile("(?<![\\w.}/])/(wo" + "rk|ro" + "ot|ho" + "me|Us" + "ers)/|/tmp/kha" + "rness");
        assertThat(hits(
                        Checkout.files(
                                ".java",
                                ".md",
                                ".xml",
                                ".sh",
                                ".yaml",
                                ".yml",
                                ".properties",
                                "/kagami",
                                "Dockerfile",
                                ".ci/run"),
                        line -> machine.matcher(line).find(),
                        Set.of()))
                .isEmpty();
    }

    @Test
    void everyPackageHasACaption() {
        Set<Path> packages = mainSources().stream().map(Path::getParent).collect(Collectors.toSet());
        Pattern caption = Pattern.compile("/\\*\\*\\s*(\\*\\s*)?[A-Z`{<][^\\n]{10,}");
        List<String> without = new ArrayList<>();
        for (Path dir : packages) {
            Path info = dir.resolve("package-info.java");
            if (!Files.exists(info) || !caption.matcher(Checkout.read(info)).find()) {
                without.add(Checkout.name(dir));
            }
        }
        assertThat(without)
                .as("packages without a first sentence in package-info.java")
                .isEmpty();
    }

    @Test
    void filesAndLinesFitTheEye() {
        List<String> tooLong = new ArrayList<>();
        for (Path file : Checkout.files(".java")) {
            List<String> lines = Checkout.read(file).lines().toList();
            int most = Checkout.name(file).contains("/src/test/") ? TEST_LINES_MAX : FILE_LINES_MAX;
            if (lines.size() > most) {
                tooLong.add(Checkout.name(file) + " has " + lines.size() + " lines");
            }
            for (int i = 0; i < lines.size(); i++) {
                if (lines.get(i).length() > LINE_CHARACTERS_MAX) {
                    tooLong.add(Checkout.name(file) + ":" + (i + 1) + " has "
                            + lines.get(i).length() + " characters");
                }
            }
        }
        assertThat(tooLong).isEmpty();
    }

    @Test
    void everyModuleExplainsItself() {
        assertThat(Checkout.MODULES).allSatisfy(module -> assertThat(
                        Checkout.read(Checkout.root().resolve(module).resolve("README.md")))
                .as("%s/README.md", module)
                .startsWith("# "));
    }

    private static List<Path> mainSources() {
        return Checkout.files(".java").stream()
                .filter(p -> Checkout.name(p).contains("/src/main/java/"))
                .toList();
    }

    private static List<Path> testSources() {
        return Checkout.files(".java").stream()
                .filter(p -> Checkout.name(p).contains("/src/test/java/"))
                .toList();
    }

    private static List<String> hits(List<Path> files, Predicate<String> forbidden, Set<String> allowed) {
        List<String> hits = new ArrayList<>();
        for (Path file : files) {
            if (allowed.contains(file.getFileName().toString())) {
                continue;
            }
            List<String> lines = Checkout.read(file).lines().toList();
            for (int i = 0; i < lines.size(); i++) {
                if (forbidden.test(lines.get(i))) {
                    hits.add(Checkout.name(file) + ":" + (i + 1) + ": "
                            + lines.get(i).strip());
                }
            }
        }
        return hits;
    }
}
