package io.kagami.it.bench;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a process has used, from {@code /proc}. Linux only. */
final class ProcessUse {
    /** Ticks of /proc: a hundred in a second on every Linux that runs a JVM. */
    private static final double TICKS_PER_SECOND = 100;

    private static final int STATE = 2;
    private static final int USER = 13;
    private static final int SYSTEM = 14;

    private ProcessUse() {}

    /** CPU seconds of all its threads so far, user and system. */
    static double cpuSeconds(long pid) {
        return cpuSeconds(read(pid, "stat"));
    }

    /** @param stat content of /proc/PID/stat; the name in it may hold blanks and parentheses */
    static double cpuSeconds(String stat) {
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return (Long.parseLong(fields[USER - STATE]) + Long.parseLong(fields[SYSTEM - STATE])) / TICKS_PER_SECOND;
    }

    /** Most memory that was ever resident, MiB. */
    static double peakMiB(long pid) {
        return statusMiB(read(pid, "status"), "VmHWM:");
    }

    /** Memory resident now, MiB; pages of mapped files count. */
    static double residentMiB(long pid) {
        return statusMiB(read(pid, "status"), "VmRSS:");
    }

    static double statusMiB(String status, String key) {
        return status.lines()
                .filter(line -> line.startsWith(key))
                .mapToDouble(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) / 1024.0)
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no " + key + " in a process status"));
    }

    private static String read(long pid, String file) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(pid), file));
        } catch (IOException e) {
            throw new UncheckedIOException("process " + pid + " cannot be measured; has it ended?", e);
        }
    }
}
