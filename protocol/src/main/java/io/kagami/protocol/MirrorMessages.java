package io.kagami.protocol;

import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;

/**
 * Bodies of the private mirror RPCs as plain records (api keys in {@link PrivateApi}); {@link PrivateMessage} carries them on the wire.
 * Error codes are Kafka's where one exists, else those of {@link MirrorError}.
 */
public final class MirrorMessages {
    private MirrorMessages() {}

    /** Every body of a private RPC. */
    public sealed interface Body {}

    /** The configs hold credentials, so printing shows their keys only. */
    public record CreateClusterMirrorRequest(String mirror, Map<String, String> configs) implements Body {
        @Override
        public String toString() {
            return "CreateClusterMirrorRequest[mirror=" + mirror + ", configs=" + configs.keySet() + "]";
        }
    }

    public record DeleteClusterMirrorRequest(String mirror) implements Body {}

    /**
     * Body of Start-, Stop-, Pause- and ResumeMirrorTopics.
     *
     * @param topics names, RE2 patterns or {@code all}
     * @param exclude patterns taken out again
     */
    public record MirrorTopicsRequest(String mirror, List<String> topics, List<String> exclude) implements Body {}

    /** Answer of Create, Delete, Start, Stop, Pause, Resume. {@code warnings} are sentences for the operator. */
    public record MirrorResponse(short errorCode, String errorMessage, List<TopicResult> topics, List<String> warnings)
            implements Body {}

    public record TopicResult(String topic, short errorCode, String errorMessage) {}

    public record ListClusterMirrorsRequest() implements Body {}

    public record ListClusterMirrorsResponse(short errorCode, String errorMessage, List<MirrorListing> mirrors)
            implements Body {}

    public record MirrorListing(String mirror, int topics, String sourceClusterId, String sourceBootstrapServers) {}

    /** Empty list: all mirrors. */
    public record DescribeClusterMirrorsRequest(List<String> mirrors) implements Body {}

    public record DescribeClusterMirrorsResponse(short errorCode, String errorMessage, List<MirrorDescription> mirrors)
            implements Body {}

    /**
     * @param sourceStatus a sentence: "connected", or "source unreachable since ...: reason"
     */
    public record MirrorDescription(
            String mirror,
            short errorCode,
            String errorMessage,
            String sourceClusterId,
            String sourceBootstrapServers,
            String sourceStatus,
            List<MirrorTopicDescription> topics) {}

    public record MirrorTopicDescription(
            String topic, Uuid topicId, String desiredState, List<MirrorPartitionDescription> partitions) {}

    /**
     * Numbers that are not known are -1, never 0.
     *
     * @param sourceOffset the source's high watermark when measured
     * @param destinationOffset local log end
     * @param lag records behind, or -1
     * @param lagBytes estimate, or -1
     * @param lagMs or -1
     * @param measuredAgoMs age of sourceOffset, or -1
     * @param mirroredBytes bytes appended by the mirror since this broker started
     * @param retryAttempt attempts so far; -1 = permanent failure
     */
    public record MirrorPartitionDescription(
            int partition,
            String state,
            long sourceStartOffset,
            long sourceOffset,
            long destinationStartOffset,
            long destinationOffset,
            long lag,
            long lagBytes,
            long lagMs,
            long measuredAgoMs,
            long mirroredBytes,
            int retryAttempt,
            String errorMessage) {}
}
