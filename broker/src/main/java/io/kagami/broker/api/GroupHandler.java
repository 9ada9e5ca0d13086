package io.kagami.broker.api;

import io.kagami.broker.coordinator.GroupCoordinator;
import io.kagami.broker.coordinator.ShardHost;
import io.kagami.broker.coordinator.ShardUnavailable;
import io.kagami.broker.core.group.GroupShard;
import io.kagami.broker.net.Session;
import io.kagami.protocol.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.message.DeleteGroupsRequestData;
import org.apache.kafka.common.message.DeleteGroupsResponseData;
import org.apache.kafka.common.message.DeleteGroupsResponseData.DeletableGroupResult;
import org.apache.kafka.common.message.DescribeGroupsRequestData;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.DescribeGroupsResponseData.DescribedGroup;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.ListGroupsResponseData.ListedGroup;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/**
 * JoinGroup 0-9, SyncGroup 0-5, Heartbeat 0-4, LeaveGroup 0-5, ListGroups 0-5, DescribeGroups 0-6, DeleteGroups 0-3 of the classic
 * protocol. Left out: the consumer, share and streams protocols (their api keys are not in the table), throttling.
 */
final class GroupHandler {
    private static final short LEAVE_IN_BATCHES_FROM = 3;
    private static final short GROUP_ID_NOT_FOUND_FROM = 6;
    private static final short AUTHORIZED_OPERATIONS_FROM = 3;

    private final GroupCoordinator coordinator;

    GroupHandler(GroupCoordinator coordinator) {
        this.coordinator = coordinator;
    }

    CompletionStage<ApiMessage> join(Request request, Session session) {
        JoinGroupRequestData body = (JoinGroupRequestData) request.body();
        String clientId =
                request.header().clientId() == null ? "" : request.header().clientId();
        String host = String.valueOf(session.peer().getAddress());
        GroupShard.Join join = new GroupShard.Join(
                body, request.version(), clientId, host, UUID.randomUUID().toString());
        return orElse(
                atShard(
                        body.groupId(),
                        host(JoinGroupResponseData.class, (s, token, now) -> s.onJoin(token, join, now))),
                error ->
                        new JoinGroupResponseData().setMemberId(body.memberId()).setErrorCode(error.code()));
    }

    CompletionStage<ApiMessage> sync(Request request, Session session) {
        SyncGroupRequestData body = (SyncGroupRequestData) request.body();
        return orElse(
                atShard(
                        body.groupId(),
                        host(SyncGroupResponseData.class, (s, token, now) -> s.onSync(token, body, now))),
                error -> new SyncGroupResponseData().setErrorCode(error.code()));
    }

    CompletionStage<ApiMessage> heartbeat(Request request, Session session) {
        HeartbeatRequestData body = (HeartbeatRequestData) request.body();
        return orElse(
                atShard(
                        body.groupId(),
                        host(HeartbeatResponseData.class, (s, token, now) -> s.onHeartbeat(token, body, now))),
                // a member that waits for a load needs no other word than "go on" (as in Kafka)
                error -> new HeartbeatResponseData()
                        .setErrorCode(error == Errors.COORDINATOR_LOAD_IN_PROGRESS ? 0 : error.code()));
    }

    CompletionStage<ApiMessage> leave(Request request, Session session) {
        LeaveGroupRequestData body = (LeaveGroupRequestData) request.body();
        boolean single = request.version() < LEAVE_IN_BATCHES_FROM;
        List<MemberIdentity> leaving =
                single ? List.of(new MemberIdentity().setMemberId(body.memberId())) : body.members();
        return orElse(
                atShard(
                                body.groupId(),
                                host(
                                        LeaveGroupResponseData.class,
                                        (s, token, now) -> s.onLeave(token, body.groupId(), leaving, now)))
                        .thenApply(reply -> single ? single(reply) : reply),
                error -> new LeaveGroupResponseData().setErrorCode(error.code()));
    }

    private static LeaveGroupResponseData single(LeaveGroupResponseData reply) {
        short own = reply.members().isEmpty() ? 0 : reply.members().get(0).errorCode();
        return new LeaveGroupResponseData().setErrorCode(reply.errorCode() != 0 ? reply.errorCode() : own);
    }

    CompletionStage<ApiMessage> list(Request request, Session session) {
        ListGroupsRequestData body = (ListGroupsRequestData) request.body();
        List<CompletableFuture<ListGroupsResponseData>> parts = new ArrayList<>();
        for (ShardHost host : coordinator.all()) {
            parts.add(host.read(
                            ListGroupsResponseData.class, shard -> new ListGroupsResponseData().setGroups(shard.list()))
                    .toCompletableFuture());
        }
        return orElse(
                join(parts).thenApply(all -> {
                    ListGroupsResponseData reply = new ListGroupsResponseData();
                    all.forEach(part -> part.groups().stream()
                            .filter(group -> wanted(group, body))
                            .forEach(reply.groups()::add));
                    return reply;
                }),
                error -> new ListGroupsResponseData().setErrorCode(error.code()));
    }

