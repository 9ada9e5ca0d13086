package io.kagami.mirror;

import io.kagami.protocol.client.Reply;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.common.message.DescribeConfigsRequestData;
import org.apache.kafka.common.message.DescribeConfigsRequestData.DescribeConfigsResource;
import org.apache.kafka.common.message.DescribeConfigsResponseData;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResourceResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResult;
import org.apache.kafka.common.protocol.Errors;

/**
 * Reads the topic overrides of the source for topics about to be created. Without the right to describe them the defaults are used,
 * and a note says so; a key that this broker does not have is left out and named. Loop only.
 */
final class TopicOverrides {
    private static final byte TOPIC = 2;
    private static final byte DYNAMIC_TOPIC_CONFIG = 1;
    private static final int TOPICS_PER_REQUEST = 200;
    private static final int NOTES_MAX = 20;

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final Deque<String> notes = new ArrayDeque<>();

    TopicOverrides(MirrorContext mirror, SourceCluster source) {
        this.mirror = mirror;
        this.source = source;
    }

    List<String> notes() {
        return List.copyOf(notes);
    }

    /** {@code done} runs once, also when the source refuses: what could not be read is missing in the map. */
    void read(List<String> topics, Consumer<Map<String, Map<String, String>>> done) {
        readFrom(topics, 0, new HashMap<>(), done);
    }

    private void readFrom(
            List<String> topics,
            int from,
            Map<String, Map<String, String>> found,
            Consumer<Map<String, Map<String, String>>> done) {
        if (from >= topics.size()) {
            done.accept(found);
            return;
        }
        int to = Math.min(topics.size(), from + TOPICS_PER_REQUEST);
        List<DescribeConfigsResource> resources = new ArrayList<>();
        for (String topic : topics.subList(from, to)) {
            resources.add(new DescribeConfigsResource()
                    .setResourceType(TOPIC)
                    .setResourceName(topic)
                    .setConfigurationKeys(null));
        }
        source.sendToAny(
                new DescribeConfigsRequestData().setResources(resources),
                reply -> {
                    accept(reply, found);
                    readFrom(topics, to, found, done);
                },
                failure -> {
                    note("topic overrides of the source can't be read, defaults are used: "
                            + SourceCluster.text(failure));
                    done.accept(found);
                });
    }

    private void accept(Reply reply, Map<String, Map<String, String>> found) {
        try (reply) {
            DescribeConfigsResponseData body = (DescribeConfigsResponseData) reply.body();
            for (DescribeConfigsResult result : body.results()) {
                if (result.errorCode() != 0) {
                    note("topic " + result.resourceName() + ": overrides of the source can't be read ("
                            + Errors.forCode(result.errorCode()).name() + "), defaults are used");
                } else {
                    found.put(result.resourceName(), overridesOf(result));
                }
            }
        }
    }

    private Map<String, String> overridesOf(DescribeConfigsResult result) {
        Map<String, String> overrides = new TreeMap<>();
        for (DescribeConfigsResourceResult config : result.configs()) {
            if (config.configSource() != DYNAMIC_TOPIC_CONFIG
                    || config.value() == null
                    || config.isSensitive()
                    || mirror.config().propertiesExclude().contains(config.name())) {
                continue;
            }
            String problem = mirror.cluster().configProblem(config.name(), config.value());
            if (problem == null) {
                overrides.put(config.name(), config.value());
            } else {
                note("topic " + result.resourceName() + ": override " + config.name() + "=" + config.value()
                        + " was left out: " + problem);
            }
        }
        return overrides;
    }

    private void note(String text) {
        if (notes.contains(text)) {
            return;
        }
        notes.addLast(text);
        if (notes.size() > NOTES_MAX) {
            notes.removeFirst();
        }
    }
}
