package io.kagami.broker.api;

import io.kagami.broker.net.Session;
import io.kagami.protocol.Api;
import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Request;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import org.apache.kafka.common.protocol.ApiMessage;

/** Which handler serves which row of the API table. A row without a handler, or a handler without a row, fails at start-up. */
public final class Apis implements BiFunction<Request, Session, CompletionStage<ApiMessage>> {
    private final Map<Short, Handler> handlers;

    private Apis(Map<Short, Handler> handlers) {
        this.handlers = handlers;
    }

    /** @param families handlers by api key; no key may occur twice */
    public static Apis of(List<Map<Short, Handler>> families) {
        Map<Short, Handler> all = new HashMap<>();
        for (Map<Short, Handler> family : families) {
            family.forEach((key, handler) -> {
                if (ApiTable.find(key) == null) {
                    throw new IllegalStateException(
                            "there is a handler for api key " + key + ", which is not in the table");
                }
                if (all.put(key, handler) != null) {
                    throw new IllegalStateException(
                            "two handlers for " + ApiTable.find(key).name());
                }
            });
        }
        List<String> missing = new ArrayList<>();
        for (Api api : ApiTable.SUPPORTED) {
            if (!all.containsKey(api.key())) {
                missing.add(api.name());
            }
        }
        if (!missing.isEmpty()) {
            throw new IllegalStateException("no handler for " + String.join(", ", missing));
        }
        return new Apis(Map.copyOf(all));
    }

    @Override
    public CompletionStage<ApiMessage> apply(Request request, Session session) {
        return handlers.get(request.api().key()).handle(request, session);
    }
}
