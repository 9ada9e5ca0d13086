package io.kagami.broker.api;

import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.partition.Partition;
import io.kagami.log.Appended;
import io.kagami.log.LogName;
import io.kagami.log.LogView;
import io.kagami.log.PartitionLog;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.apache.kafka.common.Uuid;

/** What a coordinator needs of a partition; {@link #asPartition} refuses everything else. */
abstract class PartitionStub {
    private final TopicImage topic;
    private final LogName name;
    private final PartitionLog log;
    private final Executor loop;

    PartitionStub(TopicImage topic, LogName name, PartitionLog log, Executor loop) {
        this.topic = topic;
        this.name = name;
        this.log = log;
        this.loop = loop;
    }

    abstract CompletableFuture<Appended> append(ByteBuffer batches);

    Partition asPartition() {
        return (Partition) Proxy.newProxyInstance(
                Partition.class.getClassLoader(),
                new Class<?>[] {Partition.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "topic" -> name.topic();
                    case "topicId" -> id();
                    case "partition" -> name.partition();
                    case "view" -> view();
                    case "loop" -> loop;
                    case "renewals" -> 0;
                    case "append" -> append((ByteBuffer) arguments[0]);
                    case "toString" -> name.toString();
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }

    private Uuid id() {
        return topic.id();
    }

    private LogView view() {
        return log.view();
    }
}
