package io.kagami.it;

import static com.tngtech.archunit.base.DescribedPredicate.describe;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.fields;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.library.dependencies.SliceAssignment;
import com.tngtech.archunit.library.dependencies.SliceIdentifier;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** Who may import whom: the module graph, pure cores, and the one place for each foreign library. */
class LayeringTest {
    private static final JavaClasses MAIN = new ClassFileImporter()
            .importPaths(Checkout.MODULES.stream().map(Checkout::classes).toList());

    /** Root package of a module and the root packages it may use beside its own. */
    private static final Map<String, Set<String>> EDGES = Map.of(
            "io.kagami.raft", Set.of(),
            "io.kagami.log", Set.of(),
            "io.kagami.protocol", Set.of(),
            "io.kagami.mirror", Set.of("io.kagami.protocol", "io.kagami.log"),
            "io.kagami.broker", Set.of("io.kagami.protocol", "io.kagami.log", "io.kagami.raft", "io.kagami.mirror"),
            "io.kagami.cli", Set.of("io.kagami.protocol"));

    private static final String RECORDS = "org.apache.kafka.common.record.internal..";

    /** Owns threads without being a loop: event loop groups are Netty's threads, the child processes' are the system's. */
    private static final Set<String> THREADS_OF_OTHERS = Set.of("io.kagami.protocol.Transports");

    @Test
    void everyModuleIsLookedAt() {
        assertThat(EDGES.keySet()).allSatisfy(root -> assertThat(MAIN.stream().filter(c -> inside(c, root)))
                .as("classes of %s", root)
                .isNotEmpty());
        assertThat(MAIN.stream().filter(c -> EDGES.keySet().stream().noneMatch(root -> inside(c, root))))
                .as("classes outside every module's root package")
                .isEmpty();
    }

    @TestFactory
    List<DynamicTest> aModuleUsesOnlyTheModulesBelowIt() {
        List<DynamicTest> tests = new ArrayList<>();
        EDGES.forEach((root, allowed) -> {
            String[] forbidden = EDGES.keySet().stream()
                    .filter(other -> !other.equals(root) && !allowed.contains(other))
                    .map(other -> other + "..")
                    .toArray(String[]::new);
            tests.add(DynamicTest.dynamicTest(root, () -> noClasses()
                    .that()
                    .resideInAPackage(root + "..")
                    .should()
                    .dependOnClassesThat()
                    .resideInAnyPackage(forbidden)
                    .check(MAIN)));
        });
        return tests;
    }

    @Test
    void coresDoNoIoHaveNoThreadsAndWriteNoLog() {
        noClasses()
                .that()
                .resideInAPackage("io.kagami..core..")
                .should()
                .dependOnClassesThat(resideInAnyPackage(
                                "java.io..",
                                "java.nio.channels..",
                                "java.nio.file..",
                                "java.net..",
                                "java.util.concurrent..",
                                "java.util.logging..",
                                "org.slf4j..",
                                "io.netty..",
                                "io.micrometer..",
                                "net.openhft..")
                        .and(describe("is no annotation", c -> !c.isAnnotation())))
                .check(MAIN);
    }

    @Test
    void coresAreToldTheTimeAndTheRandomNumbers() {
        DescribedPredicate<JavaAccess<?>> readsAClock = describe("reads a clock or draws a random number", access -> {
            String owner = access.getTargetOwner().getFullName();
            String name = access.getTarget().getName();
            return switch (owner) {
                case "java.lang.System" -> name.equals("currentTimeMillis") || name.equals("nanoTime");
                case "java.lang.Thread" -> true;
                case "java.lang.Math" -> name.equals("random");
                default -> owner.startsWith("java.time.") && name.equals("now");
            };
        });
        noClasses()
                .that()
                .resideInAPackage("io.kagami..core..")
                .should()
                .accessTargetWhere(readsAClock)
                .check(MAIN);
        noClasses()
                .that()
                .resideInAPackage("io.kagami..core..")
                .should()
                .dependOnClassesThat()
                .haveNameMatching("java\\.time\\.(Clock|InstantSource)|java\\.util\\.(Random|Timer|random\\..*)")
                .check(MAIN);
    }

    @Test
    void coresDoNotKnowTheirShells() {
        noClasses()
                .that()
                .resideInAPackage("io.kagami..core..")
                .should()
                .dependOnClassesThat(describe("belong to a shell", LayeringTest::shell))
                .check(MAIN);
    }

    /** Interfaces, records, enums and exceptions of a module's root or ports are words that a core may speak. */
    private static boolean shell(JavaClass c) {
        return c.getPackageName().startsWith("io.kagami.")
                && !c.getPackageName().contains(".core")
                && !c.isInterface()
                && !c.isRecord()
                && !c.isEnum()
                && !c.isAssignableTo(Throwable.class)
                && !inside(c, "io.kagami.protocol");
    }

    @Test
    void kafkaMessagesStayOutOfEveryCoreButTheBrokers() {
        noClasses()
                .that()
                .resideInAPackage("io.kagami..core..")
                .and()
                .resideOutsideOfPackage("io.kagami.broker.core..")
                .should()
                .dependOnClassesThat(resideInAnyPackage("org.apache.kafka..")
                        .and(describe("is no topic id", c -> !c.getFullName().equals("org.apache.kafka.common.Uuid"))))
                .check(MAIN);
    }