    private static boolean wanted(ListedGroup group, ListGroupsRequestData body) {
        return contains(body.statesFilter(), group.groupState()) && contains(body.typesFilter(), group.groupType());
    }

    /** Without regard to case; an empty filter lets everything through. */
    private static boolean contains(List<String> filter, String value) {
        return filter.isEmpty() || filter.stream().anyMatch(value::equalsIgnoreCase);
    }

    CompletionStage<ApiMessage> describe(Request request, Session session) {
        DescribeGroupsRequestData body = (DescribeGroupsRequestData) request.body();
        List<CompletableFuture<DescribedGroup>> parts = new ArrayList<>();
        for (String groupId : body.groups()) {
            CompletionStage<DescribedGroup> part = atShard(
                    groupId,
                    host -> host.read(DescribedGroup.class, shard -> {
                        DescribedGroup found = shard.describe(groupId);
                        return found == null ? unknown(groupId, request.version()) : found;
                    }));
            parts.add(part.exceptionally(failure -> new DescribedGroup()
                            .setGroupId(groupId)
                            .setErrorCode(errorOf(failure).code()))
                    .toCompletableFuture());
        }
        boolean operations = request.version() >= AUTHORIZED_OPERATIONS_FROM && body.includeAuthorizedOperations();
        return join(parts).thenApply(all -> {
            if (operations) {
                all.stream()
                        .filter(group -> group.errorCode() == 0)
                        .forEach(group -> group.setAuthorizedOperations(everythingOnGroups()));
            }
            return new DescribeGroupsResponseData().setGroups(all);
        });
    }

    private static DescribedGroup unknown(String groupId, short version) {
        DescribedGroup group = new DescribedGroup().setGroupId(groupId).setGroupState("Dead");
        return version < GROUP_ID_NOT_FOUND_FROM
                ? group
                : group.setErrorCode(Errors.GROUP_ID_NOT_FOUND.code())
                        .setErrorMessage("Group " + groupId + " not found.");
    }

    /** Without access control everybody may do all there is to do with a group. */
    private static int everythingOnGroups() {
        int bits = 0;
        for (AclOperation operation : List.of(
                AclOperation.READ,
                AclOperation.DELETE,
                AclOperation.DESCRIBE,
                AclOperation.DESCRIBE_CONFIGS,
                AclOperation.ALTER_CONFIGS)) {
            bits |= 1 << operation.code();
        }
        return bits;
    }

    CompletionStage<ApiMessage> delete(Request request, Session session) {
        DeleteGroupsRequestData body = (DeleteGroupsRequestData) request.body();
        List<CompletableFuture<DeletableGroupResult>> parts = new ArrayList<>();
        for (String groupId : body.groupsNames().stream().distinct().toList()) {
            CompletionStage<DeletableGroupResult> part = atShard(
                    groupId,
                    host(DeletableGroupResult.class, (shard, token, now) -> shard.onDeleteGroup(token, groupId, now)));
            parts.add(part.exceptionally(failure -> new DeletableGroupResult()
                            .setGroupId(groupId)
                            .setErrorCode(errorOf(failure).code()))
                    .toCompletableFuture());
        }
        return join(parts).thenApply(all -> {
            DeleteGroupsResponseData reply = new DeleteGroupsResponseData();
            all.forEach(reply.results()::add);
            return reply;
        });
    }

    private <T> CompletionStage<T> atShard(String groupId, Function<ShardHost, CompletionStage<T>> question) {
        return atShard(coordinator, groupId, question);
    }

    static <T> CompletionStage<T> atShard(
            GroupCoordinator coordinator, String groupId, Function<ShardHost, CompletionStage<T>> question) {
        try {
            return question.apply(coordinator.hostOf(groupId));
        } catch (ShardUnavailable e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    static <T> Function<ShardHost, CompletionStage<T>> host(Class<T> replyType, ShardHost.Event event) {
        return host -> host.change(replyType, event);
    }

    /** A shard that cannot answer becomes an error code; everything else is a bug and stays one. */
    static <T extends ApiMessage> CompletionStage<ApiMessage> orElse(
            CompletionStage<T> reply, Function<Errors, ApiMessage> instead) {
        return reply.handle((body, failure) -> failure == null ? body : instead.apply(errorOf(failure)));
    }

    /** @throws CompletionException with the failure, unless it is {@link ShardUnavailable} */
    static Errors errorOf(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof ShardUnavailable unavailable) {
            return unavailable.error();
        }
        throw new CompletionException(cause);
    }

    /** All results in the order of the parts. */
    static <T> CompletableFuture<List<T>> join(List<CompletableFuture<T>> parts) {
        return CompletableFuture.allOf(parts.toArray(CompletableFuture[]::new))
                .thenApply(done -> parts.stream().map(CompletableFuture::join).toList());
    }
}
