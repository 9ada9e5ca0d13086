package io.kagami.broker.core.group;

import io.kagami.broker.core.group.GroupRecord.StoredMember;
import java.util.Arrays;
import java.util.List;

/** A member of a classic group. Mutable; owned by its group. */
final class Member {
    static final long NO_TOKEN = 0;
    static final byte[] NOTHING = new byte[0];

    /** One protocol that a member can use, in its order of preference; nobody changes the bytes. */
    @SuppressWarnings("ArrayRecordComponent")
    record Protocol(String name, byte[] metadata) {}

    private final String id;
    private final String instanceId;
    private final String clientId;
    private final String clientHost;
    int sessionTimeoutMs;
    int rebalanceTimeoutMs;
    List<Protocol> protocols;
    byte[] assignment = NOTHING;
    /** The parked JoinGroup, or {@link #NO_TOKEN}. */
    long joinToken = NO_TOKEN;
    /** The parked SyncGroup, or {@link #NO_TOKEN}. */
    long syncToken = NO_TOKEN;
    /** Never got an answer to a join: it cannot send heartbeats yet. */
    boolean fresh;

    Member(
            String id,
            String instanceId,
            String clientId,
            String clientHost,
            int sessionTimeoutMs,
            int rebalanceTimeoutMs,
            List<Protocol> protocols) {
        this.id = id;
        this.instanceId = instanceId;
        this.clientId = clientId;
        this.clientHost = clientHost;
        this.sessionTimeoutMs = sessionTimeoutMs;
        this.rebalanceTimeoutMs = rebalanceTimeoutMs;
        this.protocols = List.copyOf(protocols);
    }

    static Member restored(StoredMember stored, String protocol) {
        Member member = new Member(
                stored.memberId(),
                stored.instanceId(),
                stored.clientId(),
                stored.clientHost(),
                stored.sessionTimeoutMs(),
                stored.rebalanceTimeoutMs(),
                List.of(new Protocol(protocol == null ? "" : protocol, stored.subscription())));
        member.assignment = stored.assignment();
        return member;
    }

    String id() {
        return id;
    }

    /** Null for a dynamic member. */
    String instanceId() {
        return instanceId;
    }

    boolean isStatic() {
        return instanceId != null;
    }

    String clientId() {
        return clientId;
    }

    String clientHost() {
        return clientHost;
    }

    boolean joining() {
        return joinToken != NO_TOKEN;
    }

    boolean syncing() {
        return syncToken != NO_TOKEN;
    }

    boolean supports(String protocol) {
        return protocols.stream().anyMatch(own -> own.name().equals(protocol));
    }

    byte[] metadata(String protocol) {
        for (Protocol own : protocols) {
            if (own.name().equals(protocol)) {
                return own.metadata();
            }
        }
        return NOTHING;
    }

    /** Same protocols, same metadata, same order. */
    boolean matches(List<Protocol> others) {
        if (protocols.size() != others.size()) {
            return false;
        }
        for (int i = 0; i < others.size(); i++) {
            Protocol a = protocols.get(i);
            Protocol b = others.get(i);
            if (!a.name().equals(b.name()) || !Arrays.equals(a.metadata(), b.metadata())) {
                return false;
            }
        }
        return true;
    }

    static long bytes(List<Protocol> protocols) {
        long bytes = 0;
        for (Protocol protocol : protocols) {
            bytes += protocol.name().length() + (long) protocol.metadata().length;
        }
        return bytes;
    }

    StoredMember stored(String protocol, byte[] newAssignment) {
        return new StoredMember(
                id,
                instanceId,
                clientId,
                clientHost,
                rebalanceTimeoutMs,
                sessionTimeoutMs,
                metadata(protocol),
                newAssignment);
    }
}
