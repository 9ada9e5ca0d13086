package io.kagami.mirror.core;

/** What the operator wants of a mirror topic; lives in the metadata log. */
public enum Desired {
    MIRRORING,
    PAUSED,
    STOPPED
}
