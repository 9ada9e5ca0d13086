package io.kagami.it.bench;

import java.util.List;
import java.util.Map;

/** One line of comparison: the same work, done by several systems. */
interface Row {
    /** Words joined by dashes, from general to special; so the beginning of a name selects a group. */
    String name();

    /** Who is measured, in the order of the first run; later runs rotate it. */
    List<String> systems();

    /** True when a target is about this row: then it is measured several times, else once. */
    boolean ofTargets();

    /** Its codec and number of partitions, where it has them, for the flags that choose. */
    default List<String> traits() {
        return List.of();
    }

    /** How often a system is measured, when targets' rows are measured {@code wanted} times. */
    default int runs(String system, int wanted) {
        return ofTargets() ? wanted : 1;
    }

    /**
     * Measures one system once. What it started has ended when this returns, except what the lab holds.
     *
     * @param run counted from 1
     * @return figures by name; a name ends in its unit
     */
    Map<String, Double> measure(String system, int run, Lab lab) throws Exception;
}
