package io.kagami.it.bench;

/** Names of what is measured, as they stand in tables and result files. */
final class Systems {
    static final String KAGAMI = "kagami";
    /** MirrorMaker 2 with large fetches and batches. */
    static final String MM2 = "mm2";
    /** MirrorMaker 2 with the settings it comes with. */
    static final String MM2_DEFAULT = "mm2-default";
    /** A second broker of the source cluster that becomes a replica. */
    static final String FOLLOWER = "follower";

    static final String KAFKA = "kafka";
    /** No broker at all: one thread sends a file, another discards it. */
    static final String SENDFILE = "sendfile";

    private Systems() {}
}
