package io.kagami.mirror;

import io.kagami.mirror.ports.LocalCluster;
import io.kagami.mirror.ports.LocalPartitions;
import io.kagami.mirror.ports.MirrorJournal;

/**
 * What the parts of one mirror share.
 *
 * @param name the mirror
 * @param budget common to all mirrors
 */
record MirrorContext(
        String name,
        MirrorConfig config,
        EngineOptions options,
        Turns turns,
        LocalPartitions local,
        LocalCluster cluster,
        MirrorJournal journal,
        FlightBudget budget,
        MirrorMeters meters) {}
