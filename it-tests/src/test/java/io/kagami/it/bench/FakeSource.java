package io.kagami.it.bench;

import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.DescribeConfigsRequestData;
import org.apache.kafka.common.message.DescribeConfigsResponseData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageSizeAccumulator;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/**
 * One broker of a cluster that only a mirror would ask: as many topics as wanted, each partition a number of batches of one record, and
 * the answers that a real broker would give to metadata, offsets and fetches, long polls and fetch sessions included. It costs next
 * to nothing, so that what is measured beside it is the mirror. A thread per connection; anybody may append.
 */
final class FakeSource implements Closeable {
    private static final int NODE = 1;
    private static final int REQUEST_MAX = 64 << 20;
    private static final long EARLIEST = -2;
    private static final List<ApiKeys> SPOKEN = List.of(
            ApiKeys.API_VERSIONS,
            ApiKeys.METADATA,
            ApiKeys.LIST_OFFSETS,
            ApiKeys.OFFSET_FOR_LEADER_EPOCH,
            ApiKeys.FETCH,
            ApiKeys.DESCRIBE_CONFIGS);

    /** A topic: its id and how many records each of its partitions has. */
    static final class Topic {
        final String name;
        final Uuid id = Uuid.randomUuid();
        final int[] ends;

        Topic(String name, int partitions) {
            this.name = name;
            this.ends = new int[partitions];
        }
    }

    private final ServerSocket server;
    private final String clusterId = Uuid.randomUuid().toString();
    private final Map<String, Topic> topics = new LinkedHashMap<>();
    private final Map<Uuid, Topic> byId = new ConcurrentHashMap<>();
    private final List<Socket> sockets = new ArrayList<>();
    private final byte[] batch;
    private final Object growth = new Object();
    private volatile boolean closed;

