package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.core.cluster.Refusal;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.net.Session;
import io.kagami.protocol.Request;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.message.DescribeConfigsRequestData;
import org.apache.kafka.common.message.DescribeConfigsRequestData.DescribeConfigsResource;
import org.apache.kafka.common.message.DescribeConfigsResponseData;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResourceResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResult;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsSynonym;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData.AlterConfigsResource;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData.AlterableConfig;
import org.apache.kafka.common.message.IncrementalAlterConfigsResponseData;
import org.apache.kafka.common.message.IncrementalAlterConfigsResponseData.AlterConfigsResourceResponse;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigSource;
import org.apache.kafka.common.requests.DescribeConfigsResponse.ConfigType;

/**
 * DescribeConfigs 1-4 and IncrementalAlterConfigs 0-1. A topic shows every topic-level key, defaults included; the broker shows its
 * settings read-only. Only topics can be altered: the broker's own settings are read from its file. Not here: other resource types.
 */
final class ConfigHandler {
    private enum Operation {
        SET,
        DELETE,
        APPEND,
        SUBTRACT
    }

    /** Kafka derives these from another broker-level key by default, and then lists no synonym. */
    private static final Set<String> UNSET_AT_BROKER = Set.of(
            TopicConfig.SEGMENT_MS_CONFIG,
            TopicConfig.SEGMENT_JITTER_MS_CONFIG,
            TopicConfig.FLUSH_MS_CONFIG,
            TopicConfig.RETENTION_MS_CONFIG);

    private final Cluster cluster;
    private final MetadataOptions options;

    ConfigHandler(Cluster cluster, MetadataOptions options) {
        this.cluster = cluster;
        this.options = options;
    }

    /** Who has set a topic-level value. */
    static ConfigSource source(String key, Map<String, String> overrides, Map<String, String> defaults) {
        if (overrides.containsKey(key)) {
            return ConfigSource.TOPIC_CONFIG;
        }
        return defaults.containsKey(key) ? ConfigSource.STATIC_BROKER_CONFIG : ConfigSource.DEFAULT_CONFIG;
    }

    CompletionStage<ApiMessage> describe(Request request, Session session) {
        DescribeConfigsRequestData body = (DescribeConfigsRequestData) request.body();
        DescribeConfigsResponseData answer = new DescribeConfigsResponseData();
        for (DescribeConfigsResource resource : body.resources()) {
            answer.results()
                    .add(describe(resource, body.includeSynonyms(), body.includeDocumentation())
                            .setResourceType(resource.resourceType())
                            .setResourceName(resource.resourceName()));
        }
        return CompletableFuture.completedFuture(answer);
    }

    private DescribeConfigsResult describe(DescribeConfigsResource resource, boolean synonyms, boolean docs) {
        ConfigResource.Type type = ConfigResource.Type.forId(resource.resourceType());
        String name = resource.resourceName();
        return switch (type) {
            case TOPIC -> describeTopic(name, wanted(resource), synonyms, docs);
            case BROKER -> describeBroker(name, wanted(resource), synonyms);
            default -> refused(Errors.INVALID_REQUEST, "Unsupported resource type: " + type);
        };
    }

    /** Null when all are wanted. */
    private static Set<String> wanted(DescribeConfigsResource resource) {
        List<String> keys = resource.configurationKeys();
        return keys == null || keys.isEmpty() ? null : Set.copyOf(keys);
    }

    private static DescribeConfigsResult refused(Errors error, String message) {
        return new DescribeConfigsResult().setErrorCode(error.code()).setErrorMessage(message);
    }

