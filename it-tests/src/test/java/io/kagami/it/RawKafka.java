package io.kagami.it;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageSizeAccumulator;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * Talks to a cluster over plain blocking sockets, so that a comparison shares no code with the client or the server under test.
 * Speaks versions that every source from 2.1.1 on and Kagami know. One thread at a time.
 */
final class RawKafka implements AutoCloseable {
    private static final int TIMEOUT_MS = 30_000;
    private static final short FETCH = 10;
    private static final short LIST_OFFSETS = 4;
    private static final short METADATA = 7;

    private final List<InetSocketAddress> bootstrap;
    private final Map<InetSocketAddress, Wire> wires = new HashMap<>();

    RawKafka(String bootstrap) {
        this.bootstrap =
                List.of(bootstrap.split(",")).stream().map(RawKafka::address).toList();
    }

    static InetSocketAddress address(String hostPort) {
        int colon = hostPort.lastIndexOf(':');
        return new InetSocketAddress(hostPort.substring(0, colon), Integer.parseInt(hostPort.substring(colon + 1)));
    }

    /** Where the leaders of a topic's partitions are, by partition. */
    Map<Integer, InetSocketAddress> leaders(String topic) {
        MetadataResponseData data = metadata(topic);
        Map<Integer, InetSocketAddress> nodes = new HashMap<>();
        data.brokers().forEach(b -> nodes.put(b.nodeId(), new InetSocketAddress(b.host(), b.port())));
        Map<Integer, InetSocketAddress> leaders = new TreeMap<>();
        for (MetadataResponseData.MetadataResponseTopic t : data.topics()) {
            require(t.errorCode(), "Metadata of " + topic);
            t.partitions().forEach(p -> leaders.put(p.partitionIndex(), nodes.get(p.leaderId())));
        }
        return leaders;
    }

    MetadataResponseData metadata(String topic) {
        MetadataRequestData request = new MetadataRequestData()
                .setAllowAutoTopicCreation(false)
                .setTopics(List.of(new MetadataRequestData.MetadataRequestTopic().setName(topic)));
        RuntimeException last = null;
        for (InetSocketAddress server : bootstrap) {
            try {
                return (MetadataResponseData) send(server, ApiKeys.METADATA, METADATA, request);
            } catch (UncheckedIOException e) {
                last = e;
            }
        }
        throw new IllegalStateException("none of " + bootstrap + " answers", last);
    }

    /** @param timestamp -2 for the start, -1 for the end (exclusive) */
    long offset(InetSocketAddress leader, String topic, int partition, long timestamp) {
        ListOffsetsRequestData request = new ListOffsetsRequestData()
                .setReplicaId(-1)
                .setTopics(List.of(new ListOffsetsRequestData.ListOffsetsTopic()
                        .setName(topic)
                        .setPartitions(List.of(new ListOffsetsRequestData.ListOffsetsPartition()
                                .setPartitionIndex(partition)
                                .setCurrentLeaderEpoch(-1)
                                .setTimestamp(timestamp)))));
        ListOffsetsResponseData answer =
                (ListOffsetsResponseData) send(leader, ApiKeys.LIST_OFFSETS, LIST_OFFSETS, request);
        ListOffsetsResponseData.ListOffsetsPartitionResponse p =
                answer.topics().get(0).partitions().get(0);
        require(p.errorCode(), "ListOffsets of " + topic + "-" + partition);
        return p.offset();
    }