    private FakeSource(ServerSocket server, int recordBytes) {
        this.server = server;
        MemoryRecords one = MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(new byte[recordBytes]));
        this.batch = new byte[one.sizeInBytes()];
        one.buffer().duplicate().get(batch);
    }

    /** Listens on a free port of 127.0.0.1; has no topics yet. */
    static FakeSource start(int recordBytes) throws IOException {
        FakeSource source = new FakeSource(new ServerSocket(0, 50, InetAddress.getLoopbackAddress()), recordBytes);
        Thread acceptor = new Thread(source::accept, "fake-source");
        acceptor.setDaemon(true);
        acceptor.start();
        return source;
    }

    String bootstrap() {
        return "127.0.0.1:" + server.getLocalPort();
    }

    void create(String name, int partitions) {
        synchronized (growth) {
            Topic topic = new Topic(name, partitions);
            topics.put(name, topic);
            byId.put(topic.id, topic);
        }
    }

    /** One more record; fetches that wait for it are answered. */
    void append(String name, int partition) {
        synchronized (growth) {
            topics.get(name).ends[partition]++;
            growth.notifyAll();
        }
    }

    /** A partition's records from an offset on, at most so many bytes but at least one batch; empty at the end. */
    ByteBuffer read(Topic topic, int partition, long offset, int bytesMax) {
        int end;
        synchronized (growth) {
            end = topic.ends[partition];
        }
        int count = (int) Math.min(Math.max(0, end - offset), Math.max(1, bytesMax / batch.length));
        ByteBuffer records = ByteBuffer.allocate(count * batch.length);
        for (int i = 0; i < count; i++) {
            int at = records.position();
            records.put(batch);
            // neither of the two is under the batch's checksum
            records.putLong(at, offset + i).putInt(at + Long.BYTES + Integer.BYTES, 0);
        }
        return records.flip();
    }

    long end(Topic topic, int partition) {
        synchronized (growth) {
            return topic.ends[partition];
        }
    }

    /** Waits until the condition holds, looking again after each append; at most so long, and not beyond the end of this source. */
    void await(BooleanSupplier condition, long nanos) throws InterruptedException {
        long deadline = System.nanoTime() + nanos;
        synchronized (growth) {
            long left = nanos;
            while (!closed && left > 0 && !condition.getAsBoolean()) {
                growth.wait(left / 1_000_000, (int) (left % 1_000_000));
                left = deadline - System.nanoTime();
            }
        }
    }

    /** The topic of a request: by name, or by id where requests name ids. */
    Topic find(String name, Uuid id) {
        synchronized (growth) {
            return id != null && !id.equals(Uuid.ZERO_UUID) ? byId.get(id) : topics.get(name);
        }
    }

    private void accept() {
        while (!closed) {
            try {
                Socket socket = server.accept();
                synchronized (sockets) {
                    sockets.add(socket);
                }
                Thread thread = new Thread(() -> serve(socket), "fake-source-" + socket.getPort());
                thread.setDaemon(true);
                thread.start();
            } catch (IOException e) {
                if (!closed) {
                    throw new IllegalStateException("the source cannot accept", e);
                }
            }
        }
    }

    private void serve(Socket socket) {
        FakeFetches fetches = new FakeFetches(this);
        try (socket) {
            socket.setTcpNoDelay(true);
            DataInputStream in = new DataInputStream(socket.getInputStream());
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            while (!closed) {
                int size = in.readInt();
                if (size < 0 || size > REQUEST_MAX) {
                    throw new IOException("a request of " + size + " bytes");
                }
                byte[] frame = new byte[size];
                in.readFully(frame);
                out.write(answer(ByteBuffer.wrap(frame), fetches));
                out.flush();
            }
        } catch (IOException gone) {
            // the mirror ended the connection, or we did
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private byte[] answer(ByteBuffer frame, FakeFetches fetches) throws IOException, InterruptedException {
        ApiKeys api = ApiKeys.forId(frame.getShort(0));
        short version = frame.getShort(Short.BYTES);
        ByteBufferAccessor in = new ByteBufferAccessor(frame);
        RequestHeaderData header = new RequestHeaderData(in, api.requestHeaderVersion(version));
        ApiMessage request = api.messageType.newRequest();
        request.read(in, version);
        ApiMessage body =
                switch (api) {
                    case API_VERSIONS -> versions();
                    case METADATA -> metadata((MetadataRequestData) request);
                    case LIST_OFFSETS -> offsets((ListOffsetsRequestData) request);
                    case OFFSET_FOR_LEADER_EPOCH -> epochs((OffsetForLeaderEpochRequestData) request);
                    case FETCH -> fetches.answer((FetchRequestData) request);
                    case DESCRIBE_CONFIGS -> configs((DescribeConfigsRequestData) request);
                    default -> throw new IOException(api + " is not spoken here");
                };
        ResponseHeaderData responseHeader = new ResponseHeaderData().setCorrelationId(header.correlationId());
        short headerVersion = api.responseHeaderVersion(version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        MessageSizeAccumulator size = new MessageSizeAccumulator();
        responseHeader.addSize(size, cache, headerVersion);
        body.addSize(size, cache, version);
        ByteBuffer out = ByteBuffer.allocate(Integer.BYTES + size.totalSize());
        out.putInt(size.totalSize());
        ByteBufferAccessor writable = new ByteBufferAccessor(out);
        responseHeader.write(writable, cache, headerVersion);
        body.write(writable, cache, version);
        return out.array();
    }

    private static ApiVersionsResponseData versions() {
        ApiVersionsResponseData data = new ApiVersionsResponseData();
        for (ApiKeys api : SPOKEN) {
            data.apiKeys()
                    .add(new ApiVersionsResponseData.ApiVersion()
                            .setApiKey(api.id)
                            .setMinVersion(api.oldestVersion())
                            .setMaxVersion(api.latestVersion()));
        }
        return data;
    }

    private MetadataResponseData metadata(MetadataRequestData request) {
        MetadataResponseData data =
                new MetadataResponseData().setClusterId(clusterId).setControllerId(NODE);
        data.brokers()
                .add(new MetadataResponseData.MetadataResponseBroker()
                        .setNodeId(NODE)
                        .setHost("127.0.0.1")
                        .setPort(server.getLocalPort()));
        synchronized (growth) {
            if (request.topics() == null) {
                topics.values().forEach(topic -> data.topics().add(describe(topic)));
                return data;
            }
        }
        for (MetadataRequestData.MetadataRequestTopic asked : request.topics()) {
            Topic topic = find(asked.name(), asked.topicId());
            data.topics()
                    .add(
                            topic != null
                                    ? describe(topic)
                                    : new MetadataResponseData.MetadataResponseTopic()
                                            .setName(asked.name())
                                            .setTopicId(asked.topicId())
                                            .setErrorCode(Errors.UNKNOWN_TOPIC_OR_PARTITION.code()));
        }
        return data;
    }

    private static MetadataResponseData.MetadataResponseTopic describe(Topic topic) {
        MetadataResponseData.MetadataResponseTopic described = new MetadataResponseData.MetadataResponseTopic()
                .setName(topic.name)
                .setTopicId(topic.id);
        for (int p = 0; p < topic.ends.length; p++) {
            described
                    .partitions()
                    .add(new MetadataResponseData.MetadataResponsePartition()
                            .setPartitionIndex(p)
                            .setLeaderId(NODE)
                            .setLeaderEpoch(0)
                            .setReplicaNodes(List.of(NODE))
                            .setIsrNodes(List.of(NODE)));
        }
        return described;
    }

    private ListOffsetsResponseData offsets(ListOffsetsRequestData request) {
        ListOffsetsResponseData data = new ListOffsetsResponseData();
        for (ListOffsetsRequestData.ListOffsetsTopic asked : request.topics()) {
            Topic topic = find(asked.name(), null);
            ListOffsetsResponseData.ListOffsetsTopicResponse answered =
                    new ListOffsetsResponseData.ListOffsetsTopicResponse().setName(asked.name());
            for (ListOffsetsRequestData.ListOffsetsPartition p : asked.partitions()) {
                ListOffsetsResponseData.ListOffsetsPartitionResponse one =
                        new ListOffsetsResponseData.ListOffsetsPartitionResponse()
                                .setPartitionIndex(p.partitionIndex());
                answered.partitions()
                        .add(
                                topic == null
                                        ? one.setErrorCode(Errors.UNKNOWN_TOPIC_OR_PARTITION.code())
                                        : one.setLeaderEpoch(0)
                                                .setOffset(
                                                        p.timestamp() == EARLIEST
                                                                ? 0
                                                                : end(topic, p.partitionIndex())));
            }
            data.topics().add(answered);
        }
        return data;
    }

    private OffsetForLeaderEpochResponseData epochs(OffsetForLeaderEpochRequestData request) {
        OffsetForLeaderEpochResponseData data = new OffsetForLeaderEpochResponseData();
        for (OffsetForLeaderEpochRequestData.OffsetForLeaderTopic asked : request.topics()) {
            Topic topic = find(asked.topic(), null);
            OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult answered =
                    new OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult().setTopic(asked.topic());
            for (OffsetForLeaderEpochRequestData.OffsetForLeaderPartition p : asked.partitions()) {
                OffsetForLeaderEpochResponseData.EpochEndOffset one =
                        new OffsetForLeaderEpochResponseData.EpochEndOffset().setPartition(p.partition());
                answered.partitions()
                        .add(
                                topic == null
                                        ? one.setErrorCode(Errors.UNKNOWN_TOPIC_OR_PARTITION.code())
                                        : one.setLeaderEpoch(0).setEndOffset(end(topic, p.partition())));
            }
            data.topics().add(answered);
        }
        return data;
    }

    /** No topic overrides anything. */
    private static DescribeConfigsResponseData configs(DescribeConfigsRequestData request) {
        DescribeConfigsResponseData data = new DescribeConfigsResponseData();
        request.resources().forEach(asked -> data.results()
                .add(new DescribeConfigsResponseData.DescribeConfigsResult()
                        .setResourceName(asked.resourceName())
                        .setResourceType(asked.resourceType())));
        return data;
    }

    @Override
    public void close() throws IOException {
        closed = true;
        server.close();
        synchronized (growth) {
            growth.notifyAll();
        }
        synchronized (sockets) {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }
}