    @Test
    void chronicleIsSeenByMappedTableOnly() {
        noClasses()
                .that(describe("are not MappedTable", c -> !c.getFullName()
                        .matches("io\\.kagami\\.log\\.index\\.MappedTable(\\$.*)?")))
                .should()
                .dependOnClassesThat()
                .resideInAPackage("net.openhft..")
                .check(MAIN);
    }

    @Test
    void kafkasClientsAndServerStayOut() {
        noClasses()
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage(
                        "org.apache.kafka.clients..",
                        "org.apache.kafka.server..",
                        "org.apache.kafka.storage..",
                        "org.apache.kafka.raft..",
                        "org.apache.kafka.common.network..",
                        "kafka..")
                .check(MAIN);
    }

    @Test
    void kafkasRecordClassesHaveOnePlace() {
        noClasses()
                .that()
                .resideOutsideOfPackages("io.kagami.protocol.records..", "io.kagami.protocol.codec..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage(RECORDS)
                .check(MAIN);
    }

    @Test
    void leavesKnowNoForeignWorld() {
        noClasses()
                .that()
                .resideInAnyPackage("io.kagami.raft..", "io.kagami.log..")
                .should()
                .dependOnClassesThat()
                .resideInAnyPackage("org.apache.kafka..", "io.netty..", "io.micrometer..", "picocli..")
                .check(MAIN);
        noClasses()
                .that()
                .resideInAPackage("io.kagami.raft..")
                .should()
                .dependOnClassesThat()
                .resideInAPackage("net.openhft..")
                .check(MAIN);
    }

    /** The root package of a module holds its seams, which every package of it may use; so cycles are sought below it. */
    @Test
    void packagesBelowAModulesRootHaveNoCycles() {
        slices().assignedFrom(new SliceAssignment() {
                    @Override
                    public SliceIdentifier getIdentifierOf(JavaClass c) {
                        return EDGES.containsKey(c.getPackageName())
                                ? SliceIdentifier.ignore()
                                : SliceIdentifier.of(c.getPackageName());
                    }

                    @Override
                    public String getDescription() {
                        return "packages below a module's root";
                    }
                })
                .should()
                .beFreeOfCycles()
                .check(MAIN);
    }

    @Test
    void onlyLoopsStartThreadsAndOnlyTheyAreCalledSo() {
        DescribedPredicate<JavaAccess<?>> startsThreads = describe("starts threads", access -> {
            JavaClass owner = access.getTargetOwner();
            String name = access.getTarget().getName();
            boolean built = name.equals("<init>")
                    && (owner.isAssignableTo(Thread.class)
                            || owner.isAssignableTo(java.util.concurrent.ExecutorService.class));
            return built || (owner.isAssignableTo(java.util.concurrent.Executors.class) && name.startsWith("new"));
        });
        noClasses()
                .that(describe(
                        "are no loop",
                        c -> !outermost(c).getSimpleName().endsWith("Loop")
                                && !THREADS_OF_OTHERS.contains(outermost(c).getFullName())
                                && !inside(c, "io.kagami.cli")))
                .should()
                .accessTargetWhere(startsThreads)
                .check(MAIN);
        classes()
                .that()
                .haveSimpleNameEndingWith("Loop")
                .and()
                .areTopLevelClasses()
                .should(new HaveThread())
                .allowEmptyShould(true)
                .check(MAIN);
    }

    @Test
    void emptyWordsAreNoNames() {
        noClasses()
                .should()
                .haveNameMatching(".*(Manager|Helper|Helpers|Util|Utils|Impl|Service)(\\$.*)?")
                .check(MAIN);
    }

    @Test
    void handlersHaveNoStateOfTheirOwn() {
        fields().that()
                .areDeclaredInClassesThat(describe(
                        "are handlers",
                        c -> c.isAssignableTo("io.kagami.broker.api.Handler")
                                || (inside(c, "io.kagami.broker.api")
                                        && c.getSimpleName().endsWith("Handler"))))
                .should()
                .beFinal()
                .allowEmptyShould(true)
                .check(MAIN);
    }

    private static boolean inside(JavaClass c, String root) {
        return c.getPackageName().equals(root) || c.getPackageName().startsWith(root + ".");
    }

    private static JavaClass outermost(JavaClass c) {
        JavaClass at = c;
        while (at.getEnclosingClass().isPresent()) {
            at = at.getEnclosingClass().get();
        }
        return at;
    }

    /** A loop has a thread or an executor among its fields. */
    private static final class HaveThread extends com.tngtech.archunit.lang.ArchCondition<JavaClass> {
        HaveThread() {
            super("own a thread");
        }

        @Override
        public void check(JavaClass c, com.tngtech.archunit.lang.ConditionEvents events) {
            boolean owns = c.isAssignableTo(Thread.class)
                    || c.getAllFields().stream()
                            .map(f -> f.getRawType())
                            .anyMatch(t -> t.isAssignableTo(Thread.class)
                                    || t.isAssignableTo(java.util.concurrent.ExecutorService.class));
            events.add(new com.tngtech.archunit.lang.SimpleConditionEvent(
                    c,
                    owns,
                    c.getFullName() + (owns ? " owns" : " is called a loop but owns") + (owns ? " a" : " no")
                            + " thread"));
        }
    }
}
