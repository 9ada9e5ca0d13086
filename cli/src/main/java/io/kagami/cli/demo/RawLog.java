package io.kagami.cli.demo;

import io.kagami.cli.wire.Wire;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.records.RecordBatches;
import java.nio.ByteBuffer;
import java.util.List;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchRequestData.FetchPartition;
import org.apache.kafka.common.message.FetchRequestData.FetchTopic;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;

/**
 * The batches of one partition as its leader serves them to a reader of uncommitted records, one after the other, byte for byte. Blocks;
 * for one thread.
 */
final class RawLog {
    /** The last version that names topics by name, which every broker has. */
    private static final int FETCH_BY_NAME_MAX = 12;

    private static final int PARTITION_BYTES_MAX = 4 * 1024 * 1024;
    private static final int ANSWER_BYTES_MAX = 64 * 1024 * 1024;
    private static final int MIN_BYTES = 1;
    private static final int WAIT_MS = 500;

    private static final int LENGTH_AT = 8;
    private static final int LOG_OVERHEAD = 12;
    private static final int MAGIC_AT = 16;
    private static final int LAST_OFFSET_DELTA_AT = 23;
    private static final int COUNT_AT = 57;
    private static final int INFLATED_BYTES_MAX = 256 * 1024 * 1024;

    private final Wire wire;
    private final Connection leader;
    private final String topic;
    private final int partition;
    private ByteBuffer fetched = ByteBuffer.allocate(0);
    private long nextOffset;

    RawLog(Wire wire, int leader, String topic, int partition, long fromOffset) {
        this.wire = wire;
        this.leader = wire.connection(leader);
        this.topic = topic;
        this.partition = partition;
        this.nextOffset = fromOffset;
    }

    /** The next whole batch, or null at the end of the log. */
    ByteBuffer next() {
        ByteBuffer batch = cut();
        if (batch == null) {
            fetched = fetch();
            batch = cut();
        }
        if (batch == null) {
            if (fetched.hasRemaining()) {
                throw new DemoFailed("The leader of " + this + " at " + wire.address()
                        + " serves a torn batch at offset " + nextOffset);
            }
            return null;
        }
        nextOffset = lastOffset(batch) + 1;
        return batch;
    }

    static long baseOffset(ByteBuffer batch) {
        return batch.getLong(batch.position());
    }

    /** Of formats 0 and 1 the offset in the header is that of the last message in it. */
    static long lastOffset(ByteBuffer batch) {
        int delta =
                batch.get(batch.position() + MAGIC_AT) < 2 ? 0 : batch.getInt(batch.position() + LAST_OFFSET_DELTA_AT);
        return baseOffset(batch) + delta;
    }

    static long records(ByteBuffer batch) {
        if (batch.get(batch.position() + MAGIC_AT) >= 2) {
            return batch.getInt(batch.position() + COUNT_AT);
        }
        long[] count = {0};
        RecordBatches.forEachRecord(batch, INFLATED_BYTES_MAX, ignored -> count[0]++);
        return count[0];
    }

    private ByteBuffer cut() {
        if (fetched.remaining() < LOG_OVERHEAD) {
            return null;
        }
        int size = LOG_OVERHEAD + fetched.getInt(fetched.position() + LENGTH_AT);
        if (size <= LOG_OVERHEAD || size > fetched.remaining()) {
            return null;
        }
        ByteBuffer batch = fetched.slice(fetched.position(), size);
        fetched.position(fetched.position() + size);
        return batch;
    }

    private ByteBuffer fetch() {
        FetchRequestData request = new FetchRequestData()
                .setMaxWaitMs(WAIT_MS)
                .setMinBytes(MIN_BYTES)
                .setMaxBytes(ANSWER_BYTES_MAX)
                .setTopics(List.of(new FetchTopic()
                        .setTopic(topic)
                        .setPartitions(List.of(new FetchPartition()
                                .setPartition(partition)
                                .setFetchOffset(nextOffset)
                                .setPartitionMaxBytes(PARTITION_BYTES_MAX)))));
        return wire.read(leader.send(request, FETCH_BY_NAME_MAX), reply -> {
            FetchResponseData answer = (FetchResponseData) reply.body();
            String what = "Cannot read " + this + " from offset " + nextOffset;
            wire.check(answer.errorCode(), null, what);
            PartitionData data = answer.responses().get(0).partitions().get(0);
            wire.check(data.errorCode(), null, what);
            ByteBuffer bytes = RecordBatches.bytes(data.records());
            // the answer's buffer is gone after this
            return ByteBuffer.allocate(bytes.remaining()).put(bytes).flip();
        });
    }

    @Override
    public String toString() {
        return topic + "-" + partition;
    }
}
