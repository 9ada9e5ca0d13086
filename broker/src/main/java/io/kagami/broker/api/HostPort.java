package io.kagami.broker.api;

/** Where clients reach a listener. */
public record HostPort(String host, int port) {}
