package io.kagami.protocol;

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

    private final short key;

    PrivateApi(int key) {
        this.key = (short) key;
    }

    public short key() {
        return key;
    }
}
