package io.kagami.protocol;

import java.util.Locale;

/** Api keys that Kafka has not assigned: the mirror RPCs. Version 0 only; flexible headers. */
public enum PrivateApi {
    CREATE_CLUSTER_MIRROR(10000),
    DELETE_CLUSTER_MIRROR(10001),
    START_MIRROR_TOPICS(10002),
    STOP_MIRROR_TOPICS(10003),
    PAUSE_MIRROR_TOPICS(10004),
    RESUME_MIRROR_TOPICS(10005),
    LIST_CLUSTER_MIRRORS(10006),
    DESCRIBE_CLUSTER_MIRRORS(10007);

    private static final PrivateApi[] VALUES = values();

    private final short key;

    PrivateApi(int key) {
        this.key = (short) key;
    }

    public short key() {
        return key;
    }

    /** The name as printed, in the way Kafka spells its own: {@code CreateClusterMirror}. */
    public String wireName() {
        StringBuilder name = new StringBuilder();
        for (String word : name().split("_")) {
            name.append(word.charAt(0)).append(word.substring(1).toLowerCase(Locale.ROOT));
        }
        return name.toString();
    }

    /** The api of a key, or null when the key is not private. */
    public static PrivateApi find(short key) {
        int at = key - CREATE_CLUSTER_MIRROR.key;
        return at >= 0 && at < VALUES.length ? VALUES[at] : null;
    }
}
