package io.kagami.mirror;

import java.util.Map;

/** One mirror as the metadata log has it: name, pinned source cluster id (null before first contact) and raw configuration. */
public record MirrorSpec(String name, String sourceClusterId, Map<String, String> configs) {}
