package io.kagami.mirror.core;

/** How much to ask a source broker for, and on which connection. */
public final class FetchPlan {
    private FetchPlan() {}

    /**
     * Limits of one mirror.
     *
     * @param waitMs longest wait of the source for {@code minBytes}
     * @param responseBytes whole answer (a larger first batch still passes)
     * @param partitionBytes one partition of it
     */
    public record Limits(int waitMs, int minBytes, int responseBytes, int partitionBytes) {}

    /** Least share of the budget that is worth a request. */
    public static int shareMin(Limits limits) {
        return Math.min(limits.partitionBytes(), limits.responseBytes());
    }

    /** Limits of the next request when only {@code granted} bytes of the common budget are free. */
    public static Limits within(Limits limits, long granted) {
        int response = (int) Math.max(1, Math.min(limits.responseBytes(), granted));
        return new Limits(limits.waitMs(), limits.minBytes(), response, limits.partitionBytes());
    }

    /** Index of the connection to the leader that fetches a partition: neighbours go to different ones. */
    public static int connection(String topic, int partition, int connections) {
        return Math.floorMod(31 * topic.hashCode() + partition, connections);
    }
}
