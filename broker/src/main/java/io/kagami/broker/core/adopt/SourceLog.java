package io.kagami.broker.core.adopt;

import java.util.List;
import org.apache.kafka.common.Uuid;

/**
 * One partition directory as it was found.
 *
 * @param path absolute
 * @param topic null when the directory's name is that of no partition
 * @param topicId zero when the directory does not say
 * @param node node id of the broker whose directory it is
 * @param bytes of all files but the indexes, whose files are larger than what is in them
 * @param lastEpoch newest leader epoch that the directory knows, -1 for none
 * @param maxProducerId largest producer id found, -1 for none
 * @param recoveryPoint all below was forced to the disk
 * @param startOffset log start written down beside the logs, 0 when none was
 * @param problem why it cannot be adopted whatever the metadata says, or null
 * @param open transactions that have not ended, by first offset
 */
public record SourceLog(
        String path,
        String topic,
        int partition,
        Uuid topicId,
        int node,
        long bytes,
        int lastEpoch,
        long maxProducerId,
        long recoveryPoint,
        long startOffset,
        String problem,
        List<OpenTransaction> open) {
    /** Of a directory in which no transaction is known to be open. */
    public SourceLog(
            String path,
            String topic,
            int partition,
            Uuid topicId,
            int node,
            long bytes,
            int lastEpoch,
            long maxProducerId,
            long recoveryPoint,
            long startOffset,
            String problem) {
        this(
                path,
                topic,
                partition,
                topicId,
                node,
                bytes,
                lastEpoch,
                maxProducerId,
                recoveryPoint,
                startOffset,
                problem,
                List.of());
    }
}