    private DescribeConfigsResult describeTopic(String name, Set<String> wanted, boolean synonyms, boolean docs) {
        try {
            Topic.validate(name);
        } catch (InvalidTopicException e) {
            return refused(Errors.INVALID_TOPIC_EXCEPTION, e.getMessage());
        }
        TopicImage topic = cluster.image().topics().get(name);
        if (topic == null) {
            return new DescribeConfigsResult().setErrorCode(Errors.UNKNOWN_TOPIC_OR_PARTITION.code());
        }
        DescribeConfigsResult result = new DescribeConfigsResult();
        for (String key : TopicConfigs.names()) {
            if (wanted == null || wanted.contains(key)) {
                result.configs().add(describeTopicKey(key, topic.configs(), synonyms, docs));
            }
        }
        return result;
    }

    private DescribeConfigsResourceResult describeTopicKey(
            String key, Map<String, String> overrides, boolean synonyms, boolean docs) {
        Map<String, String> defaults = options.topicDefaults();
        DescribeConfigsResourceResult result = new DescribeConfigsResourceResult()
                .setName(key)
                .setValue(TopicConfigs.value(key, overrides, defaults))
                .setConfigSource(source(key, overrides, defaults).id())
                .setConfigType(typeOf(TopicConfigs.type(key)).id())
                .setDocumentation(docs ? TopicConfigs.documentation(key) : null);
        if (synonyms) {
            List<DescribeConfigsSynonym> all = new ArrayList<>();
            if (overrides.containsKey(key)) {
                all.add(synonym(key, overrides.get(key), ConfigSource.TOPIC_CONFIG));
            }
            TopicConfigs.brokerKey(key).ifPresent(brokerKey -> all.addAll(brokerSynonyms(key, brokerKey)));
            result.setSynonyms(all);
        }
        return result;
    }

    private List<DescribeConfigsSynonym> brokerSynonyms(String key, String brokerKey) {
        List<DescribeConfigsSynonym> all = new ArrayList<>();
        String set = options.topicDefaults().get(key);
        if (set != null) {
            all.add(synonym(brokerKey, set, ConfigSource.STATIC_BROKER_CONFIG));
        }
        if (!UNSET_AT_BROKER.contains(key)) {
            all.add(synonym(brokerKey, TopicConfigs.defaultValue(key), ConfigSource.DEFAULT_CONFIG));
        }
        return all;
    }

    private static DescribeConfigsSynonym synonym(String name, String value, ConfigSource source) {
        return new DescribeConfigsSynonym().setName(name).setValue(value).setSource(source.id());
    }

    private DescribeConfigsResult describeBroker(String name, Set<String> wanted, boolean synonyms) {
        if (name.isEmpty()) {
            // cluster-wide dynamic settings: there are none
            return new DescribeConfigsResult();
        }
        if (!name.matches("-?\\d{1,10}")) {
            return refused(Errors.INVALID_REQUEST, "Broker id must be an integer, but it is: " + name);
        }
        if (!name.equals(Integer.toString(cluster.nodeId()))) {
            return refused(
                    Errors.INVALID_REQUEST,
                    "Unexpected broker id, expected " + cluster.nodeId() + " or empty string, but received " + name);
        }
        DescribeConfigsResult result = new DescribeConfigsResult();
        brokerConfigs().forEach((key, config) -> {
            if (wanted == null || wanted.contains(key)) {
                result.configs().add(config.describe(key, synonyms));
            }
        });
        return result;
    }

    private record BrokerConfig(String value, ConfigSource source, ConfigType type) {
        DescribeConfigsResourceResult describe(String key, boolean synonyms) {
            return new DescribeConfigsResourceResult()
                    .setName(key)
                    .setValue(value)
                    .setReadOnly(true)
                    .setConfigSource(source.id())
                    .setConfigType(type.id())
                    .setSynonyms(synonyms ? List.of(synonym(key, value, source)) : List.of());
        }
    }

