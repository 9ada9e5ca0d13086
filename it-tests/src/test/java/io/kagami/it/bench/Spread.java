package io.kagami.it.bench;

import java.util.Arrays;

/** Smallest, middle and largest of some values. */
record Spread(double min, double median, double max) {
    /** @param values one or more, in any order; of an even number the middle is the mean of the two in the middle */
    static Spread of(double... values) {
        if (values.length == 0) {
            throw new IllegalArgumentException("no values, no spread");
        }
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        int half = sorted.length / 2;
        double median = sorted.length % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
        return new Spread(sorted[0], median, sorted[sorted.length - 1]);
    }

    /**
     * The smallest value that is not exceeded by the given share of all values.
     *
     * @param sorted ascending, not empty
     * @param share 0 to 1
     */
    static double percentile(double[] sorted, double share) {
        int rank = (int) Math.ceil(share * sorted.length);
        return sorted[Math.max(0, Math.min(sorted.length, rank) - 1)];
    }
}
