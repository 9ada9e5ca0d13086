package io.kagami.it.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Watches a copy grow and measures it. The clock starts when the first byte is seen at the destination and stops when the destination's
 * end is the source's, or the time box is over; starts of JVMs, creation of topics and discovery lie before it, for every system.
 */
final class Copying {
    private static final Duration LOOK = Duration.ofMillis(10);
    private static final double MIB = 1 << 20;
    private static final double MB = 1e6;

    /** How much of the copy is there. */
    interface Extent {
        long now() throws IOException;
    }

    /**
     * What is copied.
     *
     * @param total in the units of the extent
     * @param records of the whole
     * @param recordBytes of each, uncompressed
     * @param logBytes of the whole, as stored at the source
     */
    record Whole(long total, long records, int recordBytes, long logBytes) {}

    private Copying() {}

    /**
     * Blocks until the copy is done.
     *
     * @param asked {@link System#nanoTime} when the copy was asked for
     * @param pids of all that copies; their CPU time and peak memory are summed
     * @param sourcePid whose CPU time is told apart
     */
    static Map<String, Double> measure(
            Extent extent, Whole whole, long asked, List<Long> pids, long sourcePid, Duration box, Duration patience)
            throws IOException {
        long first = 0;
        long began = 0;
        double cpu = 0;
        double sourceCpu = 0;
        long last = 0;
        long deadline = System.nanoTime() + patience.toNanos();
        while (true) {
            long there = extent.now();
            long now = System.nanoTime();
            if (began == 0 && there > 0) {
                began = now;
                first = there;
                cpu = cpu(pids);
                sourceCpu = ProcessUse.cpuSeconds(sourcePid);
            }
            if (there >= whole.total() || (began != 0 && now - began > box.toNanos())) {
                last = there;
                break;
            }
            if (now - deadline > 0) {
                throw new IllegalStateException(
                        there + " of " + whole.total() + " copied within " + patience.toSeconds() + " s");
            }
            Wait.pass(LOOK);
        }
        double seconds = Wait.secondsSince(began);
        cpu = cpu(pids) - cpu;
        sourceCpu = ProcessUse.cpuSeconds(sourcePid) - sourceCpu;
        // all of a tiny copy can be there at the first look: then the clock runs from the asking
        boolean atOnce = first >= last;
        double share = atOnce ? 1 : (last - first) / (double) whole.total();
        double time = atOnce ? Wait.secondsSince(asked) : seconds;
        double records = share * whole.records();
        double gib = records * whole.recordBytes() / (1 << 30);
        Map<String, Double> figures = new LinkedHashMap<>();
        figures.put("MB/s", records * whole.recordBytes() / MB / time);
        figures.put("records/s", records / time);
        figures.put("log MB/s", share * whole.logBytes() / MB / time);
        figures.put("CPU s/GiB", cpu / gib);
        figures.put("log CPU s/GiB", cpu / (share * whole.logBytes() / MIB / 1024));
        figures.put("source CPU s/GiB", sourceCpu / gib);
        figures.put(
                "peak RSS MiB", pids.stream().mapToDouble(ProcessUse::peakMiB).sum());
        figures.put("copied share", share);
        figures.put("measured s", time);
        figures.put("first byte s", (began - asked) / 1e9);
        return figures;
    }

    private static double cpu(List<Long> pids) {
        return pids.stream().mapToDouble(ProcessUse::cpuSeconds).sum();
    }
}
