package io.kagami.protocol;

/** Error codes of mirroring that Kafka has not numbered yet; kept in this one place, from 10000 on. */
public enum MirrorError {
    UNKNOWN_CLUSTER_MIRROR(10000, "There is no mirror of that name."),
    CLUSTER_MIRROR_ALREADY_EXISTS(10001, "A mirror of that name exists."),
    INVALID_CLUSTER_MIRROR_NAME(10002, "Mirror names follow the rules of topic names."),
    CLUSTER_MIRROR_NOT_EMPTY(10003, "The mirror has topics that are not stopped."),
    INVALID_CLUSTER_MIRROR_STATE(10004, "The topic's state does not allow this."),
    TOPIC_ALREADY_IN_CLUSTER_MIRROR(10005, "The topic belongs to an active mirror."),
    TOPIC_NOT_IN_CLUSTER_MIRROR(10006, "The topic does not belong to this mirror.");

    private final short code;
    private final String message;

    MirrorError(int code, String message) {
        this.code = (short) code;
        this.message = message;
    }

    public short code() {
        return code;
    }

    public String message() {
        return message;
    }

    /** The name of a code of either family, for printing. */
    public static String nameOf(short code) {
        for (MirrorError error : values()) {
            if (error.code == code) {
                return error.name();
            }
        }
        return org.apache.kafka.common.protocol.Errors.forCode(code).name();
    }
}
