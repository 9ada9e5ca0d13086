package io.kagami.broker.core.group;

import org.apache.kafka.common.message.DeleteGroupsResponseData.DeletableGroupResult;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetDeleteResponseData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;

/** Turns an answer into a refusal, for when the record it depends on could not be written. */
final class Refusals {
    private Refusals() {}

    static Object instead(Object reply, Errors logError) {
        Errors error = toClient(logError);
        if (reply instanceof JoinGroupResponseData join) {
            return join.errorCode() != 0
                    ? join
                    : new JoinGroupResponseData().setMemberId(join.memberId()).setErrorCode(error.code());
        }
        if (reply instanceof SyncGroupResponseData sync) {
            return sync.errorCode() != 0 ? sync : new SyncGroupResponseData().setErrorCode(error.code());
        }
        if (reply instanceof OffsetCommitResponseData commit) {
            short code = (tooLarge(logError) ? Errors.INVALID_COMMIT_OFFSET_SIZE : error).code();
            commit.topics().forEach(topic -> topic.partitions().stream()
                    .filter(partition -> partition.errorCode() == 0)
                    .forEach(partition -> partition.setErrorCode(code)));
            return commit;
        }
        if (reply instanceof OffsetDeleteResponseData delete) {
            return delete.errorCode() != 0 ? delete : new OffsetDeleteResponseData().setErrorCode(error.code());
        }
        if (reply instanceof DeletableGroupResult delete) {
            return delete.setErrorCode(error.code());
        }
        if (reply instanceof LeaveGroupResponseData || reply instanceof HeartbeatResponseData) {
            // The member is gone whether that was written or not.
            return reply;
        }
        throw new AssertionError(reply);
    }

    private static boolean tooLarge(Errors error) {
        return error == Errors.MESSAGE_TOO_LARGE || error == Errors.RECORD_LIST_TOO_LARGE;
    }

    private static Errors toClient(Errors error) {
        return switch (error) {
            case UNKNOWN_TOPIC_OR_PARTITION, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT -> Errors.COORDINATOR_NOT_AVAILABLE;
            case NOT_LEADER_OR_FOLLOWER, KAFKA_STORAGE_ERROR -> Errors.NOT_COORDINATOR;
            case MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE -> Errors.UNKNOWN_SERVER_ERROR;
            default -> error;
        };
    }
}
