package io.kagami.protocol;

import io.kagami.protocol.MirrorMessages.Body;
import io.kagami.protocol.MirrorMessages.CreateClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DeleteClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorListing;
import io.kagami.protocol.MirrorMessages.MirrorPartitionDescription;
import io.kagami.protocol.MirrorMessages.MirrorResponse;
import io.kagami.protocol.MirrorMessages.MirrorTopicDescription;
import io.kagami.protocol.MirrorMessages.MirrorTopicsRequest;
import io.kagami.protocol.MirrorMessages.TopicResult;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.protocol.Readable;

/** Field by field: the layout of every private body. Reading and writing stand side by side; the order is the wire order. */
final class PrivateBodies {
    private static final int REQUEST_FACTOR = 8;
    private static final int RESPONSE_FACTOR = 32;

    private PrivateBodies() {}

    static Class<? extends Body> type(PrivateApi api, boolean request) {
        return switch (api) {
            case CREATE_CLUSTER_MIRROR -> request ? CreateClusterMirrorRequest.class : MirrorResponse.class;
            case DELETE_CLUSTER_MIRROR -> request ? DeleteClusterMirrorRequest.class : MirrorResponse.class;
            case START_MIRROR_TOPICS, STOP_MIRROR_TOPICS, PAUSE_MIRROR_TOPICS, RESUME_MIRROR_TOPICS ->
                request ? MirrorTopicsRequest.class : MirrorResponse.class;
            case LIST_CLUSTER_MIRRORS -> request ? ListClusterMirrorsRequest.class : ListClusterMirrorsResponse.class;
            case DESCRIBE_CLUSTER_MIRRORS ->
                request ? DescribeClusterMirrorsRequest.class : DescribeClusterMirrorsResponse.class;
        };
    }

    static Body decode(PrivateApi api, boolean request, Readable readable) {
        BodyReader in = new BodyReader(readable, request ? REQUEST_FACTOR : RESPONSE_FACTOR);
        Class<? extends Body> type = type(api, request);
        Body body;
        if (type == CreateClusterMirrorRequest.class) {
            body = new CreateClusterMirrorRequest(in.string(), configs(in));
        } else if (type == DeleteClusterMirrorRequest.class) {
            body = new DeleteClusterMirrorRequest(in.string());
        } else if (type == MirrorTopicsRequest.class) {
            body = new MirrorTopicsRequest(in.string(), in.list(in::string), in.list(in::string));
        } else if (type == MirrorResponse.class) {
            body = new MirrorResponse(
                    in.int16(),
                    in.nullableString(),
                    in.list(() -> in.struct(() -> new TopicResult(in.string(), in.int16(), in.nullableString()))),
                    in.list(in::string));
        } else if (type == ListClusterMirrorsRequest.class) {
            body = new ListClusterMirrorsRequest();
        } else if (type == ListClusterMirrorsResponse.class) {
            body = new ListClusterMirrorsResponse(
                    in.int16(), in.nullableString(), in.list(() -> in.struct(() -> listing(in))));
        } else if (type == DescribeClusterMirrorsRequest.class) {
            body = new DescribeClusterMirrorsRequest(in.list(in::string));
        } else {
            body = new DescribeClusterMirrorsResponse(
                    in.int16(), in.nullableString(), in.list(() -> in.struct(() -> description(in))));
        }
        in.tags();
        return body;
    }

