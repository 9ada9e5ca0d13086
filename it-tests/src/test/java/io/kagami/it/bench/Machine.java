package io.kagami.it.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** The machine: what it is, and whether its disk is busy with what was written before. */
final class Machine {
    private static final long BUSY_MIB = 256;
    private static final Duration QUIET_WITHIN = Duration.ofSeconds(15);

    private Machine() {}

    /** For people who compare two tables. */
    static Map<String, String> describe(Path dir) throws IOException {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("cores", Integer.toString(Runtime.getRuntime().availableProcessors()));
        facts.put("processor", line(Path.of("/proc/cpuinfo"), "model name"));
        facts.put("memory", memoryMiB("MemTotal:") + " MiB");
        facts.put("kernel", System.getProperty("os.name") + " " + System.getProperty("os.version"));
        facts.put("jdk", System.getProperty("java.vm.vendor") + " " + System.getProperty("java.runtime.version"));
        facts.put("file system", Files.getFileStore(dir).type());
        return facts;
    }

    /** Waits, for a bounded time, until little is left to be written to the disk: the next system shall not pay for the last one. */
    static void settle() {
        Wait.upTo(QUIET_WITHIN, Duration.ofMillis(100), () -> {
            try {
                return memoryMiB("Dirty:") + memoryMiB("Writeback:") < BUSY_MIB;
            } catch (IOException e) {
                throw new IllegalStateException("/proc/meminfo cannot be read", e);
            }
        });
    }

    private static long memoryMiB(String key) throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/meminfo"))) {
            if (line.startsWith(key)) {
                return Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024;
            }
        }
        return 0;
    }

    private static String line(Path file, String key) throws IOException {
        return Files.readAllLines(file).stream()
                .filter(line -> line.startsWith(key))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElse("unknown");
    }
}