    private Map<String, BrokerConfig> brokerConfigs() {
        Map<String, BrokerConfig> all = new TreeMap<>();
        for (String key : TopicConfigs.names()) {
            TopicConfigs.brokerKey(key)
                    .ifPresent(brokerKey -> all.put(
                            brokerKey,
                            new BrokerConfig(
                                    TopicConfigs.value(key, Map.of(), options.topicDefaults()),
                                    source(key, Map.of(), options.topicDefaults()),
                                    typeOf(TopicConfigs.type(key)))));
        }
        ConfigSource set = ConfigSource.STATIC_BROKER_CONFIG;
        all.put("node.id", new BrokerConfig(Integer.toString(cluster.nodeId()), set, ConfigType.INT));
        all.put("broker.id", new BrokerConfig(Integer.toString(cluster.nodeId()), set, ConfigType.INT));
        all.put("num.partitions", new BrokerConfig(Integer.toString(options.numPartitions()), set, ConfigType.INT));
        all.put(
                "default.replication.factor",
                new BrokerConfig(Short.toString(options.defaultReplicationFactor()), set, ConfigType.INT));
        all.put(
                "auto.create.topics.enable",
                new BrokerConfig(Boolean.toString(options.autoCreateTopics()), set, ConfigType.BOOLEAN));
        options.brokerConfigs()
                .forEach((key, value) -> all.putIfAbsent(key, new BrokerConfig(value, set, ConfigType.STRING)));
        return all;
    }

    private static ConfigType typeOf(ConfigDef.Type type) {
        return switch (type) {
            case BOOLEAN -> ConfigType.BOOLEAN;
            case STRING -> ConfigType.STRING;
            case INT -> ConfigType.INT;
            case SHORT -> ConfigType.SHORT;
            case LONG -> ConfigType.LONG;
            case DOUBLE -> ConfigType.DOUBLE;
            case LIST -> ConfigType.LIST;
            case CLASS -> ConfigType.CLASS;
            case PASSWORD -> ConfigType.PASSWORD;
        };
    }

    CompletionStage<ApiMessage> alterIncrementally(Request request, Session session) {
        IncrementalAlterConfigsRequestData body = (IncrementalAlterConfigsRequestData) request.body();
        Set<ConfigResource> seen = new HashSet<>();
        Set<ConfigResource> duplicates = new HashSet<>();
        for (AlterConfigsResource resource : body.resources()) {
            if (!seen.add(keyOf(resource))) {
                duplicates.add(keyOf(resource));
            }
        }
        List<CompletableFuture<AlterConfigsResourceResponse>> results = new ArrayList<>();
        for (AlterConfigsResource resource : body.resources()) {
            results.add(
                    duplicates.contains(keyOf(resource))
                            ? CompletableFuture.completedFuture(answer(
                                    resource,
                                    new Refusal(
                                            Errors.INVALID_REQUEST.code(), "Each resource must appear at most once.")))
                            : alter(resource, body.validateOnly()));
        }
        return CompletableFuture.allOf(results.toArray(CompletableFuture[]::new))
                .thenApply(done -> {
                    IncrementalAlterConfigsResponseData answer = new IncrementalAlterConfigsResponseData();
                    results.forEach(result -> answer.responses().add(result.join()));
                    return answer;
                });
    }

    private static ConfigResource keyOf(AlterConfigsResource resource) {
        return new ConfigResource(ConfigResource.Type.forId(resource.resourceType()), resource.resourceName());
    }

    private static AlterConfigsResourceResponse answer(AlterConfigsResource resource, Refusal refusal) {
        AlterConfigsResourceResponse answer = new AlterConfigsResourceResponse()
                .setResourceType(resource.resourceType())
                .setResourceName(resource.resourceName())
                .setErrorMessage(null);
        if (refusal != null) {
            answer.setErrorCode(refusal.errorCode()).setErrorMessage(refusal.message());
        }
        return answer;
    }

