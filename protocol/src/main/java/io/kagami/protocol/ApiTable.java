package io.kagami.protocol;

import io.kagami.protocol.Api.Visibility;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The one table of APIs and versions that this broker speaks. */
public final class ApiTable {
    public static final short PRODUCE = 0;
    public static final short FETCH = 1;
    public static final short API_VERSIONS = 18;

    /** Ascending by key. */
    public static final List<Api> SUPPORTED = build();

    private static final Map<Short, Api> BY_KEY = byKey();

    private ApiTable() {}

    /** The row of a key, or null when this broker does not speak it. */
    public static Api find(short key) {
        return BY_KEY.get(key);
    }

    private static List<Api> build() {
        List<Api> rows = new ArrayList<>();
        // Produce 0-2 is advertised but not spoken: librdkafka stops compressing when the range does not start at 0.
        rows.add(new Api(PRODUCE, "Produce", (short) 3, (short) 13, (short) 0, Visibility.PUBLIC));
        open(rows, FETCH, "Fetch", 4, 18);
        open(rows, 2, "ListOffsets", 1, 11);
        open(rows, 3, "Metadata", 0, 13);
        open(rows, 8, "OffsetCommit", 2, 10);
        open(rows, 9, "OffsetFetch", 1, 10);
        open(rows, 10, "FindCoordinator", 0, 6);
        open(rows, 11, "JoinGroup", 0, 9);
        open(rows, 12, "Heartbeat", 0, 4);
        open(rows, 13, "LeaveGroup", 0, 5);
        open(rows, 14, "SyncGroup", 0, 5);
        open(rows, 15, "DescribeGroups", 0, 6);
        open(rows, 16, "ListGroups", 0, 5);
        open(rows, API_VERSIONS, "ApiVersions", 0, 5);
        open(rows, 19, "CreateTopics", 2, 7);
        open(rows, 20, "DeleteTopics", 1, 6);
        // Version 6 (two-phase commit) exists in the schema but is not stable.
        open(rows, 22, "InitProducerId", 0, 5);
        open(rows, 23, "OffsetForLeaderEpoch", 2, 4);
        open(rows, 32, "DescribeConfigs", 1, 4);
        open(rows, 42, "DeleteGroups", 0, 3);
        open(rows, 44, "IncrementalAlterConfigs", 0, 1);
        open(rows, 47, "OffsetDelete", 0, 0);
        open(rows, 60, "DescribeCluster", 0, 2);
        open(rows, 75, "DescribeTopicPartitions", 0, 0);
        for (PrivateApi api : PrivateApi.values()) {
            rows.add(new Api(api.key(), api.wireName(), (short) 0, (short) 0, (short) 0, Visibility.KAGAMI));
        }
        return List.copyOf(rows);
    }

    private static void open(List<Api> rows, int key, String name, int min, int max) {
        rows.add(new Api((short) key, name, (short) min, (short) max, (short) min, Visibility.PUBLIC));
    }

    private static Map<Short, Api> byKey() {
        Map<Short, Api> map = new HashMap<>();
        for (Api api : SUPPORTED) {
            if (map.put(api.key(), api) != null) {
                throw new IllegalStateException("api key " + api.key() + " is listed twice");
            }
        }
        return Map.copyOf(map);
    }
}
