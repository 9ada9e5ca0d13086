package io.kagami.broker.api;

import io.kagami.broker.net.Session;
import io.kagami.protocol.ApiVersionsAnswer;
import io.kagami.protocol.Request;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/** ApiVersions 0 to 5: the rows of the API table. An unknown version is answered in version 0 with error 35. */
public final class ApiVersionsHandler implements Handler {
    private static final short NAMED_FROM = 3;

    private final Supplier<String> clusterId;
    private final int nodeId;

    public ApiVersionsHandler(Supplier<String> clusterId, int nodeId) {
        this.clusterId = clusterId;
        this.nodeId = nodeId;
    }

    @Override
    public CompletionStage<ApiMessage> handle(Request request, Session session) {
        ApiVersionsRequestData body = (ApiVersionsRequestData) request.body();
        ApiVersionsResponseData answer = ApiVersionsAnswer.build(request.version(), body, clusterId.get(), nodeId);
        if (answer.errorCode() == Errors.NONE.code() && request.version() >= NAMED_FROM) {
            session.softwareName(body.clientSoftwareName());
        }
        return CompletableFuture.completedFuture(answer);
    }
}