    static byte[] encode(Body body) {
        BodyWriter out = new BodyWriter();
        if (body instanceof CreateClusterMirrorRequest b) {
            out.string(b.mirror());
            out.list(b.configs().entrySet(), entry -> {
                out.string(entry.getKey());
                out.nullableString(entry.getValue());
                out.tags();
            });
        } else if (body instanceof DeleteClusterMirrorRequest b) {
            out.string(b.mirror());
        } else if (body instanceof MirrorTopicsRequest b) {
            out.string(b.mirror());
            out.list(b.topics(), out::string);
            out.list(b.exclude(), out::string);
        } else if (body instanceof MirrorResponse b) {
            out.int16(b.errorCode());
            out.nullableString(b.errorMessage());
            out.list(b.topics(), topic -> {
                out.string(topic.topic());
                out.int16(topic.errorCode());
                out.nullableString(topic.errorMessage());
                out.tags();
            });
            out.list(b.warnings(), out::string);
        } else if (body instanceof ListClusterMirrorsResponse b) {
            out.int16(b.errorCode());
            out.nullableString(b.errorMessage());
            out.list(b.mirrors(), mirror -> listing(out, mirror));
        } else if (body instanceof DescribeClusterMirrorsRequest b) {
            out.list(b.mirrors(), out::string);
        } else if (body instanceof DescribeClusterMirrorsResponse b) {
            out.int16(b.errorCode());
            out.nullableString(b.errorMessage());
            out.list(b.mirrors(), mirror -> description(out, mirror));
        } else if (!(body instanceof ListClusterMirrorsRequest)) {
            throw new AssertionError(body.getClass());
        }
        out.tags();
        return out.bytes();
    }

    private static Map<String, String> configs(BodyReader in) {
        Map<String, String> configs = new LinkedHashMap<>();
        in.list(() -> in.struct(() -> {
            String key = in.string();
            if (configs.containsKey(key)) {
                throw new IllegalArgumentException("config " + key + " is given twice");
            }
            configs.put(key, in.nullableString());
            return key;
        }));
        return configs;
    }

    private static MirrorListing listing(BodyReader in) {
        return new MirrorListing(in.string(), in.int32(), in.nullableString(), in.nullableString());
    }

    private static void listing(BodyWriter out, MirrorListing mirror) {
        out.string(mirror.mirror());
        out.int32(mirror.topics());
        out.nullableString(mirror.sourceClusterId());
        out.nullableString(mirror.sourceBootstrapServers());
        out.tags();
    }

    private static MirrorDescription description(BodyReader in) {
        return new MirrorDescription(
                in.string(),
                in.int16(),
                in.nullableString(),
                in.nullableString(),
                in.nullableString(),
                in.nullableString(),
                in.list(() -> in.struct(() -> new MirrorTopicDescription(
                        in.string(), in.uuid(), in.nullableString(), in.list(() -> in.struct(() -> partition(in)))))));
    }

    private static void description(BodyWriter out, MirrorDescription mirror) {
        out.string(mirror.mirror());
        out.int16(mirror.errorCode());
        out.nullableString(mirror.errorMessage());
        out.nullableString(mirror.sourceClusterId());
        out.nullableString(mirror.sourceBootstrapServers());
        out.nullableString(mirror.sourceStatus());
        out.list(mirror.topics(), topic -> {
            out.string(topic.topic());
            out.uuid(topic.topicId());
            out.nullableString(topic.desiredState());
            out.list(topic.partitions(), partition -> partition(out, partition));
            out.tags();
        });
        out.tags();
    }

    private static MirrorPartitionDescription partition(BodyReader in) {
        return new MirrorPartitionDescription(
                in.int32(),
                in.nullableString(),
                in.int64(),
                in.int64(),
                in.int64(),
                in.int64(),
                in.int64(),
                in.int64(),
                in.int64(),
                in.int64(),
                in.int64(),
                in.int32(),
                in.nullableString());
    }

    private static void partition(BodyWriter out, MirrorPartitionDescription partition) {
        out.int32(partition.partition());
        out.nullableString(partition.state());
        out.int64(partition.sourceStartOffset());
        out.int64(partition.sourceOffset());
        out.int64(partition.destinationStartOffset());
        out.int64(partition.destinationOffset());
        out.int64(partition.lag());
        out.int64(partition.lagBytes());
        out.int64(partition.lagMs());
        out.int64(partition.measuredAgoMs());
        out.int64(partition.mirroredBytes());
        out.int32(partition.retryAttempt());
        out.nullableString(partition.errorMessage());
        out.tags();
    }
}
