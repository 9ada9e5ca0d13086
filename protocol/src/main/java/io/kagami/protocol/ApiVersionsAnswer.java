package io.kagami.protocol;

import io.kagami.protocol.Api.Visibility;
import java.util.regex.Pattern;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.ApiVersionsResponseData.ApiVersion;
import org.apache.kafka.common.protocol.Errors;

/** What ApiVersions answers, derived from {@link ApiTable}; pure. */
public final class ApiVersionsAnswer {
    /** ClientSoftwareName of our own clients; they see the private keys. */
    public static final String KAGAMI = "kagami";

    private static final Pattern SOFTWARE = Pattern.compile("[a-zA-Z0-9](?:[a-zA-Z0-9\\-.]*[a-zA-Z0-9])?");
    private static final short NAMED_FROM = 3;
    private static final short IDENTITY_FROM = 5;
    private static final int NO_NODE = -1;

    private ApiVersionsAnswer() {}

    /**
     * No feature is reported, supported or finalized: without {@code transaction.version} a producer keeps to the first form of
     * the transaction protocol.
     *
     * @param version as requested, even one that we do not speak: that is answered with error 35 and the range of this api, which
     *     the codec sends in version 0
     * @param request the body; empty when the version is not ours
     * @param clusterId of this cluster
     * @param nodeId of this broker
     */
    public static ApiVersionsResponseData build(
            short version, ApiVersionsRequestData request, String clusterId, int nodeId) {
        Api self = ApiTable.find(ApiTable.API_VERSIONS);
        ApiVersionsResponseData answer = new ApiVersionsResponseData();
        if (version < self.min() || version > self.max()) {
            answer.setErrorCode(Errors.UNSUPPORTED_VERSION.code());
            answer.apiKeys().add(entry(self));
            return answer;
        }
        Errors error = check(version, request, clusterId, nodeId);
        if (error != Errors.NONE) {
            return answer.setErrorCode(error.code());
        }
        boolean ours = version >= NAMED_FROM && KAGAMI.equals(request.clientSoftwareName());
        for (Api api : ApiTable.SUPPORTED) {
            if (ours || api.visibility() == Visibility.PUBLIC) {
                answer.apiKeys().add(entry(api));
            }
        }
        return answer;
    }

    private static Errors check(short version, ApiVersionsRequestData request, String clusterId, int nodeId) {
        if (version >= NAMED_FROM
                && !(SOFTWARE.matcher(request.clientSoftwareName()).matches()
                        && SOFTWARE.matcher(request.clientSoftwareVersion()).matches())) {
            return Errors.INVALID_REQUEST;
        }
        if (version < IDENTITY_FROM || (request.clusterId() == null && request.nodeId() == NO_NODE)) {
            return Errors.NONE;
        }
        // A client that names the cluster names the broker too, and the other way round.
        if (request.clusterId() == null || request.nodeId() == NO_NODE) {
            return Errors.INVALID_REQUEST;
        }
        return request.clusterId().equals(clusterId) && request.nodeId() == nodeId
                ? Errors.NONE
                : Errors.REBOOTSTRAP_REQUIRED;
    }

    private static ApiVersion entry(Api api) {
        return new ApiVersion()
                .setApiKey(api.key())
                .setMinVersion(api.advertisedMin())
                .setMaxVersion(api.max());
    }
}
