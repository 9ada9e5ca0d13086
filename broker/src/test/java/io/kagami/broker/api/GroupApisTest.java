package io.kagami.broker.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.kagami.broker.core.cluster.TopicImage;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.message.DeleteGroupsRequestData;
import org.apache.kafka.common.message.DeleteGroupsResponseData;
import org.apache.kafka.common.message.DescribeGroupsRequestData;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopic;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GroupApisTest {
    @TempDir
    private Path directory;

    private static FindCoordinatorRequestData find(String group) {
        return new FindCoordinatorRequestData().setKey(group).setKeyType((byte) 0);
    }

    private static FindCoordinatorRequestData find(int type, List<String> keys) {
        return new FindCoordinatorRequestData().setKeyType((byte) type).setCoordinatorKeys(keys);
    }

    private static OffsetCommitRequestData commit(String group, String topic, int partition, long offset) {
        return new OffsetCommitRequestData()
                .setGroupId(group)
                .setTopics(new ArrayList<>(List.of(new OffsetCommitRequestTopic()
                        .setName(topic)
                        .setPartitions(new ArrayList<>(List.of(new OffsetCommitRequestPartition()
                                .setPartitionIndex(partition)
                                .setCommittedOffset(offset)
                                .setCommittedMetadata("m")))))));
    }

    /** As a client does: the coordinator may still be loading. */
    private static Errors commit(GroupWorld world, OffsetCommitRequestData request, int version) {
        Errors[] last = new Errors[1];
        await().until(() -> {
            OffsetCommitResponseData reply = world.ask(OffsetCommitResponseData.class, request.duplicate(), version);
            last[0] = Errors.forCode(reply.topics().get(0).partitions().get(0).errorCode());
            return last[0] != Errors.COORDINATOR_LOAD_IN_PROGRESS;
        });
        return last[0];
    }

    private static long fetch(GroupWorld world, String group, String topic) {
        long[] offset = new long[1];
        await().until(() -> {
            OffsetFetchResponseData reply = world.ask(
                    OffsetFetchResponseData.class,
                    new OffsetFetchRequestData()
                            .setGroupId(group)
                            .setTopics(List.of(
                                    new OffsetFetchRequestTopic().setName(topic).setPartitionIndexes(List.of(0)))),
                    5);
            if (reply.errorCode() == Errors.COORDINATOR_LOAD_IN_PROGRESS.code()) {
                return false;
            }
            assertThat(reply.errorCode()).isZero();
            offset[0] = reply.topics().get(0).partitions().get(0).committedOffset();
            return true;
        });
        return offset[0];
    }

    @Test
    void theFirstQuestionForACoordinatorMakesTheTopicInEveryVersion() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            for (int version = 0; version <= 3; version++) {
                FindCoordinatorResponseData reply = world.ask(FindCoordinatorResponseData.class, find("g"), version);
                assertThat(reply.errorCode()).isZero();
                assertThat(reply.host()).isEqualTo("broker.PLAINTEXT");
                assertThat(reply.nodeId()).isEqualTo(1);
            }
            for (int version = 4; version <= 6; version++) {
                FindCoordinatorResponseData reply =
                        world.ask(FindCoordinatorResponseData.class, find(0, List.of("g", "h")), version);
                assertThat(reply.coordinators()).hasSize(2).allMatch(row -> row.errorCode() == 0 && row.port() == 9092);
            }
        }
    }

    @Test
    void transactionsAndShareGroupsAreRefusedWithASentence() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            FindCoordinatorResponseData transactions =
                    world.ask(FindCoordinatorResponseData.class, find(1, List.of("t")), 4);
            assertThat(transactions.coordinators().get(0).errorCode())
                    .isEqualTo(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code());
            assertThat(transactions.coordinators().get(0).errorMessage()).contains("transactional.id");
            FindCoordinatorResponseData share = world.ask(FindCoordinatorResponseData.class, find(2, List.of("s")), 6);
            assertThat(share.coordinators().get(0).errorMessage()).contains("share groups");
            FindCoordinatorResponseData other = world.ask(FindCoordinatorResponseData.class, find(9, List.of("s")), 6);
            assertThat(other.coordinators().get(0).errorMessage()).contains("9");
        }
    }

    @Test
    void withoutTheTopicThereIsNoCoordinator() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            world.createTopic("t", 1);
            assertThat(commit(world, commit("g", "t", 0, 5), 8)).isEqualTo(Errors.COORDINATOR_NOT_AVAILABLE);
            OffsetFetchRequestData v1 = new OffsetFetchRequestData()
                    .setGroupId("g")
                    .setTopics(
                            List.of(new OffsetFetchRequestTopic().setName("t").setPartitionIndexes(List.of(0))));
            OffsetFetchResponseData reply = world.ask(OffsetFetchResponseData.class, v1, 1);
            assertThat(reply.topics().get(0).partitions().get(0).errorCode())
                    .as("version 1 can say it on the partition alone")
                    .isEqualTo(Errors.COORDINATOR_NOT_AVAILABLE.code());
            assertThat(world.ask(ListGroupsResponseData.class, new ListGroupsRequestData(), 5)
                            .groups())
                    .isEmpty();
        }
    }

    @Test
    void aCommitIsThereAfterARestart() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            world.createTopic("t", 1);
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            for (int i = 0; i < 20; i++) {
                assertThat(commit(world, commit("g" + i, "t", 0, i), 8)).isEqualTo(Errors.NONE);
            }
        }
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            for (int i = 0; i < 20; i++) {
                assertThat(fetch(world, "g" + i, "t")).isEqualTo(i);
            }
            assertThat(fetch(world, "nobody", "t")).isEqualTo(-1);
        }
    }

    @Test
    void commitsForWhatDoesNotExistAreRefusedOneByOne() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            TopicImage topic = world.createTopic("t", 1);
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            assertThat(commit(world, commit("g", "none", 0, 1), 8)).isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION);
            assertThat(commit(world, commit("g", "t", -1, 1), 8)).isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION);
            OffsetCommitRequestData mixed = commit("g", "t", 0, 1);
            mixed.topics()
                    .get(0)
                    .partitions()
                    .add(new OffsetCommitRequestPartition().setPartitionIndex(1).setCommittedMetadata(""));
            assertThat(commit(world, mixed, 8)).isEqualTo(Errors.NONE);
            OffsetCommitResponseData reply = world.ask(OffsetCommitResponseData.class, mixed, 8);
            assertThat(reply.topics()).hasSize(1);
            assertThat(reply.topics().get(0).partitions().get(1).errorCode())
                    .isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION.code());
            OffsetCommitRequestData byId = commit("g", "", 0, 7);
            byId.topics().get(0).setTopicId(topic.id());
            assertThat(commit(world, byId, 10)).isEqualTo(Errors.NONE);
            byId.topics().get(0).setTopicId(Uuid.randomUuid());
            assertThat(commit(world, byId, 10)).isEqualTo(Errors.UNKNOWN_TOPIC_ID);
            assertThat(fetch(world, "g", "t")).isEqualTo(7);
        }
    }

    @Test
    void offsetsAreFetchedByNameByIdAndAllAtOnce() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            TopicImage topic = world.createTopic("t", 2);
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            assertThat(commit(world, commit("g", "t", 0, 4), 8)).isEqualTo(Errors.NONE);
            for (int version = 2; version <= 10; version++) {
                OffsetFetchRequestData all = new OffsetFetchRequestData();
                if (version < 8) {
                    all.setGroupId("g").setTopics(null);
                } else {
                    all.setGroups(List.of(
                            new OffsetFetchRequestGroup().setGroupId("g").setTopics(null)));
                }
                OffsetFetchResponseData reply = world.ask(OffsetFetchResponseData.class, all, version);
                long offset = version < 8
                        ? reply.topics().get(0).partitions().get(0).committedOffset()
                        : reply.groups()
                                .get(0)
                                .topics()
                                .get(0)
                                .partitions()
                                .get(0)
                                .committedOffset();
                assertThat(offset).as("version %d", version).isEqualTo(4);
            }
            Uuid unknown = Uuid.randomUuid();
            OffsetFetchRequestData ids = new OffsetFetchRequestData()
                    .setGroups(List.of(new OffsetFetchRequestGroup()
                            .setGroupId("g")
                            .setTopics(List.of(
                                    new OffsetFetchRequestTopics()
                                            .setTopicId(topic.id())
                                            .setPartitionIndexes(List.of(0, 1)),
                                    new OffsetFetchRequestTopics()
                                            .setTopicId(unknown)
                                            .setPartitionIndexes(List.of(0))))));
            OffsetFetchResponseData reply = world.ask(OffsetFetchResponseData.class, ids, 10);
            assertThat(reply.groups().get(0).topics())
                    .flatExtracting(row -> row.partitions().stream()
                            .map(p -> row.topicId() + " " + p.committedOffset() + " " + p.errorCode())
                            .toList())
                    .containsExactly(
                            topic.id() + " 4 0",
                            topic.id() + " -1 0",
                            unknown + " -1 " + Errors.UNKNOWN_TOPIC_ID.code());
        }
    }

    @Test
    void aGroupLivesThroughTheOldestAndTheNewestVersions() {
        try (GroupWorld world = new GroupWorld(directory, 50)) {
            world.createTopic("t", 1);
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            await().until(() -> join(world, "warm", "", 9).errorCode() == Errors.MEMBER_ID_REQUIRED.code());
            JoinGroupResponseData old = join(world, "g", "", 0);
            assertThat(old.errorCode()).isZero();
            assertThat(sync(world, "g", old, 0).assignment()).containsExactly(1);
            String id = join(world, "h", "", 9).memberId();
            JoinGroupResponseData young = join(world, "h", id, 9);
            assertThat(sync(world, "h", young, 5).assignment()).containsExactly(1);

            ListGroupsResponseData list = world.ask(
                    ListGroupsResponseData.class,
                    new ListGroupsRequestData()
                            .setStatesFilter(List.of("stable"))
                            .setTypesFilter(List.of("Classic")),
                    5);
            assertThat(list.groups()).extracting(g -> g.groupId()).containsExactlyInAnyOrder("g", "h");
            DescribeGroupsResponseData described = world.ask(
                    DescribeGroupsResponseData.class,
                    new DescribeGroupsRequestData()
                            .setGroups(List.of("g", "nobody"))
                            .setIncludeAuthorizedOperations(true),
                    6);
            assertThat(described.groups().get(0).members()).hasSize(1);
            assertThat(described.groups().get(0).authorizedOperations()).isPositive();
            assertThat(described.groups().get(1).errorCode()).isEqualTo(Errors.GROUP_ID_NOT_FOUND.code());
            assertThat(described.groups().get(1).groupState()).isEqualTo("Dead");
            DescribeGroupsResponseData before = world.ask(
                    DescribeGroupsResponseData.class, new DescribeGroupsRequestData().setGroups(List.of("nobody")), 5);
            assertThat(before.groups().get(0).errorCode()).isZero();

            LeaveGroupResponseData wrong = world.ask(
                    LeaveGroupResponseData.class,
                    new LeaveGroupRequestData().setGroupId("g").setMemberId("x"),
                    0);
            assertThat(wrong.errorCode()).isEqualTo(Errors.UNKNOWN_MEMBER_ID.code());
            LeaveGroupResponseData left = world.ask(
                    LeaveGroupResponseData.class,
                    new LeaveGroupRequestData().setGroupId("g").setMemberId(old.memberId()),
                    0);
            assertThat(left.errorCode()).isZero();
            DeleteGroupsResponseData deleted = world.ask(
                    DeleteGroupsResponseData.class, new DeleteGroupsRequestData().setGroupsNames(List.of("g", "h")), 3);
            assertThat(deleted.results().find("g").errorCode()).isZero();
            assertThat(deleted.results().find("h").errorCode()).isEqualTo(Errors.NON_EMPTY_GROUP.code());
        }
    }

    private static JoinGroupResponseData join(GroupWorld world, String group, String memberId, int version) {
        JoinGroupRequestData request = new JoinGroupRequestData()
                .setGroupId(group)
                .setMemberId(memberId)
                .setProtocolType("consumer")
                .setSessionTimeoutMs(60_000)
                .setRebalanceTimeoutMs(60_000);
        request.protocols().add(new JoinGroupRequestProtocol().setName("range").setMetadata(new byte[0]));
        return world.ask(JoinGroupResponseData.class, request, version);
    }

    private static SyncGroupResponseData sync(
            GroupWorld world, String group, JoinGroupResponseData joined, int version) {
        SyncGroupRequestData request = new SyncGroupRequestData()
                .setGroupId(group)
                .setMemberId(joined.memberId())
                .setGenerationId(joined.generationId())
                .setAssignments(List.of(new SyncGroupRequestAssignment()
                        .setMemberId(joined.memberId())
                        .setAssignment(new byte[] {1})));
        return world.ask(SyncGroupResponseData.class, request, version);
    }

    @Test
    void aMemberThatFallsSilentIsRemovedByTheClock() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            await().until(() -> join(world, "warm", "", 9).errorCode() == Errors.MEMBER_ID_REQUIRED.code());
            JoinGroupRequestData request = new JoinGroupRequestData()
                    .setGroupId("g")
                    .setProtocolType("consumer")
                    .setSessionTimeoutMs(150)
                    .setRebalanceTimeoutMs(150);
            request.protocols()
                    .add(new JoinGroupRequestProtocol().setName("range").setMetadata(new byte[0]));
            JoinGroupResponseData joined = world.ask(JoinGroupResponseData.class, request, 1);
            sync(world, "g", joined, 0);
            await().untilAsserted(() -> assertThat(world.ask(
                                    DescribeGroupsResponseData.class,
                                    new DescribeGroupsRequestData().setGroups(List.of("g")),
                                    5)
                            .groups()
                            .get(0)
                            .groupState())
                    .isEqualTo("Empty"));
        }
    }

    @Test
    void whatIsDecidedWhileAnAppendIsUnderWaySeesItsResult() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            world.createTopic("t", 1);
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            assertThat(commit(world, commit("g", "t", 0, 1), 8)).isEqualTo(Errors.NONE);
            world.appendGate = new CompletableFuture<>();
            CompletableFuture<ApiMessage> second = world.send(commit("g", "t", 0, 2), 8);
            CompletableFuture<ApiMessage> read = world.send(
                    new OffsetFetchRequestData()
                            .setGroupId("g")
                            .setTopics(List.of(
                                    new OffsetFetchRequestTopic().setName("t").setPartitionIndexes(List.of(0)))),
                    7);
            CompletableFuture<ApiMessage> delete =
                    world.send(new DeleteGroupsRequestData().setGroupsNames(List.of("g")), 1);
            assertThat(second).isNotDone();
            assertThat(read).isNotDone();
            world.appendGate.complete(null);
            OffsetFetchResponseData seen = (OffsetFetchResponseData) read.join();
            assertThat(seen.topics().get(0).partitions().get(0).committedOffset())
                    .isEqualTo(2);
            assertThat(((DeleteGroupsResponseData) delete.join())
                            .results()
                            .find("g")
                            .errorCode())
                    .isZero();
            assertThat(fetch(world, "g", "t")).isEqualTo(-1);
        }
    }

    @Test
    void aCommitThatTheDiskRefusesIsNotAnsweredWithSuccess() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            world.createTopic("t", 1);
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            assertThat(commit(world, commit("g", "t", 0, 1), 8)).isEqualTo(Errors.NONE);
            world.appendFailure = new KafkaStorageException("the disk is full");
            assertThat(commit(world, commit("g", "t", 0, 2), 8)).isEqualTo(Errors.NOT_COORDINATOR);
            world.appendFailure = null;
            assertThat(fetch(world, "g", "t")).isEqualTo(1);
            assertThat(commit(world, commit("g", "t", 0, 3), 8)).isEqualTo(Errors.NONE);
        }
    }

    @Test
    void theOffsetsOfADeletedTopicAreNotThoseOfItsSuccessor() {
        try (GroupWorld world = new GroupWorld(directory, 0)) {
            TopicImage topic = world.createTopic("t", 1);
            world.ask(FindCoordinatorResponseData.class, find("g"), 3);
            assertThat(commit(world, commit("g", "t", 0, 1), 8)).isEqualTo(Errors.NONE);
            world.deleteTopic(topic.id());
            world.createTopic("t", 1);
            await().untilAsserted(() -> assertThat(fetch(world, "g", "t")).isEqualTo(-1));
        }
    }
}
