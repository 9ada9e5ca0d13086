package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.net.Session;
import io.kagami.protocol.Request;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * InitProducerId 0 to 5: a new id, never given before, with epoch 0.
 *
 * <p>Not here yet: transactions. A transactional id is refused with TRANSACTIONAL_ID_AUTHORIZATION_FAILED, which every client takes as
 * final; other codes are retried for ever by some.
 */
public final class InitProducerIdHandler implements Handler {
    private static final Logger LOG = LoggerFactory.getLogger(InitProducerIdHandler.class);

    private final ProducerIds ids;

    public InitProducerIdHandler(Cluster cluster) {
        this.ids = new ProducerIds(cluster);
    }

    @Override
    public CompletionStage<ApiMessage> handle(Request request, Session session) {
        String transactionalId = ((InitProducerIdRequestData) request.body()).transactionalId();
        if (transactionalId == null) {
            // clients ask again after this code
            return ids.next()
                    .handle((id, failure) ->
                            failure == null ? granted(id) : refused(Errors.COORDINATOR_LOAD_IN_PROGRESS));
        }
        if (transactionalId.isEmpty()) {
            return CompletableFuture.completedFuture(refused(Errors.INVALID_REQUEST));
        }
        LOG.info("refusing a transactional producer of {}: transactions are not supported yet", session);
        return CompletableFuture.completedFuture(refused(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED));
    }

    private static InitProducerIdResponseData granted(long id) {
        return new InitProducerIdResponseData().setProducerId(id).setProducerEpoch((short) 0);
    }

    private static InitProducerIdResponseData refused(Errors error) {
        return new InitProducerIdResponseData()
                .setErrorCode(error.code())
                .setProducerId(-1)
                .setProducerEpoch((short) -1);
    }
}