    /** The records field of a fetch answer as it came: whole batches, and perhaps the beginning of one more. */
    ByteBuffer fetch(InetSocketAddress leader, String topic, int partition, long offset, int bytesMax) {
        FetchRequestData request = new FetchRequestData()
                .setReplicaId(-1)
                .setMaxWaitMs(500)
                .setMinBytes(1)
                .setMaxBytes(bytesMax)
                .setIsolationLevel((byte) 0)
                .setSessionId(0)
                .setSessionEpoch(-1)
                .setTopics(List.of(new FetchRequestData.FetchTopic()
                        .setTopic(topic)
                        .setPartitions(List.of(new FetchRequestData.FetchPartition()
                                .setPartition(partition)
                                .setCurrentLeaderEpoch(-1)
                                .setFetchOffset(offset)
                                .setLogStartOffset(-1)
                                .setPartitionMaxBytes(bytesMax)))));
        FetchResponseData answer = (FetchResponseData) send(leader, ApiKeys.FETCH, FETCH, request);
        require(answer.errorCode(), "Fetch");
        FetchResponseData.PartitionData data =
                answer.responses().get(0).partitions().get(0);
        require(data.errorCode(), "Fetch of " + topic + "-" + partition + " at " + offset);
        return data.records() == null
                ? ByteBuffer.allocate(0)
                : ((MemoryRecords) data.records()).buffer().duplicate();
    }

    ApiMessage send(InetSocketAddress to, ApiKeys api, short version, ApiMessage request) {
        Wire wire = wires.get(to);
        try {
            if (wire == null) {
                wire = new Wire(to);
                wires.put(to, wire);
            }
            return wire.call(api, version, request);
        } catch (IOException e) {
            wires.remove(to);
            if (wire != null) {
                wire.close();
            }
            throw new UncheckedIOException(api + " v" + version + " to " + to + " failed: " + e.getMessage(), e);
        }
    }

    private static void require(short code, String what) {
        if (code != 0) {
            throw Errors.forCode(code)
                    .exception(what + ": " + Errors.forCode(code).message());
        }
    }

    /** A frame as it goes over the wire, length prefix included. */
    static byte[] frame(ApiKeys api, short version, int correlationId, ApiMessage request) {
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(api.id)
                .setRequestApiVersion(version)
                .setCorrelationId(correlationId)
                .setClientId("raw-comparer");
        short headerVersion = api.requestHeaderVersion(version);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        MessageSizeAccumulator size = new MessageSizeAccumulator();
        header.addSize(size, cache, headerVersion);
        request.addSize(size, cache, version);
        byte[] bytes = new byte[4 + size.totalSize()];
        ByteBuffer frame = ByteBuffer.wrap(bytes);
        frame.putInt(size.totalSize());
        ByteBufferAccessor out = new ByteBufferAccessor(frame);
        header.write(out, cache, headerVersion);
        request.write(out, cache, version);
        return bytes;
    }

    @Override
    public void close() {
        wires.values().forEach(Wire::close);
        wires.clear();
    }

    /** One socket. */
    private static final class Wire {
        private final Socket socket = new Socket();
        private final DataInputStream in;
        private final DataOutputStream out;
        private int correlationId;

        Wire(InetSocketAddress to) throws IOException {
            socket.setTcpNoDelay(true);
            socket.setSoTimeout(TIMEOUT_MS);
            // an advertised name is looked up here, at each connect
            socket.connect(new InetSocketAddress(to.getHostString(), to.getPort()), TIMEOUT_MS);
            in = new DataInputStream(socket.getInputStream());
            out = new DataOutputStream(socket.getOutputStream());
        }

        ApiMessage call(ApiKeys api, short version, ApiMessage request) throws IOException {
            out.write(frame(api, version, ++correlationId, request));
            out.flush();
            byte[] answer = new byte[in.readInt()];
            in.readFully(answer);
            ByteBufferAccessor readable = new ByteBufferAccessor(ByteBuffer.wrap(answer));
            ResponseHeaderData header = new ResponseHeaderData(readable, api.responseHeaderVersion(version));
            if (header.correlationId() != correlationId) {
                throw new IOException("answer " + header.correlationId() + " to request " + correlationId);
            }
            ApiMessage body = api.messageType.newResponse();
            body.read(readable, version);
            return body;
        }

        void close() {
            try {
                socket.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