    private CompletableFuture<AlterConfigsResourceResponse> alter(AlterConfigsResource resource, boolean validateOnly) {
        TopicImage topic = cluster.image().topics().get(resource.resourceName());
        Map<String, String> changes = new HashMap<>();
        Refusal refusal = unalterable(resource, topic);
        if (refusal == null) {
            refusal = collect(resource.configs(), topic.configs(), changes).orElse(null);
        }
        if (refusal == null) {
            Map<String, String> after = new HashMap<>(topic.configs());
            changes.forEach((key, value) -> {
                if (value == null) {
                    after.remove(key);
                } else {
                    after.put(key, value);
                }
            });
            refusal = TopicConfigs.problem(after)
                    .map(problem -> new Refusal(Errors.INVALID_CONFIG.code(), problem))
                    .orElse(null);
        }
        if (refusal != null || validateOnly) {
            return CompletableFuture.completedFuture(answer(resource, refusal));
        }
        return cluster.alterTopicConfigs(topic.id(), changes)
                .handle((image, failure) -> answer(resource, failure == null ? null : TopicHandler.refusalIn(failure)))
                .toCompletableFuture();
    }

    private static Refusal unalterable(AlterConfigsResource resource, TopicImage topic) {
        ConfigResource.Type type = ConfigResource.Type.forId(resource.resourceType());
        if (type == ConfigResource.Type.BROKER) {
            return new Refusal(
                    Errors.INVALID_REQUEST.code(),
                    "The broker's own settings are read from its configuration file: change them there and restart it.");
        }
        if (type != ConfigResource.Type.TOPIC) {
            return new Refusal(Errors.INVALID_REQUEST.code(), "Unknown resource type " + resource.resourceType());
        }
        try {
            Topic.validate(resource.resourceName());
        } catch (InvalidTopicException e) {
            return new Refusal(Errors.INVALID_TOPIC_EXCEPTION.code(), e.getMessage());
        }
        return topic != null
                ? null
                : new Refusal(
                        Errors.UNKNOWN_TOPIC_OR_PARTITION.code(),
                        "The topic '" + resource.resourceName() + "' does not exist.");
    }

    /** Turns operations into new values; a null value removes the override. */
    private Optional<Refusal> collect(
            Collection<AlterableConfig> operations, Map<String, String> overrides, Map<String, String> changes) {
        Set<String> seen = new HashSet<>();
        for (AlterableConfig one : operations) {
            String key = one.name();
            if (!seen.add(key)) {
                return Optional.of(new Refusal(Errors.INVALID_REQUEST.code(), "Error due to duplicate config keys"));
            }
            if (one.configOperation() < 0 || one.configOperation() >= Operation.values().length) {
                return Optional.of(
                        new Refusal(Errors.INVALID_REQUEST.code(), "Unknown operation type " + one.configOperation()));
            }
            Operation operation = Operation.values()[one.configOperation()];
            if (operation == Operation.DELETE) {
                changes.put(key, null);
                continue;
            }
            if (one.value() == null) {
                return Optional.of(new Refusal(Errors.INVALID_REQUEST.code(), "Null value not supported for : " + key));
            }
            if (operation == Operation.SET) {
                changes.put(key, one.value());
                continue;
            }
            if (!TopicConfigs.known(key) || TopicConfigs.type(key) != ConfigDef.Type.LIST) {
                return Optional.of(new Refusal(
                        Errors.INVALID_CONFIG.code(),
                        "Can't " + operation + " to key " + key + " because its type is not LIST."));
            }
            changes.put(
                    key, edited(operation, TopicConfigs.value(key, overrides, options.topicDefaults()), one.value()));
        }
        return Optional.empty();
    }

    private static String edited(Operation operation, String before, String operand) {
        List<String> values = new ArrayList<>(split(before));
        for (String value : split(operand)) {
            if (operation == Operation.SUBTRACT) {
                values.remove(value);
            } else if (!values.contains(value)) {
                values.add(value);
            }
        }
        return String.join(",", values);
    }

    private static List<String> split(String list) {
        return list.isBlank() ? List.of() : List.of(list.strip().split("\\s*,\\s*"));
    }
}
