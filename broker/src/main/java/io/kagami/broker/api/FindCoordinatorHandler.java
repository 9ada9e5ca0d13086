package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.coordinator.GroupCoordinator;
import io.kagami.broker.net.Session;
import io.kagami.protocol.Request;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.FindCoordinatorResponseData.Coordinator;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/**
 * FindCoordinator 0-6. Groups: this broker, once {@code __consumer_offsets} exists, which the first question creates. Transactional ids
 * and share groups have no coordinator here and get INVALID_REQUEST with a sentence: any retriable code would make clients ask for ever.
 */
final class FindCoordinatorHandler implements Handler {
    private static final short BATCHED_FROM = 4;
    private static final byte GROUP = 0;
    private static final byte TRANSACTION = 1;
    private static final byte SHARE = 2;

    private final Cluster cluster;
    private final GroupCoordinator coordinator;
    private final Function<String, HostPort> advertised;

    FindCoordinatorHandler(Cluster cluster, GroupCoordinator coordinator, Function<String, HostPort> advertised) {
        this.cluster = cluster;
        this.coordinator = coordinator;
        this.advertised = advertised;
    }

    @Override
    public CompletionStage<ApiMessage> handle(Request request, Session session) {
        FindCoordinatorRequestData body = (FindCoordinatorRequestData) request.body();
        List<String> keys = request.version() >= BATCHED_FROM ? body.coordinatorKeys() : List.of(body.key());
        HostPort address = advertised.apply(session.listener());
        if (body.keyType() != GROUP || keys.isEmpty()) {
            return CompletableFuture.completedFuture(answer(request.version(), keys, body.keyType(), address));
        }
        return coordinator
                .ensureTopic()
                .handle((done, failure) -> answer(request.version(), keys, body.keyType(), address));
    }

    private ApiMessage answer(short version, List<String> keys, byte type, HostPort address) {
        List<Coordinator> rows =
                keys.stream().map(key -> row(key, type, address)).toList();
        FindCoordinatorResponseData reply = new FindCoordinatorResponseData();
        if (version >= BATCHED_FROM) {
            return reply.setCoordinators(rows);
        }
        Coordinator only = rows.get(0);
        return reply.setErrorCode(only.errorCode())
                .setErrorMessage(only.errorMessage())
                .setNodeId(only.nodeId())
                .setHost(only.host())
                .setPort(only.port());
    }

    private Coordinator row(String key, byte type, HostPort address) {
        Coordinator row =
                new Coordinator().setKey(key).setNodeId(-1).setHost("").setPort(-1);
        if (type == TRANSACTION) {
            // the code that every client takes as final; librdkafka retries others until its time is over
            return row.setErrorCode(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code())
                    .setErrorMessage("This broker has no transactions: use a producer without transactional.id.");
        }
        if (type == SHARE) {
            return row.setErrorCode(Errors.INVALID_REQUEST.code())
                    .setErrorMessage("This broker has no share groups: use a consumer group.");
        }
        if (type != GROUP) {
            return row.setErrorCode(Errors.INVALID_REQUEST.code())
                    .setErrorMessage("Coordinator key type " + type + " is not known.");
        }
        if (!coordinator.hosts(key)) {
            return row.setErrorCode(Errors.COORDINATOR_NOT_AVAILABLE.code())
                    .setErrorMessage(Errors.COORDINATOR_NOT_AVAILABLE.message());
        }
        return row.setNodeId(cluster.nodeId()).setHost(address.host()).setPort(address.port());
    }
}
